"""What a changed directive costs: the entries that are looked at again, and about how many tokens that takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from agentcore.domain.filters import EntryFilter
from agentcore.llm.tokens import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.directives import KNOWN, Directive
from dream.options import DreamOptions
from dream.stores import DreamStores, dream_stores

REVIEWER: Final = "memory-consolidation"  # asking the passes would import all of them
"""The pass whose reviewed entries become backlog when what it tells the model changes."""

_SAMPLE: Final = 500
_RUNS: Final = 200
"""Runs, newest first, in which it is looked up what was sent last."""
_ATTRIBUTES: Final = 35
"""Tokens of a line beside the entry's text: handle, category, dates, counts, tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The cost of looking at every reviewed entry again; an upper bound, reckoned from the mean of the newest entries.

    Args:
        entries: Active entries that the pass has reviewed.
        runs: Dreams over which they are spread.
        calls: Questions to the model.
        tokens: Tokens of questions and answers together.
        changed: Directives that are not what the last run sent; empty if all are, or if none was ever sent.
    """

    entries: int
    runs: int = 0
    calls: int = 0
    tokens: int = 0
    changed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "pass": REVIEWER,
            "changed": list(self.changed),
            "entries": self.entries,
            "runs": self.runs,
            "calls": self.calls,
            "tokens": self.tokens,
        }


def read_forecast(view: ReadView, directives: Mapping[str, Directive], options: DreamOptions) -> Forecast:
    """Return what it costs that a directive of the consolidation changed, or what it would cost.

    Args:
        view: The scope.
        directives: The texts in force of at least the directives of the consolidation.
        options: The host's.
    """
    books = dream_stores(view)
    cursors = books.cursors
    position = cursors.position(REVIEWER)
    if position is None:
        return Forecast(entries=0)
    unseen = view.entries.count_material(after=position, also=cursors.reopened(REVIEWER))
    reviewed = view.entries.count(EntryFilter()) - unseen
    if reviewed <= 0:
        return Forecast(entries=0)
    sample = view.entries.select(EntryFilter(), limit=_SAMPLE)
    text = -(-sum(estimate_tokens(entry.content) for entry in sample) // len(sample))
    mine = [name for name, known in KNOWN.items() if REVIEWER in known.passes]
    share = sum(estimate_tokens(directives[name].text) for name in mine)
    sent = _last_sent(books)
    changed = tuple(name for name in mine if sent.get(name, directives[name].hash) != directives[name].hash)
    return replace(forecast(entries=reviewed, text=text, share=share, options=options), changed=changed)


def _last_sent(books: DreamStores) -> dict[str, str]:
    """Return the hash of each directive as it was last sent."""
    sent: dict[str, str] = {}
    for run in books.runs.newest(limit=_RUNS):
        sent = {**run.directives, **sent}
    return sent


def forecast(*, entries: int, text: int, share: int, options: DreamOptions) -> Forecast:
    """Reckon the cost of reviewing entries, as if each came with all its neighbours and were written anew.

    Args:
        entries: How many.
        text: Tokens of one of them.
        share: Tokens of the directives, which every call pays for.
        options: The host's.

    Example:
        >>> forecast(entries=1_000, text=25, share=2_500, options=DreamOptions())
        Forecast(entries=1000, runs=1, calls=50, tokens=450000, changed=())
    """
    consolidation = options.consolidation
    shown = entries * (text + _ATTRIBUTES) * (1 + consolidation.neighbours)
    calls = max(-(-entries // consolidation.batch_entries), -(-shown // options.model.prompt_tokens))
    return Forecast(
        entries=entries,
        runs=-(-entries // consolidation.max_entries),
        calls=calls,
        tokens=calls * share + shown + entries * text,
    )
