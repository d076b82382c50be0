"""Holds the rounds of an exchange with the model about one batch: what is asked next, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.llm.chat import ChatRequest

Version = tuple[str, int]
"""A record's id and the version it was packed with."""


class ShownPart(NamedTuple):
    """The part of a long turn that a question shows, in characters of the stored turn."""

    record_id: str
    start: int
    end: int


Answer = Mapping[str, Any]
"""A model's answer as a JSON object: whole, parsed, and not yet believed."""


class RoundKind(StrEnum):
    """Why a round is asked."""

    QUESTION = "question"
    """The first question about a batch."""
    LOOKUP = "lookup"
    """The question again, with records that the answer before asked to look up."""
    REPAIR = "repair"
    """A repair of the answer before; the exchange ends without it where the budget has no room."""
    VERIFICATION = "verification"
    """A second reading of what the answers say."""

    @classmethod
    def of_number(cls, number: int) -> RoundKind:
        """Return the kind of a round that was stored before rounds had one: a question, or its one repair."""
        return cls.QUESTION if number == 1 else cls.REPAIR


@dataclass(frozen=True, slots=True)
class NextRound:
    """What a model pass asks next about a batch.

    Args:
        request: The question.
        kind: Why it is asked.
        shown: Records that it shows besides those of the batch, such as what was looked up. They are stored with the
            answer, so that a run that resumes knows what the answer speaks of.
        about: The numbers of the items that it is about, if not about all: stored likewise.
        at_most: In how many exchanges of a run the pass may ask such a round, if it is optional; None for in each.
    """

    request: ChatRequest
    kind: RoundKind = RoundKind.QUESTION
    shown: tuple[Version, ...] = ()
    about: tuple[int, ...] = ()
    at_most: int | None = None

    @property
    def asked(self) -> AskedRound:
        """What is stored of it."""
        return AskedRound(self.kind, self.shown, self.about)

    @property
    def is_optional(self) -> bool:
        """Whether the exchange ends with what it has where this round cannot be asked."""
        return self.kind is RoundKind.REPAIR


@dataclass(frozen=True, slots=True)
class AskedRound:
    """What a step keeps of a round.

    Args:
        kind: Why it was asked.
        shown: Records that it showed besides those of the batch, as they were.
        about: The numbers of the items that it was about, if not about all.
        read_as: Of a second reading that several exchanges shared, the number that its handles were made with; the
            reader was checked then. 0 for any other round.
    """

    kind: RoundKind = RoundKind.QUESTION
    shown: tuple[Version, ...] = ()
    about: tuple[int, ...] = ()
    read_as: int = 0

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        told = [self.kind.value, [list(one) for one in self.shown]]
        more = [list(self.about)] if self.about else []
        return [*told, *more, self.read_as] if self.read_as else [*told, *more]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> AskedRound:
        """Read what `to_json` wrote."""
        kind, shown, *more = values
        versions = tuple((record_id, version) for record_id, version in shown)
        return cls(RoundKind(kind), versions, tuple(more[0]) if more else (), more[1] if more[1:] else 0)


@dataclass(frozen=True, slots=True)
class Round:
    """One answered round.

    Args:
        answer: What the model answered.
        asked: What was asked.
        model: The model that answered; "" if that is not known.
    """

    answer: Answer
    asked: AskedRound = field(default_factory=AskedRound)
    model: str = ""

    @property
    def kind(self) -> RoundKind:
        """Why it was asked."""
        return self.asked.kind

    @property
    def shown(self) -> tuple[Version, ...]:
        """Records that it was shown besides those of the batch."""
        return self.asked.shown

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        return [self.asked.to_json(), self.model, dict(self.answer)]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Round:
        """Read what `to_json` wrote; earlier versions kept kind, records and answer side by side."""
        if isinstance(values[0], str):
            kind, shown, answer = values
            return cls(answer, AskedRound.from_json((kind, shown)))
        asked, model, answer = values
        return cls(answer, AskedRound.from_json(asked), model)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """What the rounds of one number and kind cost a pass in a run.

    Args:
        number: The round, from 1.
        kind: Why they were asked; None for calls that gave no answer, if that is not known.
        calls: Calls, failed ones included.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
    """

    number: int
    kind: RoundKind | None = None
    calls: int
    input_tokens: int
    output_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "round": self.number,
            "kind": None if self.kind is None else self.kind.value,
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RoundCost:
        """Read what `to_json` wrote; earlier versions kept no kind."""
        kind = values.get("kind")
        return cls(
            kind=None if kind is None else RoundKind(kind),
            number=values["round"],
            calls=values["calls"],
            input_tokens=values["input_tokens"],
            output_tokens=values["output_tokens"],
        )


def answers_of(rounds: Sequence[Round]) -> list[Answer]:
    """Return the answers of rounds, in order."""
    return [one.answer for one in rounds]
