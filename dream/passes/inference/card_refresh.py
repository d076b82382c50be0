"""Runs the pass card-refresh, which runs on request alone: looks at the whole card again, or writes it anew."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, cast

from agentcore.domain.card import CardLine
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import CARD_REFRESH
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Proposal, Refusal, Work
from dream.domain.rounds import Answer, Round
from dream.domain.step import Batch, Packing
from dream.guards import is_under
from dream.guards.card_guard import not_stated
from dream.options import VerificationMode
from dream.passes.answers import answer_form, item_schema, read_items
from dream.passes.exchange_state import Item
from dream.passes.inference.card_edits import CARD_ADD, CARD_REMOVE, CardItem, judge_card_edits
from dream.passes.inference.inference_pass import InferencePass, Inferred
from dream.passes.inference.judging import InferenceRules
from dream.passes.inference.prompt import CARD_CONTRACT, AnswerShape, card_line_tokens, line_tokens
from dream.passes.protocol import ModelContext

_CARD: Final = "card"
_MOST_EDITS: Final = 80
"""Edits of one answer at most: each line of a full card may go, and another come."""
_LOOKED_THROUGH: Final = 500
"""Entries of which those are shown that a prompt has room for."""
_CONTRACT: Final = """\
Answer with {{"card": [...]}}. Another reader, who sees the premises alone, checks each edit.{search:.0}"""
_NOT_SAID_AGAIN: Final = "not said again when the card was written anew"


class CardRefresh(InferencePass, declaration=CARD_REFRESH):
    """Has a model look at the card as a whole beside what was said, in one question.

    With the option `card_rebuild` it is not shown the card: what it does not write again goes, a person's lines aside.
    """

    shape: ClassVar[AnswerShape] = AnswerShape(
        name=_CARD,
        contract=_CONTRACT,
        form=answer_form("card_refresh", card=item_schema(CardItem)),
        level=Level.EXPLICIT,
        card=CARD_CONTRACT,
    )

    async def has_work(self, context: ModelContext) -> Work:
        """Tell whether anything was said that a line may rest on."""
        if not context.options.inference.card or context.options.verification is VerificationMode.OFF:
            return Work(0, reports=context.options.inference.card)
        return Work(len(await context.read(lambda view: _stated(view, context))))

    async def pack(self, context: ModelContext) -> Packing:
        """Show the entries seen last that a prompt has room for, and the card, unless it is written anew."""
        if context.options.verification is VerificationMode.OFF:
            return await super().pack(context)
        entries = await context.read(lambda view: _stated(view, context))
        card = [] if _is_rebuilt(context) else await context.read(lambda view: view.card.lines())
        room = context.options.model.prompt_tokens - self.shape.overhead - sum(map(card_line_tokens, card))
        members: list[tuple[str, int]] = []
        for entry in entries:
            room -= line_tokens(entry)
            if room < 0 and members:
                break
            members.append((entry.id, entry.version))
        beside = tuple((line.id, line.version) for line in card)
        batches = (Batch(number="1", kind="card", members=tuple(members), beside=beside),) if members else ()
        return Packing(batches=batches, backlog=len(entries) - len(members))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Make the edits that hold; of a card that is written anew take off what was not written again."""
        proposal = await super().interpret(context, batch, rounds)
        if not _is_rebuilt(context) or proposal.waits is not None:
            return proposal
        card = await context.read(lambda view: view.card.lines())
        return _rebuilt(proposal, card, context)

    def judge(self, answer: Answer, rules: InferenceRules) -> tuple[Sequence[Item[Inferred]], Sequence[Refusal]]:
        """Return the edits that a reader has to check, and why the rest is not taken."""
        if not rules.shown.card:
            # What it was not shown, it may say again.
            rules = replace(rules, card=tuple(line for line in rules.card or () if line.pinned))
        items, unreadable = self._items(answer)
        made, refused = judge_card_edits(items, rules, behind=0)
        return cast("Sequence[Item[Inferred]]", made), [*unreadable, *refused]

    def texts(self, answer: Answer) -> Sequence[str]:
        """Return what the edits of an answer say."""
        return [one.content or "" for one in self._items(answer)[0]]

    def _items(self, answer: Answer) -> tuple[list[CardItem], list[Refusal]]:
        return read_items(answer, _CARD, CardItem, what="edits of the card", most=_MOST_EDITS)


def _is_rebuilt(context: ModelContext) -> bool:
    return context.options.inference.card_rebuild


def _stated(view: ReadView, context: ModelContext) -> list[MemoryEntry]:
    """Return what a line may rest on, the one seen last first."""
    found = view.entries.select(EntryFilter(), limit=_LOOKED_THROUGH)
    apart = context.options.protected_categories
    return [one for one in found if not_stated(one, None) is None and not is_under(one.category, apart)]


def _rebuilt(proposal: Proposal, card: Sequence[CardLine], context: ModelContext) -> Proposal:
    """Return a proposal that writes a card anew: lines that are said again stay, the others go first."""
    said = {_said(line): one for one in proposal.change_sets for line in _new_lines(one)}
    waiting = {_said(line) for one in proposal.for_review for line in _new_lines(one)}
    if not said and not waiting:
        return proposal
    standing = {_said(line) for line in card}
    gone = [line for line in card if not line.pinned and _said(line) not in {*said, *waiting}]
    removed = tuple(_removal(line, context) for line in gone)
    added = tuple(one for text, one in said.items() if text not in standing)
    kept = tuple(one for one in proposal.for_review if not {_said(line) for line in _new_lines(one)} & standing)
    if waiting:
        return replace(proposal, change_sets=added, for_review=(*removed, *kept))
    return replace(proposal, change_sets=(*removed, *added), for_review=kept)


def _said(line: CardLine) -> tuple[str, str]:
    return line.section.value, fold_key(line.content)


def _new_lines(change_set: ChangeSet) -> list[CardLine]:
    if change_set.operation != CARD_ADD:
        return []
    return [one.after for one in change_set.changes if isinstance(one.after, CardLine)]


def _removal(line: CardLine, context: ModelContext) -> ChangeSet:
    gone = replace(line, status=Status.ARCHIVED, status_reason=_NOT_SAID_AGAIN, status_at=context.as_of)
    change = Change[CardLine](before=line, after=gone, reason=_NOT_SAID_AGAIN)
    marks = {line.id: fingerprint(CARD_REMOVE, line)}
    return ChangeSet(operation=CARD_REMOVE, changes=(change,), fingerprints=marks)
