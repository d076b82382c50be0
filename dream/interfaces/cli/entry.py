"""Turns errors at the edge of the program into one sentence and an exit code."""

import logging
import sys
import traceback
from collections.abc import Sequence
from itertools import takewhile

from dream.interfaces.cli.app import build_app
from dream.interfaces.cli.exit_codes import INTERRUPTED, Exit, exit_code, sentence
from dream.interfaces.cli.screen import Screen, discard_output, forgive_encodings

# What a person should know is printed as a sentence; without a handler Python would print the log's bare words as well.
for package in ("agentcore", "dream"):
    logging.getLogger(package).addHandler(logging.NullHandler())


def run(argv: Sequence[str] | None) -> Exit:
    """Run the command line; see `dream.interfaces.cli.main`."""
    forgive_encodings()
    tokens = list(sys.argv[1:] if argv is None else argv)
    screen = Screen()
    try:
        code = build_app().meta(tokens)
        screen.finish()
        return Exit(code or Exit.OK)
    except KeyboardInterrupt:
        screen.warn(INTERRUPTED)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return Exit.UNREAD
    except Exception as error:  # noqa: BLE001 - the edge of the program: a person gets a sentence, not a traceback
        if "--debug" in takewhile("--".__ne__, tokens):
            traceback.print_exception(error)
        screen.warn(sentence(error))
        return exit_code(error)
