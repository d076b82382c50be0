"""Computes the figures of a benchmark: of one sample, and of all together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

import numpy as np

from dream.interfaces.benchmark.qa import BUDGETS, AnsweredQuestion, Side
from dream.interfaces.benchmark.samples import ADVERSARIAL, Faults

RESAMPLES: Final = 10_000
"""Draws of the bootstrap."""
SEED: Final = 20_261_122
"""What its chance begins with, so that the same answers have the same interval."""
_TAIL: Final = 2.5
"""Percent of the draws that lie beyond each end of an interval."""
_DIGITS: Final = 6

_A = TypeVar("_A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What dreams did and what they took.

    Args:
        outcomes: How the dreams ended.
        failures: Passes that failed, each with its reason.
        changes: Records changed, by what happened to them.
        refused: Changes not made, by reason code.
        calls: Model calls, failed ones included.
        input_tokens: Tokens sent, with failed calls.
        output_tokens: Tokens received, with failed calls.
        tokens_for: Tokens sent and received, by what the calls were for.
        cached_tokens: Tokens of prompts that a provider's cache has read before: they began as earlier ones did.
        turns: Turns dreamt of.
        told_tokens: Tokens of their texts.
        backlog: Items left for later runs.
        unsupported: Changes that rest on nothing, by what is wrong; see `support`.
        replayed: Changes that a further run made at once.
        replay_calls: Model calls that it made.
        undone: Samples whose export was, after the undo, what it had been before the dreams.
        samples: Samples dreamt of.
    """

    outcomes: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])
    changes: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens_for: Counter[str] = field(default_factory=Counter[str])
    cached_tokens: int = 0
    turns: int = 0
    told_tokens: int = 0
    backlog: int = 0
    unsupported: Counter[str] = field(default_factory=Counter[str])
    replayed: int = 0
    replay_calls: int = 0
    undone: int = 0
    samples: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)} | {"undo_exact": self.is_undo_exact}

    @property
    def is_undo_exact(self) -> bool:
        """Whether every undo brought everything back."""
        return self.undone == self.samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The figures of one sample, or of several together.

    Args:
        name: The sample's.
        sides: How the memory answered without dreams, and after them.
        cost: What the dreams took.
        faults: What is wrong with the file's evidence.
        seconds: Where the time went; the one part that differs from one time to the next.
    """

    name: str
    sides: Mapping[str, Side]
    cost: Cost
    faults: Faults
    seconds: Mapping[str, float]

    @property
    def questions(self) -> int:
        """Questions asked."""
        return len(next(iter(self.sides.values())).answers)

    def __add__(self, other: "Result") -> "Result":
        return Result(
            name="all",
            sides={name: side + other.sides[name] for name, side in self.sides.items()},
            cost=self.cost + other.cost,
            faults=self.faults + other.faults,
            seconds={name: value + other.seconds[name] for name, value in self.seconds.items()},
        )

    def groups(self) -> dict[str, "Figures"]:
        """Return the figures of all questions, of those that are not adversarial, and by category."""
        first, second = (side.answers for side in self.sides.values())
        pairs = zip(first, second, strict=True)
        groups = by_category([(pair[0].question.category, pair) for pair in pairs])
        return {name: Figures.of(chosen) for name, chosen in groups.items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "sample": self.name,
            "questions": {"asked": self.questions, **self.faults.to_json()},
            "memory": {name: {"entries": side.entries, "tokens": side.tokens} for name, side in self.sides.items()},
            **{name.replace(" ", "_"): figures.to_json() for name, figures in self.groups().items()},
            "dream": self.cost.to_json(),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the evidence of some questions was found.

    Args:
        mean: The mean share.
        every: Share of the questions whose evidence was found whole (the field's `recall_all`).
        some: Share of the questions of whose evidence a part was found (`recall_any`).

    Example:
        >>> Share.of([1.0, 0.5, 0.0, 0.0])
        Share(mean=0.375, every=0.25, some=0.5)
    """

    mean: float
    every: float
    some: float

    @classmethod
    def of(cls, shares: Sequence[float]) -> "Share":
        """Summarise one or more questions."""
        count = len(shares)
        return cls(sum(shares) / count, sum(one == 1.0 for one in shares) / count, sum(map(bool, shares)) / count)

    def to_json(self) -> dict[str, float]:
        """Return plain JSON values."""
        return {
            "mean": round(self.mean, _DIGITS),
            "all": round(self.every, _DIGITS),
            "any": round(self.some, _DIGITS),
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """The same questions on both sides.

    Args:
        first: What was found on the first side.
        second: What was found on the second.
        least: Lower end of the 95 % interval of the difference, second less first.
        most: Its upper end.
    """

    first: Share
    second: Share
    least: float
    most: float

    @property
    def difference(self) -> float:
        """How much more the second side found."""
        return self.second.mean - self.first.mean

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> "Compared":
        """Compare one or more questions.

        The interval is that of the paired percentile bootstrap (Efron and Tibshirani 1993, chapter 13): questions are
        drawn with replacement `RESAMPLES` times, both sides of a question together.

        Example:
            >>> one = Compared.of([(0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (0.5, 1.0)])
            >>> one.difference, one.least, one.most
            (0.375, 0.0, 0.75)
        """
        differences = np.array([second - first for first, second in pairs])
        chance = np.random.default_rng(SEED)
        counts = chance.multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), size=RESAMPLES)
        least, most = np.percentile(counts @ differences / len(pairs), [_TAIL, 100 - _TAIL])
        return cls(Share.of([one for one, _ in pairs]), Share.of([one for _, one in pairs]), float(least), float(most))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "without": self.first.to_json(),
            "after": self.second.to_json(),
            "difference": round(self.difference, _DIGITS),
            "interval": [round(self.least, _DIGITS), round(self.most, _DIGITS)],
        }


Pair = tuple[AnsweredQuestion, AnsweredQuestion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What some questions found on both sides, by budget.

    Args:
        questions: How many.
        unjudged: How many of them have no answer that can be looked for, by the reason.
        found: Evidence found where what is shown tells the answer, of those that can be judged; empty where none can.
        evidence: Evidence shown, whatever of it is shown, of all.
        tokens: Mean of the tokens given, on both sides.
    """

    questions: int
    unjudged: Counter[str]
    found: Mapping[int, Compared]
    evidence: Mapping[int, Compared]
    tokens: Mapping[int, tuple[float, float]]

    @property
    def judged(self) -> int:
        """Questions whose answer can be looked for."""
        return self.questions - self.unjudged.total()

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Figures":
        """Summarise one or more questions."""
        judged = [pair for pair in pairs if pair[0].unjudged is None]
        places = list(enumerate(BUDGETS))
        return cls(
            questions=len(pairs),
            unjudged=Counter(one.unjudged.value for one, _ in pairs if one.unjudged is not None),
            found={budget: _compared(judged, place, "found") for place, budget in places if judged},
            evidence={budget: _compared(pairs, place, "evidence") for place, budget in places},
            tokens={budget: _tokens(pairs, place) for place, budget in places},
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "questions": self.questions,
            "judged": self.judged,
            "unjudged": _plain(self.unjudged),
            "found": {str(budget): one.to_json() for budget, one in self.found.items()},
            "evidence": {str(budget): one.to_json() for budget, one in self.evidence.items()},
            "tokens": {
                str(budget): {"without": round(one, 1), "after": round(other, 1)}
                for budget, (one, other) in self.tokens.items()
            },
        }


def by_category(sorted_answers: Sequence[tuple[str, _A]]) -> dict[str, list[_A]]:
    """Return what belongs to all questions, to those that are not adversarial where some are, and to each category.

    Example:
        >>> by_category([("temporal", 1), ("adversarial", 2), ("temporal", 3)])
        {'all': [1, 2, 3], 'without adversarial': [1, 3], 'adversarial': [2], 'temporal': [1, 3]}
    """
    categories = sorted({category for category, _ in sorted_answers})
    groups = {"all": categories}
    if ADVERSARIAL in categories and len(categories) > 1:
        groups["without adversarial"] = [one for one in categories if one != ADVERSARIAL]
    groups |= {name: [name] for name in categories}
    return {name: [one for sort, one in sorted_answers if sort in chosen] for name, chosen in groups.items()}


def _compared(pairs: Iterable[Pair], place: int, name: str) -> Compared:
    return Compared.of([(getattr(one.given[place], name), getattr(other.given[place], name)) for one, other in pairs])


def _tokens(pairs: Sequence[Pair], place: int) -> tuple[float, float]:
    one, other = (sum(pair[side].given[place].tokens for pair in pairs) / len(pairs) for side in (0, 1))
    return one, other


def _plain(value: Counter[str] | int) -> dict[str, int] | int:
    return value if isinstance(value, int) else dict(sorted(value.items()))


def total(results: Sequence[Result]) -> Result:
    """Put one or more samples together: every question weighs the same, and what can be counted is added up."""
    first, *others = results
    return sum(others, replace(first, name="all"))
