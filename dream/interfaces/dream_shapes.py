"""Shapes hypotheses and runs as Dense-Mem's documents name them, for all doors."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.claim import ClaimState
from agentcore.domain.hypothesis import Hypothesis, HypothesisSource, HypothesisSourceKind, WeighedEntry, level_of
from agentcore.domain.temporal import to_text
from agentcore.recall.results import RelatedHypothesis
from agentcore.stores.storage import ReadView, Storage
from dream.domain.guessing_passes import HYPOTHESES, RE_EVALUATE, REFLECT
from dream.domain.report import Outcome, PassOutcome, RunKind, RunReport
from dream.stores import dream_stores

if TYPE_CHECKING:
    from agentcore.hosting.scoped_host import ScopedHost
    from dream.cycle.dreams import Dreams
    from dream.cycle.hypotheses import Resolution

_TYPES = {
    HypothesisSourceKind.ENTRY: "fragment",
    HypothesisSourceKind.TURN: "fragment",
    HypothesisSourceKind.CLAIM: "claim",
    HypothesisSourceKind.HYPOTHESIS: "dream",
}
_STATUSES = {Outcome.FAILED: "error", Outcome.DEFERRED: "skipped"}
_PAGE: Final = 100
"""Runs read at once in search of dreams."""


async def dreams_json(storage: Storage, found: Sequence[Hypothesis]) -> list[dict[str, Any]]:
    """Return hypotheses of one scope, each with the run that proposed it, and which of its sources are facts."""
    if not found:
        return []

    def read(view: ReadView) -> tuple[set[str | None], dict[str, str]]:
        facts = {one.fact for one in view.claims.in_states({ClaimState.PROMOTED})}
        return facts, dream_stores(view).journal.made_in([one.id for one in found])

    facts, runs = await storage.read(found[0].scope, read)
    return [_dream_json(one, facts, runs.get(one.id)) for one in found]


def _dream_json(one: Hypothesis, facts: Collection[str | None], run_id: str | None) -> dict[str, Any]:
    return {
        "dream_id": one.id,
        "team_id": one.scope.workspace,
        "hypothesis": one.hypothesis,
        "what_if": one.what_if,
        "possible_outcome": one.possible_outcome,
        "rationale": one.rationale,
        "question": one.question,
        "likelihood": one.likelihood,
        "likelihood_level": level_of(one.likelihood).value,
        "confidence": one.confidence,
        "confidence_level": level_of(one.confidence).value,
        "factors": {factor.name: factor.value for factor in one.factors},
        "support": one.support,
        "weighed": [_weighed_json(piece) for piece in one.weighed],
        "status": one.state.value,
        "invalidated_reason": one.state_reason if one.state.value == "stale" else None,
        "cycle": "dream",
        "cycle_run_id": run_id,
        "generator_model": one.generator,
        "content_hash": one.content_hash,
        "source_refs": [{"type": _type(ref, facts), "id": ref.id} for ref in one.source_refs],
        "created_at": to_text(one.created_at),
        "updated_at": to_text(one.state_at or one.created_at),
        "last_evaluated_at": None if one.evaluated_at is None else to_text(one.evaluated_at),
        "expires_at": to_text(one.expires_at),
    }


def _weighed_json(piece: WeighedEntry) -> dict[str, Any]:
    return {"id": piece.entry_id, "bearing": piece.bearing.value, "counts": piece.counts, "quote": piece.quote}


async def related_json(storage: Storage, found: Sequence[RelatedHypothesis]) -> list[dict[str, Any]]:
    """Return the hypotheses beside an answer of recall, each with how much it has to do with it."""
    dreams = await dreams_json(storage, [one.hypothesis for one in found])
    return [dream | {"score": one.score} for dream, one in zip(dreams, found, strict=True)]


async def resolution_json(storage: Storage, done: "Resolution") -> dict[str, Any]:
    """Return what came of a decision."""
    (dream,) = await dreams_json(storage, [done.hypothesis])
    told: dict[str, Any] = {"dream": dream, "changed": not done.is_unchanged}
    if done.fragment is not None:
        told["fragment"] = {
            "fragment_id": done.fragment.id,
            "content": done.fragment.content,
            "labels": list(done.fragment.tags),
            "source": done.fragment.metadata.get("source"),
        }
    if done.claims:
        told["claims"] = [step.to_json() for step in done.claims]
    return told


def cycle_json(report: RunReport) -> dict[str, Any]:
    """Return a run as the record of a dreaming cycle."""
    passes = {one.name: one for one in report.passes}
    ran = {one.name for one in report.passes if one.outcome is not PassOutcome.SKIPPED}
    health = dict(passes[REFLECT.name].notes) if REFLECT.name in passes else {}
    moved = dict(passes[RE_EVALUATE.name].notes) if RE_EVALUATE.name in passes else {}
    made = passes.get(HYPOTHESES.name)
    return {
        "run_id": report.run_id,
        "team_id": report.scope.workspace,
        "run_date": report.started_at.date().isoformat(),
        "started_at": to_text(report.started_at),
        "completed_at": None if report.finished_at is None else to_text(report.finished_at),
        "status": "running" if report.finished_at is None else _STATUSES.get(report.outcome, "completed"),
        "error": report.reason,
        "reflect_ran": REFLECT.name in ran,
        "reevaluate_ran": RE_EVALUATE.name in ran,
        "dream_ran": HYPOTHESES.name in ran,
        "stale_facts": int(health.get("stale_facts", 0)),
        "candidate_claims": int(health.get("candidate_claims", 0)),
        "disputed_claims": int(health.get("disputed_claims", 0)),
        "clarifications": int(health.get("contradictions", 0)),
        "reevaluated_dreams": int(moved.get("evaluated", 0)),
        "created_dreams": 0 if made is None else int(made.notes.get("proposed", 0)),
        "refused": [] if made is None else [[one.code, one.detail] for one in made.refused],
    }


async def cycles_json(dreams: "Dreams", *, limit: int) -> list[dict[str, Any]]:
    """Return the newest dreams, the newest first, as records of dreaming cycles."""
    found: list[RunReport] = []
    before: str | None = None
    while len(found) < limit:
        page = await dreams.runs(limit=_PAGE, before=before)
        found += [one for one in page if one.kind is RunKind.DREAM]
        if len(page) < _PAGE:
            break
        before = page[-1].run_id
    return [cycle_json(one) for one in found[:limit]]


async def dreaming_status_json(services: "ScopedHost") -> dict[str, Any]:
    """Return the configuration in force, the latest dream, and how many proposals and hypotheses wait."""
    dreams = services.dreams
    latest = await cycles_json(dreams, limit=1)
    return {
        "effective_config": await _config(services),
        "latest_run": latest[0] if latest else None,
        "pending_count": len(await dreams.proposals()) + await dreams.count_proposed_hypotheses(),
    }


async def _config(services: "ScopedHost") -> dict[str, Any]:
    options, team = services.hypotheses.desk.options, (await services.configure()).dream
    trigger = options.schedule.trigger
    return {
        "enabled": options.enabled and options.schedule.enabled,
        "force_enabled": options.ignore_scope_switches,
        "start_time_local": trigger.at if trigger.kind == "daily" else None,
        "timezone": options.schedule.zone,
        "reflect_enabled": options.is_on(REFLECT.name),
        "reevaluate_enabled": options.is_on(RE_EVALUATE.name),
        "dream_enabled": options.is_on(HYPOTHESES.name),
        "max_outputs": options.hypotheses.max_outputs,
        "team_enabled": team is not False,
        "source": "global_force" if options.ignore_scope_switches else "global" if team is None else "team",
    }


def _type(ref: HypothesisSource, facts: Collection[str | None]) -> str:
    is_fact = ref.kind is HypothesisSourceKind.ENTRY and ref.id in facts
    return "fact" if is_fact else _TYPES[ref.kind]
