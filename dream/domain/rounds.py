"""Holds the rounds of an exchange with the model about one batch: what is asked next, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.llm.chat import ChatRequest

Version = tuple[str, int]
"""A record's id and the version it was packed with."""

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
        at_most: In how many exchanges of a run the pass may ask such a round, if it is optional; None for in each.
    """

    request: ChatRequest
    kind: RoundKind = RoundKind.QUESTION
    shown: tuple[Version, ...] = ()
    at_most: int | None = None

    @property
    def is_optional(self) -> bool:
        """Whether the exchange ends with what it has where this round cannot be asked."""
        return self.kind is RoundKind.REPAIR


@dataclass(frozen=True, slots=True)
class Round:
    """One answered round.

    Args:
        answer: What the model answered.
        kind: Why it was asked.
        shown: Records that it was shown besides those of the batch.
    """

    answer: Answer
    kind: RoundKind = RoundKind.QUESTION
    shown: tuple[Version, ...] = ()

    @property
    def asked(self) -> AskedRound:
        """The round without its answer."""
        return AskedRound(self.kind, self.shown)

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        return [*self.asked.to_json(), dict(self.answer)]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Round:
        """Read what `to_json` wrote."""
        *asked, answer = values
        told = AskedRound.from_json(asked)
        return cls(answer, told.kind, told.shown)


@dataclass(frozen=True, slots=True)
class AskedRound:
    """What a step keeps of a round.

    Args:
        kind: Why it was asked.
        shown: Records that it showed besides those of the batch, as they were.
    """

    kind: RoundKind
    shown: tuple[Version, ...]

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        return [self.kind.value, [list(one) for one in self.shown]]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> AskedRound:
        """Read what `to_json` wrote."""
        kind, shown = values
        return cls(RoundKind(kind), tuple((record_id, version) for record_id, version in shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """What the rounds of one number cost a pass in a run.

    Args:
        number: The round, from 1.
        calls: Calls, failed ones included.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
    """

    number: int
    calls: int
    input_tokens: int
    output_tokens: int

    def to_json(self) -> dict[str, int]:
        """Return plain JSON values."""
        return {
            "round": self.number,
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }

    @classmethod
    def from_json(cls, values: dict[str, int]) -> RoundCost:
        """Read what `to_json` wrote."""
        return cls(
            number=values["round"],
            calls=values["calls"],
            input_tokens=values["input_tokens"],
            output_tokens=values["output_tokens"],
        )


def answers_of(rounds: Sequence[Round]) -> list[Answer]:
    """Return the answers of rounds, in order."""
    return [one.answer for one in rounds]
