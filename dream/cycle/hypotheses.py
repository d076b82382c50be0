"""Hypotheses: what dreams guessed, and what people decide about it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentcore.domain.claim import Claim
from agentcore.domain.conclusion import Premise
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.hypothesis import (
    FEEDBACK_LABEL,
    LONGEST_FEEDBACK,
    Hypothesis,
    HypothesisDecision,
    HypothesisSource,
    HypothesisSourceKind,
    HypothesisState,
    LoggedDecision,
    hypothesis_id,
)
from agentcore.domain.memory import MemoryEntry, Trust, own_words
from agentcore.domain.predicates import read_rules
from agentcore.domain.text import clean_content, fold_key
from agentcore.errors import InvalidContentError, InvalidOptionsError, SecretError, UnknownRecordError
from agentcore.hosting.checks import clean_text
from agentcore.recall.results import RelatedHypothesis
from agentcore.secrets import secret_in
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.cycle.desk import Desk
from dream.cycle.own_words import says_nothing_of_its_own
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.domain.guessing_passes import HYPOTHESES, RE_EVALUATE, REFLECT
from dream.domain.report import RunReport
from dream.errors import LostSourceError
from dream.guards.claim_words import FoundClaim, claims_in
from dream.options import DreamOptions, PassMode
from dream.passes.claim_changes import PromotionStep, as_new, by_words, promoted

if TYPE_CHECKING:
    from dream.cycle.dreams import Dreams

T = TypeVar("T")

PROPOSE: Final = "propose_hypothesis"
RESOLVE: Final = "resolve_hypothesis"
CATEGORY: Final = "feedback/dreams"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What came of a decision.

    Args:
        hypothesis: As it is now.
        report: The run that wrote it; its id is empty if nothing changed.
        fragment: The entry with the words that confirmed it.
        claims: What the gates said of each claim that these words make.
    """

    hypothesis: Hypothesis
    report: RunReport
    fragment: MemoryEntry | None = None
    claims: tuple[PromotionStep, ...] = ()

    @property
    def is_unchanged(self) -> bool:
        """Whether it was decided so before."""
        return not self.report.run_id


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The hypotheses of one scope; lives as long as the host.

    They are no memory: recall names them beside its results at most, and none is evidence for anything. Each decision
    is a run of its own, which `undo` takes back.

    Args:
        desk: What a person does to the memory.
        dreams_with: Returns the dreams of the scope under other options.
    """

    desk: Desk
    dreams_with: Callable[[DreamOptions], "Dreams"]

    async def list(
        self, *, states: Collection[HypothesisState] = frozenset(HypothesisState), limit: int | None = None
    ) -> list[Hypothesis]:
        """Return hypotheses in these states, the latest first."""
        found = await self._read(lambda view: view.hypotheses.in_states(states))
        return [*found[::-1]][:limit]

    async def get(self, hypothesis: str) -> Hypothesis:
        """Return a hypothesis by its id, or the beginning of it.

        Raises:
            UnknownRecordError: there is no such hypothesis, or several.
        """
        return await self._read(lambda view: hypothesis_named(view, hypothesis))

    async def related(self, query: str, entry_ids: Sequence[str], *, limit: int = 3) -> Sequence[RelatedHypothesis]:
        """Return hypotheses that have to do with a query or with what answers it, best first; unproven, no memory.

        Args:
            query: What is asked.
            entry_ids: The entries that answer it.
            limit: How many at most; never more than 20.
        """
        return await self.desk.parts.recall.hypotheses.beside(self.desk.scope, query, entry_ids, limit=limit)

    async def run(
        self,
        *,
        reflect: bool | None = None,
        re_evaluate: bool | None = None,
        hypotheses: bool | None = None,
        max_outputs: int | None = None,
        on_begin: Callable[[UnitOfWork, str], None] | None = None,
    ) -> RunReport:
        """Run the three passes around hypotheses now, whatever the preset says of them, and no other.

        Args:
            reflect: Whether memory health is counted; unless said here, it is, if the options do not name it as off.
            re_evaluate: Whether hypotheses are held against their sources; likewise.
            hypotheses: Whether new ones are proposed; likewise.
            max_outputs: How many at most, 1 to 50; as the options say by default.
            on_begin: Called in the transaction that opens the run, with its id.

        Raises:
            InvalidOptionsError: *max_outputs* is not from 1 to 50, or no pass is left.
        """
        options = self.desk.options
        wanted = {REFLECT.name: reflect, RE_EVALUATE.name: re_evaluate, HYPOTHESES.name: hypotheses}
        off = {name for name, mode in options.modes.items() if mode is PassMode.OFF}
        names = [name for name, is_on in wanted.items() if (name not in off if is_on is None else is_on)]
        if not names:
            raise InvalidOptionsError(field="phases", value="none", allowed="leave one of the three switched on")
        own = options.hypotheses if max_outputs is None else options.hypotheses.replace(max_outputs=max_outputs)
        modes = {**options.modes, **dict.fromkeys(names, PassMode.APPLY)}
        options = options.replace(modes=modes, hypotheses=own, max_outputs=None)
        return await self.dreams_with(options).run(passes=names, on_begin=on_begin)

    async def propose(
        self,
        hypothesis: str,
        *,
        what_if: str,
        sources: Sequence[str],
        possible_outcome: str = "",
        rationale: str = "",
        question: str = "",
        likelihood: float = 0.5,
        confidence: float = 0.5,
    ) -> Hypothesis:
        """Propose one by hand; the same about the same sources is proposed once.

        Args:
            hypothesis: What might be true.
            what_if: The question that it asks.
            sources: Two records or more: `entry:ID`, `turn:ID`, `claim:ID` or `hypothesis:ID`.
            possible_outcome: What would change.
            rationale: Why you propose it.
            question: What to ask somebody to settle it; *what_if* by default.
            likelihood: Your rank of it, 0 to 1.
            confidence: How well founded that is, 0 to 1.

        Raises:
            InvalidContentError: a text is blank or too long, a rank is not from 0 to 1, or there are too few sources.
            UnknownRecordError: a source is not there.
        """
        refs = tuple(map(_source, sources))
        told: dict[str, Any] = {
            "hypothesis": clean_content(hypothesis),
            "what_if": clean_content(what_if),
            "possible_outcome": possible_outcome,
            "rationale": rationale or "somebody proposed it by hand",
            "question": question or what_if,
            "likelihood": likelihood,
            "confidence": confidence,
        }
        made: list[Hypothesis] = []

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            new = _new(unit, refs, decision, self.desk.options.hypotheses.kept_for, told)
            known = unit.hypotheses.get_many([new.id])
            made.append(known[0] if known else new)
            if known:
                return None
            change = Change(before=None, after=new, reason=decision.told("proposed"))
            return ChangeSet(operation=PROPOSE, changes=(change,), fingerprints={new.id: new.id})

        await self.desk.record(PROPOSE, decide, why=None, target="hypothesis")
        return made[0]

    async def resolve(
        self,
        hypothesis: str,
        decision: str,
        *,
        feedback: str | None = None,
        claim: tuple[str, str, str] | None = None,
    ) -> Resolution:
        """Decide about a hypothesis; a decision that stands already changes nothing.

        `promote_candidate` stores the feedback as an entry of its own. What it claims is held against its words and
        passes its gates in the same transaction, as far as that needs no model; the text of the hypothesis is no
        evidence for it.

        Args:
            hypothesis: Its id, or the beginning of it.
            decision: `reinforce`, `stale`, `reject` or `promote_candidate`.
            feedback: Why, in the person's words; at most 1,024 characters. `promote_candidate` needs them.
            claim: Subject, predicate and object that the feedback says; found by the words of predicates without it.

        Raises:
            UnknownRecordError: there is no such hypothesis, or several.
            InvalidContentError: the decision is none, the feedback is missing, blank, too long or the hypothesis's own.
            ForbiddenTransitionError: it was decided otherwise before.
            LostSourceError: one of its sources is not what it was, so it cannot be kept or promoted.
        """
        chosen = _decision(decision)
        words = _feedback(feedback, chosen)
        wanted = (await self.get(hypothesis)).id
        made: list[Resolution] = []
        ids = [self.desk.parts.ids.new() for _ in range(_IDS)]

        def decide(unit: UnitOfWork, by: DeskDecision) -> ChangeSet | None:
            before = hypothesis_named(unit, wanted)
            logged = LoggedDecision(decision=chosen, by=by.by, at=by.at, feedback=words)
            after = before.decided(logged, reason=f"{_TOLD[chosen]} by {by.by}")
            if after is None:
                made.append(Resolution(hypothesis=before, report=_NOTHING, fragment=_stored(unit, before)))
                return None
            if chosen in _NEEDS_SOURCES and (lost := unit.hypotheses.lost_sources([before])):
                raise LostSourceError(hypothesis_id=before.id, why=lost[before.id])
            changes: list[Change[Any]] = []
            fragment: MemoryEntry | None = None
            steps: Sequence[PromotionStep] = ()
            if chosen is HypothesisDecision.PROMOTE_CANDIDATE:
                fragment = _fragment(before, words, by, ids[0])
                after = replace(after, fragment=fragment.id)
                changes.append(
                    Change(before=None, after=fragment, reason=by.told("fragment of a confirmed hypothesis"))
                )
                steps = self._gated(unit, fragment, claim, by, ids[1:])
                changes += [change for step in steps for change in step.changes]
            changes.insert(0, Change(before=before, after=after, reason=by.told(_TOLD[chosen])))
            made.append(Resolution(hypothesis=after, report=_NOTHING, fragment=fragment, claims=tuple(steps)))
            return ChangeSet(operation=RESOLVE, changes=tuple(changes), fingerprints={before.id: before.id})

        report = await self.desk.record(RESOLVE, decide, why=None, target=wanted)
        return replace(made[-1], report=report)

    def _gated(
        self,
        unit: UnitOfWork,
        fragment: MemoryEntry,
        claim: tuple[str, str, str] | None,
        decision: DeskDecision,
        ids: Sequence[str],
    ) -> Sequence[PromotionStep]:
        """Take claims from the words of a fragment, hold each against them, and let it pass its gate."""
        rules = read_rules(self.desk.options.claims.rules)
        found = list(claims_in(fragment.content, rules))
        if claim is not None:
            found = [FoundClaim(claim[0], claim[1], claim[2], fragment.content)]
        steps: list[PromotionStep] = []
        met: set[tuple[str, str]] = set()
        for place, one in enumerate(found[:_MOST_CLAIMS]):
            new = Claim(
                id=ids[2 * place],
                scope=self.desk.scope,
                subject=one.subject,
                predicate=one.predicate.strip().casefold(),
                object=one.object,
                quote=one.quote,
                sources=(SourceRef(SourceKind.ENTRY, fragment.id),),
                asserted_at=decision.at,
                asserted_by=decision.by,
                trust=fragment.trust,
            )
            if new.key in met:  # its gate would have to know what the first of them changes
                continue
            met.add(new.key)
            held = by_words(unit, new, rules, decision, beside=[fragment])
            step = promoted(unit, held, rules, decision, ids[2 * place + 1], beside=[fragment])
            steps.append(as_new(step, held, decision))
        return steps

    async def _read(self, work: Callable[[ReadView], T]) -> T:
        return await self.desk.parts.storage.read(self.desk.scope, work)


_MOST_CLAIMS: Final = 5
_IDS: Final = 1 + 2 * _MOST_CLAIMS
_TOLD: Final = {
    HypothesisDecision.REINFORCE: "reinforced",
    HypothesisDecision.STALE: "set aside",
    HypothesisDecision.REJECT: "rejected",
    HypothesisDecision.PROMOTE_CANDIDATE: "confirmed",
}
_NEEDS_SOURCES: Final = frozenset({HypothesisDecision.REINFORCE, HypothesisDecision.PROMOTE_CANDIDATE})
_NOTHING: Any = None


def hypothesis_named(view: ReadView, prefix: str) -> Hypothesis:
    """Return the hypothesis with an id that begins so; UnknownRecordError if none or several do."""
    found = view.hypotheses.beginning_with(prefix) if prefix else []
    exact = [one for one in found if one.id == prefix]
    if len(exact or found) != 1:
        raise UnknownRecordError(kind="hypothesis", value=prefix, matches=len(found))
    return (exact or found)[0]


def _decision(text: str) -> HypothesisDecision:
    if text not in set(HypothesisDecision):
        raise InvalidContentError(field="decision", problem=f"choose one of {', '.join(HypothesisDecision)}")
    return HypothesisDecision(text)


def _feedback(text: str | None, decision: HypothesisDecision) -> str:
    if text is None:
        if decision is HypothesisDecision.PROMOTE_CANDIDATE:
            problem = "promote_candidate stores it as evidence; give what the person said"
            raise InvalidContentError(field="feedback", problem=problem)
        return ""
    if len(text) > LONGEST_FEEDBACK:
        problem = f"it has {len(text):,} characters; give at most {LONGEST_FEEDBACK:,}"
        raise InvalidContentError(field="feedback", problem=problem)
    kind = secret_in(text) if decision is HypothesisDecision.PROMOTE_CANDIDATE else None
    if kind is not None:
        raise SecretError(kind=kind)
    return clean_text("feedback", text)


def _source(text: str) -> HypothesisSource:
    kind, _, record_id = text.partition(":")
    if kind in {"community", "communities"}:
        raise InvalidContentError(field="source", problem="there are no communities here; name entries or claims")
    if kind not in set(HypothesisSourceKind) or not record_id:
        raise InvalidContentError(field="source", problem="write entry:ID, turn:ID, claim:ID or hypothesis:ID")
    return HypothesisSource(HypothesisSourceKind(kind), record_id)


def _new(
    view: ReadView,
    refs: tuple[HypothesisSource, ...],
    decision: DeskDecision,
    kept_for: timedelta,
    told: Mapping[str, Any],
) -> Hypothesis:
    keys, premises, trust = _founded(view, refs)
    return Hypothesis(
        id=hypothesis_id(keys),
        scope=view.scope,
        source_refs=refs,
        created_at=decision.at,
        created_by=decision.by,
        expires_at=decision.at + kept_for,
        premises=premises,
        trust=trust,
        state_at=decision.at,
        **told,
    )


def _founded(
    view: ReadView, refs: Sequence[HypothesisSource]
) -> tuple[list[tuple[HypothesisSource, str]], tuple[Premise, ...], Trust]:
    """Return the keys of the texts of sources, the entries among them as they are, and the least trust."""
    keys: list[tuple[HypothesisSource, str]] = []
    premises: list[Premise] = []
    trusts: list[Trust] = []
    for ref in refs:
        found: Any
        match ref.kind:
            case HypothesisSourceKind.ENTRY:
                found = [one for one in view.entries.get_many([ref.id]) if one.is_active]
                text = found[0].content if found else ""
                premises += [Premise(one.id, fold_key(one.content), one.created_at) for one in found]
            case HypothesisSourceKind.TURN:
                found = view.learnable.turns.get_many([ref.id])
                text = found[0].content if found else ""
            case HypothesisSourceKind.CLAIM:
                found = view.claims.get_many([ref.id])
                text = str(found[0]) if found else ""
            case HypothesisSourceKind.HYPOTHESIS:
                found = view.hypotheses.get_many([ref.id])
                text = found[0].hypothesis if found else ""
        if not found:
            raise UnknownRecordError(kind=ref.kind.value, value=ref.id)
        keys.append((ref, fold_key(text)))
        trusts.append(found[0].trust)
    return keys, tuple(sorted(premises)), min(trusts, default=Trust.STATED)


def _fragment(hypothesis: Hypothesis, words: str, decision: DeskDecision, new_id: str) -> MemoryEntry:
    if says_nothing_of_its_own(words, hypothesis):
        problem = "it is the hypothesis's own text, which is no evidence for it; give what the person said"
        raise InvalidContentError(field="feedback", problem=problem)
    made = MemoryEntry(
        id=new_id,
        scope=hypothesis.scope,
        content=words,
        category=CATEGORY,
        tags=(FEEDBACK_LABEL,),
        created_at=decision.at,
        recorded_at=decision.at,
        last_seen_at=decision.at,
        metadata={"source": f"{FEEDBACK_LABEL}:{hypothesis.id}", "idempotency_key": f"dream-feedback:{hypothesis.id}"},
    )
    return replace(made, evidence=(own_words(made, decision.at, decision.by),))


def _stored(view: ReadView, hypothesis: Hypothesis) -> MemoryEntry | None:
    return None if hypothesis.fragment is None else view.entries.get(hypothesis.fragment)
