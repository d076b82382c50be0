"""`python -m dream` is the command `dream`."""

import sys

from dream.interfaces.cli import run_process

sys.exit(run_process())
