"""Exchanges without a pass or a store, whose statements readers of all sorts read a second time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agentcore.llm import ChatMessage, ChatRequest, ChatRole
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, Round, RoundKind
from dream.domain.step import Batch
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.verdict import Verdict, judge
from dream.options import VerificationMode
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext
from dream.passes.second_reading import VerificationCall, evidence_text
from dream.passes.verified_exchange import ExchangeOutcome, VerifiedExchange
from tests.bench.second_readings import context_of

Reader = Callable[[VerificationCall, ChatRequest], Answer]
SAID_AT = datetime(2025, 6, 1, 9, tzinfo=UTC)


def said(text: str, speaker: str | None = "Ana", *, role: str = "user", after: int = 0, is_beside: bool = False) -> Any:
    at = SAID_AT + timedelta(minutes=after)
    return EvidenceLine(text=text, speaker=speaker, role=role, said_at=at, is_beside=is_beside)


def told(text: str, *evidence: EvidenceLine, whole: bool = False) -> Assertion:
    return Assertion(text=text, evidence=evidence, whole=whole)


@dataclass
class Exchange:
    """An exchange about statements; a repair may give others in their place."""

    asked: Sequence[Assertion]
    repaired: dict[int, Assertion] = field(default_factory=dict[int, Assertion])
    mode: VerificationMode = VerificationMode.VERIFIED
    shown: list[frozenset[str] | None] = field(default_factory=list[frozenset[str] | None])
    context: ModelContext | None = None

    @property
    def verified(self) -> VerifiedExchange[str]:
        return VerifiedExchange(
            context=self.context or context_of(self.mode),
            batch=Batch(number="1", kind="test", members=()),
            name="items",
            question=self._question,
            judge=self._judge,
        )

    @property
    def first(self) -> Round:
        cited = [{"content": one.text, "sources": [f"t{place}"]} for place, one in enumerate(self.asked, 1)]
        return Round({"items": cited}, model="writer")

    async def _question(self, handles: frozenset[str] | None) -> ChatRequest:
        self.shown.append(handles)
        user = ChatMessage(ChatRole.USER, "Say it.")
        return ChatRequest(messages=(user,), max_output_tokens=100, purpose="test")

    async def _judge(self, answer: Answer) -> tuple[list[Item[str]], list[Refusal]]:
        by_text = {one.text: one for one in (*self.asked, *self.repaired.values())}
        items = [by_text[one["content"]] for one in answer["items"]]
        return [self._item(number, one) for number, one in enumerate(items, 1)], []

    def _item(self, number: int, one: Assertion) -> Item[str]:
        found = judge(one.text, [evidence_text(line) for line in one.evidence], whole=one.whole)
        is_refuted = found.verdict is Verdict.REFUTED
        refusal = Refusal(Refused.INVENTED_DETAIL, str(found.details), number) if is_refuted else None
        return Item(number=number, value=one.text, verdict=found.verdict, assertion=one, refusal=refusal)

    def refuted(self) -> list[str]:
        """Return the statements that words refute."""
        return [one.text for one in self.asked if self._item(1, one).verdict is Verdict.REFUTED]

    def repair(self) -> Answer:
        given = [
            {"item": number, "content": one.text, "sources": [f"t{number}"]} for number, one in self.repaired.items()
        ]
        return {"items": given}

    async def lived(self, reader: Reader, rounds: Sequence[Round] = ()) -> tuple[ExchangeOutcome[str], list[Round]]:
        """Ask until the exchange is over, and return what came of it and its rounds."""
        all_rounds = [*(rounds or [self.first])]
        while (asked := await self.verified.next_round(all_rounds)) is not None:
            if asked.kind is RoundKind.VERIFICATION:
                call = await self.verified.next_call(all_rounds)
                assert call is not None
                all_rounds.append(Round(reader(call, asked.request), asked.asked, "reader"))
            else:
                all_rounds.append(Round(self.repair(), asked.asked, "writer"))
        return await self.verified.outcome(all_rounds), all_rounds


def item(handle: str, reading: str, *quotes: str, left_out: Sequence[str] = ()) -> dict[str, Any]:
    return {"id": handle, "reading": reading, "quotes": list(quotes), "leftOut": list(left_out)}


def sentences(one: Assertion) -> list[str]:
    return [line.text for line in one.evidence if line.proves]


def careful(*denied: str, left_out: Sequence[str] = ()) -> Reader:
    """A reader that passes all checks, and denies the statements named."""

    def answer(call: VerificationCall, request: ChatRequest) -> Answer:
        del request
        return {
            "readings": [
                item(handle, "not_said", left_out=left_out)
                if one in call.canaries or one.text in denied
                else item(handle, "says", *sentences(one))
                for handle, one in call.handled
            ]
        }

    return answer


def changed(reader: Reader, change: Callable[[dict[str, Any], Assertion], dict[str, Any] | None]) -> Reader:
    """A reader whose readings of what it is asked, the checks aside, are changed, or left out."""

    def answer(call: VerificationCall, request: ChatRequest) -> Answer:
        known = dict(call.handled)
        mine = {one for _, one in call.statements}
        given = [
            change(one, known[one["id"]]) if known[one["id"]] in mine else one
            for one in reader(call, request)["readings"]
        ]
        return {"readings": [one for one in given if one is not None]}

    return answer


__all__ = ["SAID_AT", "Exchange", "Reader", "careful", "changed", "item", "replace", "said", "sentences", "told"]
