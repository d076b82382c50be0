"""Writes the events of a serving process to stderr: one line each, with their figures."""

import logging
import sys
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, TypeAlias

from dream.interfaces.cli.render.text import one_line

_PACKAGES: Final = ("agentcore", "dream")
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

_Fault: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


@contextmanager
def logged_to_stderr(level: str) -> Generator[None]:
    """Log what the project's packages tell to stderr, from a level on, for the length of the block."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    loggers = [logging.getLogger(package) for package in _PACKAGES]
    before = [(logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False  # the MCP library gives the root a handler of its own, which would say it again
    try:
        yield
    finally:
        for logger, former in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(former[0])
            logger.propagate = former[1]


class _Lines(logging.Formatter):
    """An event on one line: when, level, logger, its words, and those of its figures that its words leave out."""

    converter = time.gmtime
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line, the figures last."""
        line = super().formatMessage(record)
        figures = ((name, value) for name, value in vars(record).items() if name not in _USUAL)
        return one_line(" ".join([line, *(f"{name}={value}" for name, value in figures if f" {name}=" not in line)]))

    def formatException(self, ei: _Fault) -> str:  # noqa: N802 - as above
        """Return where an error came from, without its words, in which what is remembered may stand."""
        kind, _, trace = ei
        frames = (f"  {one.filename}:{one.lineno} in {one.name}" for one in traceback.extract_tb(trace))
        return "\n".join((*frames, f"  {'' if kind is None else kind.__name__}"))
