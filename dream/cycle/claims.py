"""Claims: what people and hosts take from what was said, and how it becomes a fact."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from agentcore.domain.claim import Claim, ClaimState, Entailment
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import Trust
from agentcore.domain.predicates import read_rules
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_content, normalise
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.cycle.desk import Desk
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.domain.report import RunReport
from dream.passes.claim_changes import PromotionStep, by_words, promoted, texts_of, verified

ASSERT: Final = "claim_assert"
VERIFY: Final = "claim_verify"
PROMOTE: Final = "claim_promote"

ClaimVerifier = Callable[[Claim, list[str]], Awaitable[Entailment]]
"""Given a claim and what its sources say, returns what they say of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateAnswer:
    """What the gate said of a claim, and the run that wrote it.

    Args:
        report: The run; its id is empty if nothing changed.
        step: What the gate made of the claim.
    """

    report: RunReport
    step: PromotionStep


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one scope; lives as long as the host.

    Each call that changes something is a run of its own, which `undo` takes back.

    Args:
        desk: What a person does to the memory.

    Example:
        >>> import asyncio
        >>> from agentcore import AgentHostBuilder
        >>> async def main() -> None:
        ...     async with AgentHostBuilder(None).with_memory().with_dreaming().build() as host:
        ...         said = await host.memory.remember("Ana works at Acme.")
        ...         claim = await host.claims.assert_("Ana", "works_at", "Acme", source=f"entry:{said.id}")
        ...         await host.claims.verify(claim.id)
        ...         print((await host.claims.promote(claim.id)).step.verdict.outcome.value)
        >>> asyncio.run(main())
        promoted
    """

    desk: Desk

    async def list(self, *, states: Collection[ClaimState] = frozenset(ClaimState)) -> list[Claim]:
        """Return the claims in these states, the oldest first."""
        return await self.desk.parts.storage.read(self.desk.scope, lambda view: view.claims.in_states(states))

    async def get(self, claim: str) -> Claim:
        """Return a claim by its id, or the beginning of it.

        Raises:
            UnknownRecordError: there is no such claim, or several.
        """
        return await self.desk.parts.storage.read(self.desk.scope, lambda view: claim_named(view, claim))

    async def assert_(
        self,
        subject: str,
        predicate: str,
        object_: str,
        *,
        source: str,
        quote: str | None = None,
        negated: bool = False,
        when: str | None = None,
        confidence: float = 0.9,
    ) -> Claim:
        """Take a claim from an entry or a turn; it is a candidate until it is verified.

        Args:
            subject: What it is about.
            predicate: What is said of it, such as `works_at`.
            object_: What that is.
            source: Where it is said: `entry:ID` or `turn:ID`.
            quote: The words that say it; the whole source by default.
            negated: Whether it is said not to be so.
            when: When it is so, as a subject time.
            confidence: How sure you are of its parts, 0 to 1.

        Raises:
            InvalidInputError: a part cannot be stored, the source is none, or does not hold the quote.
        """
        ref = _source(source)
        told: dict[str, Any] = {
            "subject": " ".join(subject.split()),
            "predicate": predicate.strip().casefold(),
            "object": " ".join(object_.split()),
            "negated": negated,
            "subject_time": None if when is None else SubjectTime.parse(when),
            "confidence": confidence,
        }
        new_id, made = self.desk.parts.ids.new(), list[Claim]()

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet:
            words, trust = _quoted(unit, ref, quote)
            claim = Claim(
                id=new_id,
                scope=self.desk.scope,
                quote=words,
                sources=(ref,),
                asserted_at=decision.at,
                asserted_by=decision.by,
                trust=trust,
                **told,
            )
            made.append(claim)
            return ChangeSet(operation=ASSERT, changes=(Change(before=None, after=claim, reason="asserted"),))

        await self.desk.record(ASSERT, decide, why=None, target=new_id)
        return made[0]

    async def verify(self, claim: str, *, by: ClaimVerifier | None = None, name: str = "host") -> Claim:
        """Hold a claim against its words: entailed validates it, contradicted disputes it, else it stays as it is.

        Args:
            claim: Its id, or the beginning of it.
            by: Who reads the words; words alone decide without one. What it raises is raised, and changes nothing.
            name: Who that is.

        Raises:
            UnknownRecordError: there is no such claim, or several.
        """
        before, texts = await self.desk.parts.storage.read(self.desk.scope, lambda view: _with_texts(view, claim))
        entailment = None if by is None else Entailment(await by(before, texts))
        made = [before]

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            stored = claim_named(unit, before.id)
            if entailment is None:
                after = by_words(unit, stored, read_rules(self.desk.options.claims.rules), decision)
            else:
                after = verified(stored, entailment, name, decision)
            made[0] = after
            if after == stored:
                return None
            change = Change(before=stored, after=after, reason=decision.told(f"verified by {after.verified_by}"))
            return ChangeSet(operation=VERIFY, changes=(change,))

        await self.desk.record(VERIFY, decide, why=None, target=before.id)
        return made[0]

    async def promote(self, claim: str, *, why: str | None = None) -> GateAnswer:
        """Let a claim pass its gate, in one transaction: it becomes a fact, replaces one, is refused, or asks.

        Args:
            claim: Its id, or the beginning of it.
            why: The reason, for people.

        Raises:
            UnknownRecordError: there is no such claim, or several.
        """
        wanted = (await self.get(claim)).id
        new_id, steps = self.desk.parts.ids.new(), list[PromotionStep]()

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            rules = read_rules(self.desk.options.claims.rules)
            step = promoted(unit, claim_named(unit, wanted), rules, decision, new_id)
            steps.append(step)
            return ChangeSet(operation=PROMOTE, changes=step.changes) if step.changes else None

        report = await self.desk.record(PROMOTE, decide, why=why, target=wanted)
        return GateAnswer(report=report, step=steps[-1])

    async def reject(self, claim: str, *, why: str | None = None) -> RunReport:
        """Refuse a claim that is no fact yet.

        Args:
            claim: Its id, or the beginning of it.
            why: The reason, for people.

        Raises:
            UnknownRecordError: there is no such claim, or several.
            ForbiddenTransitionError: it is a fact, or was decided before.
        """

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet:
            before = claim_named(unit, claim)
            after = before.moved(ClaimState.REJECTED, reason=decision.told("rejected"), at=decision.at)
            change = Change(before=before, after=after, reason=decision.told("rejected"))
            return ChangeSet(operation="claim_reject", changes=(change,))

        return await self.desk.record("claim_reject", decide, why=why, target=claim[:64])


def claim_named(view: ReadView, prefix: str) -> Claim:
    """Return the claim with an id that begins so; UnknownRecordError if none or several do."""
    found = view.claims.beginning_with(prefix) if prefix else []
    exact = [one for one in found if one.id == prefix]
    if len(exact or found) != 1:
        raise UnknownRecordError(kind="claim", value=prefix, matches=len(found))
    return (exact or found)[0]


def _with_texts(view: ReadView, prefix: str) -> tuple[Claim, list[str]]:
    claim = claim_named(view, prefix)
    return claim, texts_of(view, claim)


def _source(text: str) -> SourceRef:
    kind, _, record_id = text.partition(":")
    if kind not in {SourceKind.ENTRY, SourceKind.TURN} or not record_id:
        raise InvalidContentError(field="source", problem="write entry:ID or turn:ID")
    return SourceRef(SourceKind(kind), record_id)


def _quoted(view: ReadView, ref: SourceRef, quote: str | None) -> tuple[str, Trust]:
    text, trust = _said(view, ref)
    words = text if quote is None else clean_content(quote)
    if normalise(words).rstrip(".") not in normalise(text):
        raise InvalidContentError(field="quote", problem=f"it does not stand in {ref}; copy it from there")
    return words, trust


def _said(view: ReadView, ref: SourceRef) -> tuple[str, Trust]:
    if ref.kind is SourceKind.ENTRY:
        entry = view.entries.get(ref.id)
        if entry is not None and entry.is_active:
            return entry.content, entry.trust
    else:
        turns = view.learnable.turns.get_many([ref.id])
        if turns:
            return turns[0].content, turns[0].trust
    raise UnknownRecordError(kind=ref.kind.value, value=ref.id)
