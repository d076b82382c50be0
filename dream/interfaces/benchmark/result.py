"""Computes the figures of a benchmark: of one sample, and of all together."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dream.interfaces.benchmark.qa import BUDGETS, DEPTHS, AnsweredQuestion, Stage
from dream.interfaces.benchmark.samples import ADVERSARIAL, CATEGORIES, Faults

ORDINARY = CATEGORIES.keys() - {ADVERSARIAL}
"""The categories whose questions are about what was said."""

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a dream did and what it took.

    Args:
        outcomes: How the runs ended.
        failures: Passes that failed, each with its reason.
        changes: Records changed, by what happened to them.
        refused: Changes not made, by reason code.
        calls: Model calls, failed ones included.
        input_tokens: Tokens sent, with failed calls.
        output_tokens: Tokens received, with failed calls.
        backlog: Items left for later runs.
        unsupported: Changes that rest on nothing, by what is wrong; see `support`.
        replayed: Changes that a second run made at once.
        replay_calls: Model calls that it made.
        undone: Samples whose export was, after the undo, what it had been before the run.
        samples: Samples dreamt of.
    """

    outcomes: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])
    changes: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
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
        turns: What a memory answers that holds each turn as it was said and nothing else.
        before: What the imported memory answers.
        after: What it answers after the dream.
        cost: What the dream took.
        faults: What is wrong with the file's evidence.
        seconds: Where the time went; the one part that differs from one time to the next.
    """

    name: str
    turns: Stage
    before: Stage
    after: Stage
    cost: Cost
    faults: Faults
    seconds: Mapping[str, float]

    @property
    def stages(self) -> dict[str, Stage]:
        """The stages by name, in the order in which they are shown."""
        return {"turns": self.turns, "before": self.before, "after": self.after}

    def __add__(self, other: "Result") -> "Result":
        return Result(
            name="all",
            turns=self.turns + other.turns,
            before=self.before + other.before,
            after=self.after + other.after,
            cost=self.cost + other.cost,
            faults=self.faults + other.faults,
            seconds={name: value + other.seconds[name] for name, value in self.seconds.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "sample": self.name,
            "questions": {"asked": len(self.before.answers), **self.faults.to_json()},
            **{name: _stage_json(stage) for name, stage in self.stages.items()},
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What some questions found at one stage.

    Args:
        questions: How many.
        kept: Evidence that live entries go back to.
        at: Evidence found by the number of entries read.
        within: Evidence found by the number of tokens read.
        stale: Share of the entries read that a dream replaces by another, by their number.
    """

    questions: int
    kept: Share
    at: Mapping[int, Share]
    within: Mapping[int, Share]
    stale: Mapping[int, float]

    @classmethod
    def of(cls, answers: Sequence[AnsweredQuestion]) -> "Figures":
        """Summarise one or more answers."""
        read = {depth: sum(len(one.hits[:depth]) for one in answers) for depth in DEPTHS}
        return cls(
            questions=len(answers),
            kept=Share.of([one.kept for one in answers]),
            at={depth: Share.of([one.at[place] for one in answers]) for place, depth in enumerate(DEPTHS)},
            within={budget: Share.of([one.within[place] for one in answers]) for place, budget in enumerate(BUDGETS)},
            stale={
                depth: sum(one.stale[place] for one in answers) / max(1, read[depth])
                for place, depth in enumerate(DEPTHS)
            },
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "questions": self.questions,
            "kept": self.kept.to_json(),
            "at_entries": {str(depth): share.to_json() for depth, share in self.at.items()},
            "within_tokens": {str(budget): share.to_json() for budget, share in self.within.items()},
            "stale": {str(depth): round(share, _DIGITS) for depth, share in self.stale.items()},
        }


def answers_of(stage: Stage, categories: Collection[int]) -> list[AnsweredQuestion]:
    """Return the answers to questions of these categories."""
    return [one for one in stage.answers if one.category in categories]


def _plain(value: Counter[str] | int) -> dict[str, int] | int:
    return value if isinstance(value, int) else dict(sorted(value.items()))


def _stage_json(stage: Stage) -> dict[str, Any]:
    groups = {"all": CATEGORIES.keys(), "without_adversarial": ORDINARY}
    chosen = {name: answers_of(stage, group) for name, group in groups.items()}
    chosen |= {name: answers_of(stage, {number}) for number, name in CATEGORIES.items()}
    return {
        "entries": stage.entries,
        "tokens": stage.tokens,
        "repeated": stage.repeated,
        **{name: Figures.of(answers).to_json() for name, answers in chosen.items() if answers},
    }


def total(results: Sequence[Result]) -> Result:
    """Put one or more samples together: every question weighs the same, and what can be counted is added up."""
    first, *others = results
    return sum(others, replace(first, name="all"))
