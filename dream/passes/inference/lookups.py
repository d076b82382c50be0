"""Carries out the searches that a model asks for before it concludes, within the same scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from agentcore.domain.subject_time import PartialDate
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, Version
from dream.passes.answers import NULLABLE_TEXT, AnswerItem, Otherwise, Text, choice_of, read_items
from dream.passes.protocol import ModelContext

MOST_LOOKUPS: Final = 2
"""Rounds of one exchange in which a model may search."""
MOST_SEARCHES: Final = 3
"""Searches of one such round."""
_FOUND: Final = 6
"""Records that one search shows."""
_LONGEST: Final = 200
"""Characters of a query at most."""


def _date(given: object) -> datetime | None:
    if given is None or given == "":
        return None
    if not isinstance(given, str):
        raise ValueError("it is no date")  # noqa: TRY004 - what pydantic takes for an invalid value
    return PartialDate.parse(given).begins.replace(tzinfo=UTC)


_NullableDate = Annotated[datetime | None, BeforeValidator(_date), WithJsonSchema(dict(NULLABLE_TEXT))]


class SearchItem(AnswerItem):
    """One search."""

    called: ClassVar[str] = "search {}"

    words: Annotated[Text, Otherwise(Refused.INVALID_CONTENT, "{} has no words")]
    """What to look for."""
    after: Annotated[_NullableDate, Otherwise(Refused.INVALID_CONTENT, "{} names no date in after")] = None
    """Said on this date or later."""
    before: Annotated[_NullableDate, Otherwise(Refused.INVALID_CONTENT, "{} names no date in before")] = None
    """Said before this date."""
    place: Annotated[
        Literal["entries", "turns"],
        BeforeValidator(lambda given: given or "entries"),
        WithJsonSchema(choice_of(("entries", "turns"))),
        Otherwise(Refused.INVALID_CONTENT, "{} looks neither in entries nor in turns"),
    ] = Field(default="entries", validation_alias="in")
    """Where."""

    def admits(self, said_at: datetime) -> bool:
        """Tell whether an instant is in the time asked about."""
        return (self.after is None or said_at >= self.after) and (self.before is None or said_at < self.before)


@dataclass(frozen=True, slots=True)
class Found:
    """What searches found: versions of entries and turns, in the order in which they are shown."""

    entries: tuple[Version, ...] = ()
    turns: tuple[Version, ...] = ()

    @property
    def versions(self) -> tuple[Version, ...]:
        """All of them."""
        return (*self.entries, *self.turns)


def searches_of(answer: Answer) -> tuple[list[SearchItem], list[Refusal]]:
    """Return the searches of an answer that can be carried out, and why others cannot; none where it asks for none."""
    if not answer.get("search"):
        return [], []
    items, refused = read_items(answer, "search", SearchItem, what="searches", most=MOST_SEARCHES)
    blank = [one for one in items if not one.words.strip() or len(one.words) > _LONGEST]
    refused += [Refusal(Refused.INVALID_CONTENT, f"{one.label} has no words, or too many") for one in blank]
    return [one for one in items if one not in blank], refused


async def look_up(context: ModelContext, searches: Sequence[SearchItem], shown: Mapping[str, Any]) -> Found:
    """Search entries and turns of the scope; what is *shown* already is left out.

    Args:
        context: The run's.
        searches: What to look for.
        shown: Ids of the records that the exchange shows.
    """
    entries: dict[str, int] = {}
    turns: dict[str, int] = {}
    for one in searches:
        if one.place == "entries":
            hits = await context.recall.search(one.words, k=4 * _FOUND)
            met = [(hit.entry.id, hit.entry.version) for hit in hits if one.admits(hit.entry.created_at)]
            entries |= dict([version for version in met if version[0] not in shown][:_FOUND])
        else:
            heard = await context.recall.turns(one.words, k=4 * _FOUND)
            said = [(turn.id, turn.version) for turn in heard if one.admits(turn.occurred_at)]
            turns |= dict([version for version in said if version[0] not in shown][:_FOUND])
    learnable = await context.read(lambda view: {turn.id for turn in view.learnable.turns.get_many(list(turns))})
    return Found(tuple(entries.items()), tuple(one for one in turns.items() if one[0] in learnable))
