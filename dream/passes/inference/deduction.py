"""Runs the pass deduction: what must be true if what is known is, and which lines the card needs."""

from collections.abc import Sequence
from typing import ClassVar, Final, cast

from dream.domain.built_in_passes import DEDUCTION
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.passes.answers import answer_form, item_schema, read_items
from dream.passes.exchange_state import Item
from dream.passes.inference.card_edits import CardItem, judge_card_edits
from dream.passes.inference.inference_pass import InferencePass, Inferred
from dream.passes.inference.judging import InferenceRules, judge_deductions
from dream.passes.inference.lookups import SearchItem
from dream.passes.inference.prompt import CARD_CONTRACT, CONCLUSIONS, AnswerShape, DeductionItem
from dream.passes.protocol import ModelContext
from dream.passes.repairs import items_of

_MOST: Final = 60
"""Conclusions of one answer at most."""
_MOST_EDITS: Final = 40
"""Edits of the card of one answer at most."""
_CARD: Final = "card"
_WITH_CARD: Final = AnswerShape(
    name=CONCLUSIONS.name,
    contract=CONCLUSIONS.contract,
    level=CONCLUSIONS.level,
    form=answer_form(
        "deductions",
        search=item_schema(SearchItem),
        conclusions=item_schema(DeductionItem),
        card=item_schema(CardItem),
    ),
    card=CARD_CONTRACT,
)


class Deduction(InferencePass, declaration=DEDUCTION):
    """Finds what changed, what follows, and what contradicts itself (`docs/explanation/conclusions.md`)."""

    shape: ClassVar[AnswerShape] = CONCLUSIONS

    def shape_for(self, context: ModelContext) -> AnswerShape:
        """Return what it reads of an answer: edits of the card too, where there is one."""
        return _WITH_CARD if context.options.inference.card else self.shape

    def judge(self, answer: Answer, rules: InferenceRules) -> tuple[Sequence[Item[Inferred]], Sequence[Refusal]]:
        """Return the deductions and the edits that a reader has to check, and why the rest is not taken."""
        items, unreadable = self._items(answer)
        drawn, refused = judge_deductions(items, rules)
        edits, illegible = self._edits(answer)
        behind = len(items_of(answer, self.shape.name))
        made, unfit = judge_card_edits(edits, rules, behind=behind)
        moved = [one if one.place is None else one.at(behind + one.place) for one in illegible]
        found: Sequence[object] = (*drawn, *made)
        return cast("Sequence[Item[Inferred]]", found), [*unreadable, *refused, *moved, *unfit]

    def texts(self, answer: Answer) -> Sequence[str]:
        """Return what the items of an answer say."""
        told = [one.content for one in self._items(answer)[0]]
        return [*told, *(one.content or "" for one in self._edits(answer)[0])]

    def _items(self, answer: Answer) -> tuple[list[DeductionItem], list[Refusal]]:
        return read_items(answer, self.shape.name, DeductionItem, what="conclusions", most=_MOST)

    def _edits(self, answer: Answer) -> tuple[list[CardItem], list[Refusal]]:
        if answer.get(_CARD) is None:
            return [], []
        return read_items(answer, _CARD, CardItem, what="edits of the card", most=_MOST_EDITS)
