"""Filling: which lines a budget takes, so that a bigger budget keeps all that a smaller one shows.

Lines stand in an order that no budget changes, and a budget takes as many of the first as fit. The order is made by
filling the standard budgets 250, 500, 1000, ... one after the other: each keeps what the one before it shows and adds
the best lines that still fit. So a line too long for a small budget waits for a bigger one and displaces nothing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

from agentcore.domain.memory import SourceRef
from agentcore.hosting.context_block import HEAD, Item, text_of
from agentcore.recall.results import CombinedHit, ShownRecords

Found: TypeAlias = tuple[CombinedHit, Item]

_SMALLEST: Final = 250
_TOKENS_PER_LINE: Final = 8
"""A short line: as many findings are looked at for a budget as it could hold of them."""
_LEAST_FINDINGS: Final = 50
_MOST_SKIPPED: Final = 40
"""Lines that do not fit into a standard budget, after which worse ones are not tried: they wait for the next."""
_PART: Final = 0.35
"""What a part of a text is worth beside a whole one of the same score: the score is of the whole."""


def standard_budgets(budget: int) -> list[int]:
    """Return the standard budgets up to the first that is not below *budget*.

    Example:
        >>> standard_budgets(300)
        [250, 500]
    """
    found = [_SMALLEST]
    while found[-1] < budget:
        found.append(2 * found[-1])
    return found


def candidates(standard: int) -> int:
    """Return how many findings of each kind are looked at for a standard budget."""
    return max(_LEAST_FINDINGS, standard // _TOKENS_PER_LINE)


def by_worth(found: Sequence[Found]) -> list[Found]:
    """Return what was found, the best first: by its score, less for a part of a text, and for one that holds little."""

    def worth(one: Found) -> float:
        finding, _ = one
        held = 1.0 if finding.passage is None else finding.passage.share
        return finding.score * held * (1.0 if finding.is_whole else _PART)

    return sorted(found, key=worth, reverse=True)


@dataclass(frozen=True, slots=True)
class Filling:
    """Takes lines for one budget.

    Args:
        count: Counts tokens.
        budget: Tokens that the block may take.
    """

    count: Callable[[str], int]
    budget: int

    def shared(self, items: Sequence[Item], share: float) -> "Shared":
        """Return lines that may take a share of any budget, the best first."""
        part = Fraction(share).limit_denominator(10_000)
        order: list[tuple[Item, int]] = []
        spent, left, standard = 0, list(items), _SMALLEST
        while left and part:
            waiting: list[Item] = []
            for item in left:
                cost = self._cost(item, is_first=not order)
                if spent + cost > part * self._room(standard):
                    waiting.append(item)
                    continue
                spent += cost
                order.append((item, spent))
            left, standard = waiting, 2 * standard
        return Shared(part, [item for item, _ in order], [cost for _, cost in order])

    def taken(self, shared: "Shared") -> list[Item]:
        """Return those of the shared lines that this budget takes."""
        return shared.items[: shared.fitting(self._room(self.budget))]

    def found(
        self, items: Sequence[Found], told: ShownRecords, beside: Sequence["Shared"], *, not_counted: int
    ) -> list[Item]:
        """Return the findings that this budget takes.

        A budget below the smallest standard one chooses among what that one tells.

        Args:
            items: All that were found, the best first.
            told: What the agent has been told; what is taken is added.
            beside: The lines that take their share before.
            not_counted: Candidates that are no finding, since the agent sees them anyway.
        """
        if self.budget >= _SMALLEST:
            return self._filled(standard_budgets(self.budget), items, told, beside, not_counted=not_counted)
        after = told.copy()
        taken = replace(self, budget=_SMALLEST).found(items, after, beside, not_counted=not_counted)
        # A turn that a taken entry stands for may be shown where the entry does not fit.
        among = [one for one in items if any(one[1] is item for item in taken) or after.repeats(one[0])]
        return self._filled([_SMALLEST // 4, _SMALLEST // 2, _SMALLEST], among, told, beside, not_counted=not_counted)

    def _filled(
        self,
        standards: Sequence[int],
        items: Sequence[Found],
        told: ShownRecords,
        beside: Sequence["Shared"],
        *,
        not_counted: int,
    ) -> list[Item]:
        limit = self._left(self.budget, beside)
        chosen: dict[SourceRef, Item] = {}
        spent = 0
        for standard in standards:
            most, skipped = self._left(standard, beside), 0
            places = candidates(standard) + not_counted
            still_open = [one for one in items if one[0].place < places and one[0].reference not in chosen]
            for finding, item in _repeats_last(still_open, told):
                cost = self._with(item, chosen, spent=spent, most=most)
                if cost > most:
                    skipped += 1
                    if skipped == _MOST_SKIPPED:
                        break
                    continue
                if cost > limit:
                    return list(chosen.values())
                spent = cost
                chosen[finding.reference] = item
                if finding.is_whole:
                    told.add(finding.reference, finding.goes_back_to)
        return list(chosen.values())

    def _with(self, item: Item, chosen: Mapping[SourceRef, Item], *, spent: int, most: int) -> int:
        """Return what the block of findings takes with one more, or more than *most* where that is plain to see."""
        alone = spent + self.count(item.line) - 1
        return alone if alone > most else self.count(text_of([*chosen.values(), item]))

    def _room(self, budget: int) -> int:
        """Return what a budget has for lines."""
        return max(0, budget - self.count(f"{HEAD}\n"))

    def _left(self, budget: int, beside: Sequence["Shared"]) -> int:
        """Return what a budget has for findings and the head, as far as every bigger one has it too.

        Where a little more budget shows another long line in a share, that little more must not cost a finding.
        """
        room = self._room(budget)
        steps = {room, *(step for one in beside for step in one.steps() if step > room)}
        return budget - room + min(step - sum(one.taken(step) for one in beside) for step in steps)

    def _cost(self, item: Item, *, is_first: bool) -> int:
        return self.count(f"- {item.line}\n") + (self.count(f"{item.part.value}:\n") if is_first else 0)


@dataclass(frozen=True, slots=True)
class Shared:
    """Lines that take a share of the room, in an order that no budget changes.

    Args:
        share: Their part of the room.
        items: The lines.
        costs: What the lines up to each take together.
    """

    share: Fraction
    items: list[Item]
    costs: list[int]

    def fitting(self, room: int) -> int:
        """Return how many of the lines fit."""
        return bisect_right(self.costs, floor(self.share * room))

    def taken(self, room: int) -> int:
        """Return what they take."""
        fitting = self.fitting(room)
        return self.costs[fitting - 1] if fitting else 0

    def steps(self) -> Iterator[int]:
        """Yield the rooms from which on another line fits."""
        return (ceil(cost / self.share) for cost in self.costs)


def _repeats_last(found: Sequence[Found], told: ShownRecords) -> Iterator[Found]:
    """Yield what tells something new when its turn comes, then the rest."""
    repeats: list[Found] = []
    for one in found:
        if told.repeats(one[0]):
            repeats.append(one)
        else:
            yield one
    yield from repeats
