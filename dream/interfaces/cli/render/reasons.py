"""Reason codes in words for people."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from dream.domain.proposal import Refusal
from dream.domain.reasons import Deferral, NotUndone, Refused, Skip
from dream.interfaces.cli.render.line import Lines, Tone, paragraph
from dream.interfaces.cli.render.text import counted

_SHOWN = 3
"""Particulars shown of each code."""

_WORDS = {
    Skip.DISABLED: "switched off by the options",
    Skip.NOT_REQUESTED: "the run was asked for other passes",
    Skip.MISSING: "something it needs is not there",
    Skip.NO_WORK: "nothing new, no backlog, nothing due",
    Skip.NOTHING_TO_CHANGE: "it looked, and found nothing that it may change",
    Refused.STALE_SOURCE: "a record changed meanwhile; the next run looks at it again",
    Refused.UNDONE_BY_PERSON: "a person took this very change back before",
    Refused.DESTROYS: "it would remove a record that it may at most archive",
    Refused.MISMATCHED: "what it calls before and after are two records",
    Refused.TRUST_RAISED: "it would lend a text more trust than its sources have",
    Refused.IMPORTANCE_RAISED: "it would lend a record more importance than its sources have",
    Refused.REINFORCEMENT_RAISED: "it would claim observations that its sources do not have",
    Refused.PINNED: "a person pinned the record",
    Refused.PROTECTED_CATEGORY: "the category is protected",
    Refused.NO_REASON: "it does not say why",
    Deferral.LEASE_HELD: "another process is dreaming on this scope; run again when it is done",
    Deferral.PAUSED: "the dreams of this scope are paused",
    NotUndone.CHANGED_SINCE: "the record changed since, and is left as it is",
    NotUndone.FORGOTTEN: "a person asked to forget the text",
    NotUndone.PURGED: "retention removed the record for good",
}
_BY_CODE = {code.value: words for code, words in _WORDS.items()}


def explained(reason: str | None) -> str:
    """Return a reason with its meaning, if it begins with a known code.

    Example:
        >>> explained("no_work")
        'nothing new, no backlog, nothing due (no_work)'
        >>> explained("missing: llm")
        'something it needs is not there (missing: llm)'
    """
    if reason is None:
        return ""
    code = reason.split(":")[0].split(" ")[0]
    return f"{_BY_CODE[code]} ({reason})" if code in _BY_CODE else reason


def refusal_lines(refused: Iterable[Refusal], width: int, *, indent: str) -> Lines:
    """Yield one paragraph per code: how often, what it means, and the first particulars."""
    by_code = groupby(sorted(refused, key=lambda item: item.code), key=lambda item: item.code)
    for code, group in by_code:
        details = [item.detail for item in group]
        meaning = f": {_BY_CODE[code]}" if code in _BY_CODE else ""
        first = f"{indent}refused  "
        text = f"{counted(len(details), 'change')}, {code}{meaning} ({_first(details)})"
        yield from paragraph(text, width, first=first, tone=Tone.WARNING)


def _first(details: Sequence[str]) -> str:
    more = f"; and {len(details) - _SHOWN} more" if len(details) > _SHOWN else ""
    return "; ".join(details[:_SHOWN]) + more
