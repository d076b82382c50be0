"""Runs the pass deduction: what must be true if what is known is."""

from collections.abc import Sequence
from typing import ClassVar

from dream.domain.built_in_passes import DEDUCTION
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.passes.answers import read_items
from dream.passes.exchange_state import Item
from dream.passes.inference.inference_pass import InferencePass
from dream.passes.inference.judging import Drawn, InferenceRules, judge_deductions
from dream.passes.inference.prompt import CONCLUSIONS, AnswerShape, DeductionItem

_MOST = 60
"""Conclusions of one answer at most."""


class Deduction(InferencePass, declaration=DEDUCTION):
    """Finds what changed, what follows, and what contradicts itself (`docs/explanation/conclusions.md`)."""

    shape: ClassVar[AnswerShape] = CONCLUSIONS

    def judge(self, answer: Answer, rules: InferenceRules) -> tuple[list[Item[Drawn]], list[Refusal]]:
        """Return the deductions that a reader has to check, and why the rest is not taken."""
        items, unreadable = self._items(answer)
        drawn, refused = judge_deductions(items, rules)
        return drawn, [*unreadable, *refused]

    def texts(self, answer: Answer) -> Sequence[str]:
        """Return what the items of an answer say."""
        return [one.content for one in self._items(answer)[0]]

    def _items(self, answer: Answer) -> tuple[list[DeductionItem], list[Refusal]]:
        return read_items(answer, self.shape.name, DeductionItem, what="conclusions", most=_MOST)
