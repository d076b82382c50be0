"""Runs the pass induction: what keeps coming back in what is known."""

from collections.abc import Sequence
from typing import ClassVar, cast

from dream.domain.built_in_passes import INDUCTION
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.passes.answers import read_items
from dream.passes.exchange_state import Item
from dream.passes.inference.inference_pass import InferencePass, Inferred
from dream.passes.inference.judging import InferenceRules, judge_patterns
from dream.passes.inference.prompt import PATTERNS, AnswerShape, PatternItem

_MOST = 60
"""Patterns of one answer at most."""


class Induction(InferencePass, declaration=INDUCTION):
    """Finds patterns over several occasions; the host counts how sure they are (`docs/explanation/conclusions.md`)."""

    shape: ClassVar[AnswerShape] = PATTERNS

    def judge(self, answer: Answer, rules: InferenceRules) -> tuple[Sequence[Item[Inferred]], Sequence[Refusal]]:
        """Return the patterns that a reader has to check, and why the rest is not taken."""
        items, unreadable = self._items(answer)
        drawn, refused = judge_patterns(items, rules)
        return cast("Sequence[Item[Inferred]]", drawn), [*unreadable, *refused]

    def texts(self, answer: Answer) -> Sequence[str]:
        """Return what the items of an answer say."""
        return [one.content or "" for one in self._items(answer)[0]]

    def _items(self, answer: Answer) -> tuple[list[PatternItem], list[Refusal]]:
        return read_items(answer, self.shape.name, PatternItem, what="patterns", most=_MOST)
