"""The command line `dream`.

`app` is the table of commands and the global options, `session` what every command gets, `commands/` one file per group
of commands, `render/` how things look to a person, `screen` where they go, `exit_codes` what an error says and which
exit code it has. The files of `commands` are imported when one of their commands is called, so that `dream --help`
loads no database.
"""

import gc
from collections.abc import Sequence

__all__ = ["main", "run_process"]

_ALLOCATIONS = 250_000
"""Between two looks for garbage: a short command makes fewer, and each look goes through all that was imported."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; never raises.

    Args:
        argv: Arguments without the program's name; the process's by default.

    Returns:
        0 done; 1 the run or the storage failed; 2 bad input or usage; 130 interrupted; 141 nobody read the output.
    """
    from dream.interfaces.cli.entry import run  # noqa: PLC0415 - whoever only imports the package pays nothing

    return run(argv)


def run_process() -> int:
    """Run the command line as the only thing that this process does, and return its exit code; see `main`."""
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    try:
        return main()
    finally:
        # Python looks for garbage three times more as it ends, through all that was imported: a tenth of a command.
        gc.freeze()
