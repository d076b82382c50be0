"""Counts how far the conversation log was read, by whom."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading:
    """How far one pass has read the log.

    Args:
        reader: The pass.
        position: Up to where it has looked, in the order of arrival; 0 if it never did.
        unread: Turns behind that position which it has to look at again, and in how many runs it failed on each.
    """

    reader: str
    position: int
    unread: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStanding:
    """How far all enabled passes that read the log have read it.

    Args:
        end: Position of the newest turn when the run began: what came since is not this run's.
        readings: One for each reader.
    """

    end: int
    readings: tuple[LogReading, ...]
