"""Writes documents or lines to stdout, and remarks to stderr."""

import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import orjson

from dream.errors import UnwritableFileError
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.text import Line, Tone, clip, harmless, one_line

if TYPE_CHECKING:
    from rich.console import Console

_LONG = 2_000
"""Items from which an import is worth a progress bar."""
_NARROWEST, _WIDEST, _USUAL = 40, 120, 80

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Screen:
    """The streams of one command; lives as long as it.

    Args:
        as_json: Whether stdout gets one JSON document and nothing else.
    """

    as_json: bool = False

    @property
    def width(self) -> int:
        """Columns that lines may take."""
        found = shutil.get_terminal_size((_USUAL, 24)).columns
        return max(_NARROWEST, min(found, _WIDEST))

    def show(self, document: Callable[[], object], lines: Callable[[], Iterable[Line]]) -> None:
        """Print what a command found: the document if JSON was asked for, else the lines."""
        if self.as_json:
            self.write(orjson.dumps(document(), option=orjson.OPT_APPEND_NEWLINE))
        else:
            self.print(lines())

    def print(self, lines: Iterable[Line]) -> None:
        """Print lines to stdout, in colour if that is a terminal."""
        with _stdout_faults():
            console = _console(sys.stdout) if sys.stdout.isatty() else None
            for line in lines:
                if console is None:
                    sys.stdout.write(f"{harmless(line.text)}\n")
                else:
                    _print_in_colour(console, line)

    def write(self, content: bytes) -> None:
        """Write bytes to stdout as they are."""
        with _stdout_faults():
            sys.stdout.flush()
            sys.stdout.buffer.write(content)

    def finish(self) -> None:
        """Write out what is still buffered, so that it can fail while somebody is there to tell."""
        with _stdout_faults():
            sys.stdout.flush()

    def warn(self, text: str) -> None:
        """Print one line to stderr."""
        self.tell(Line(text, Tone.WARNING))

    def tell(self, line: Line) -> None:
        """Print a line to stderr of what is under way."""
        if sys.stderr.isatty():
            _print_in_colour(_console(sys.stderr), Line(one_line(line.text), line.tone))
        else:
            sys.stderr.write(f"{one_line(line.text)}\n")
            sys.stderr.flush()

    def confirm(
        self,
        lines: Iterable[Line],
        *,
        question: str = "Forget this for good?",
        declined: str = "Nothing was forgotten.",
    ) -> bool:
        """Show a person on the terminal what is going to happen, and ask; anything but yes is no.

        Raises:
            MissingSettingError: no terminal is there.
        """
        if not self.has_person:
            raise MissingSettingError(what="answer of a person", remedy="run it on a terminal, or give --yes")
        for line in lines:
            _print_in_colour(_console(sys.stderr), line)
        is_agreed = self.ask(f"{question} [y/N]") in {"y", "yes"}
        if not is_agreed:
            self.tell(Line(declined))
        return is_agreed

    @property
    def has_person(self) -> bool:
        """Whether somebody sits at a terminal who can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def is_watched(self) -> bool:
        """Whether a terminal shows what is written to stderr."""
        return sys.stderr.isatty()

    def ask(self, question: str) -> str:
        """Ask a person at the terminal; return what they typed, in lower case."""
        sys.stderr.write(f"{question} ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().casefold()

    def status(self, text: str) -> None:
        """Write *text* over the last status on a terminal's stderr; empty text clears it."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2K{clip(text, self.width - 1) if text else ''}")
            sys.stderr.flush()

    @contextmanager
    def progress(self, what: str) -> Generator[Progress | None]:
        """Yield what moves a progress bar on stderr; None where nobody would see it."""
        if not sys.stderr.isatty():
            yield None
            return
        from rich.progress import Progress as Bar  # noqa: PLC0415 - rich costs as much as the database

        with Bar(console=_console(sys.stderr), transient=True) as bar:
            task = bar.add_task(what, total=None, visible=False)

            def move(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total, visible=total > _LONG)

            yield move


def forgive_encodings() -> None:
    """Let text that the terminal's encoding lacks be printed as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if callable(reconfigure):
            reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Send what is still buffered nowhere, once stdout takes no more."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def _stdout_faults() -> Generator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise UnwritableFileError(path="standard output", problem=os.strerror(error.errno or 0)) from error


def _console(stream: TextIO) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - as above; a pipe never needs it

    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _print_in_colour(console: "Console", line: Line) -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    console.print(Text(harmless(line.text), style=line.tone.value))
