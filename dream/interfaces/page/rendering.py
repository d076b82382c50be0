"""Defines what views and actions of the page take and give."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from dream.interfaces.page.api_calls import ApiCalls

Form: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a view is asked for.

    Args:
        rest: What of the address comes behind the name of the view.
        query: The parameters of the address.
        now: The present.
    """

    rest: str
    query: Mapping[str, str]
    now: datetime


@dataclass(frozen=True, slots=True)
class Rendering:
    """A template, what stands in it, and the status of the answer."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


class Done(NamedTuple):
    """What an action did: a sentence, the run that an undo takes back, where to go if not back, and what came back."""

    sentence: str
    run_id: str = ""
    to: str = ""
    back: Sequence[tuple[str, str]] = ()


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number of things.

    Example:
        >>> counted(1, "time"), counted(1_000, "memory", "memories")
        ('1 time', '1,000 memories')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def amount(run: Mapping[str, Any]) -> str:
    """Return how much a run changed, and how much it removed for good.

    Example:
        >>> amount({"changes": 1, "purged": 0}), amount({"changes": 0, "purged": 483})
        ('1 change', '0 changes, 483 removed for good')
    """
    changes, purged = run["changes"], run.get("purged", 0)
    gone = f", {purged:,} removed for good" if purged else ""
    return f"{changes:,} change{'' if changes == 1 else 's'}{gone}"


View: TypeAlias = Callable[[ApiCalls, Shown], Awaitable[Rendering]]
Action: TypeAlias = Callable[[ApiCalls, Form], Awaitable[Done | Rendering]]
