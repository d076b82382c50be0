"""`python -m dream` is the command `dream`."""

import sys

from dream.interfaces.cli import main

sys.exit(main())
