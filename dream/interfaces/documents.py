"""Makes the JSON documents that all interfaces give of what the library returns and has no `to_json`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.conversation import ConversationSession
from agentcore.domain.question import Question
from agentcore.domain.records import RecordKind, entry_json, text_of
from agentcore.domain.temporal import to_text
from agentcore.hosting.restatements import Restatement
from dream.domain.usage import UsageRow, summed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.recall.results import DenseScore, Explanation, Hit
    from agentcore.stores.forgetting import Forgotten
    from agentcore.stores.storage import Storage
    from dream.cycle.dreams import Dreams
    from dream.domain.change import JournalRow
    from dream.domain.plan import Plan
    from dream.domain.report import PassReport, RunReport
    from dream.domain.session import DreamSession


async def changes_json(storage: Storage, scope: Scope, rows: Sequence[JournalRow]) -> list[dict[str, Any]]:
    """Return what a run changed; of a question also the texts that it is about, by id, as far as they still live."""
    about = {at: _members(row) for at, row in enumerate(rows) if row.kind is RecordKind.QUESTION}
    ids = sorted({one for members in about.values() for one in members})
    found = await storage.read(scope, lambda view: view.entries.get_many(ids)) if ids else []
    texts = {entry.id: entry.content for entry in found}
    return [
        row.to_json() | ({"texts": {one: texts[one] for one in about[at] if one in texts}} if at in about else {})
        for at, row in enumerate(rows)
    ]


def _members(row: JournalRow) -> tuple[str, ...]:
    asked = row.record_after or row.record_before
    return asked.member_ids if isinstance(asked, Question) else ()


def hit_json(hit: Hit, why: Explanation | None) -> dict[str, Any]:
    """Return an answer of recall, with how its score came about where that is given."""
    document: dict[str, Any] = {"score": round(hit.score, 6), "entry": entry_json(hit.entry)}
    return document if why is None else document | {"explanation": explanation_json(why)}


def explanation_json(why: Explanation) -> dict[str, object]:
    """Return plain JSON values of how a score came about."""
    return {
        "relevance": round(why.relevance, 6),
        "importance": round(why.importance, 6),
        "recency": round(why.recency, 6),
        "phrase": round(why.phrase, 6),
        "length": round(why.length, 6),
        "terms": [
            {
                "term": one.term,
                "idf": round(one.idf, 6),
                "count": one.count,
                "norm": round(one.norm, 6),
                "score": round(one.score, 6),
            }
            for one in why.terms
        ],
        **({} if why.dense is None else {"dense": _dense_json(why.dense)}),
    }


def _dense_json(dense: DenseScore) -> dict[str, object]:
    return {
        "similarity": None if dense.similarity is None else round(dense.similarity, 6),
        "share": round(dense.share, 6),
        "scale": round(dense.scale, 6),
    }


def session_json(one: DreamSession | ConversationSession) -> dict[str, Any]:
    """Return a dream or a conversation as a session."""
    if not isinstance(one, ConversationSession):
        return one.to_json()
    return {
        "session": one.session_id,
        "kind": "conversation",
        "started_at": to_text(one.first_at),
        "finished_at": to_text(one.last_at),
        "turns": one.turns,
    }


def usage_json(
    scope: Scope, rows: Sequence[UsageRow], *, since: datetime | None, tokens_left: int | None
) -> dict[str, Any]:
    """Return what models cost, row by row and in sum."""
    total = next(iter(summed(rows)), UsageRow())
    return {
        "scope": str(scope),
        "since": None if since is None else to_text(since),
        "usage": [row.to_json() for row in rows],
        "total": total.to_json(),
        "tokens_left_today": tokens_left,
    }


def forgotten_json(done: Forgotten) -> dict[str, Any]:
    """Return what a forget removed, brought back and withheld."""
    return {"removed": list(done.removed), "restored": list(done.restored), "withheld": list(done.withheld)}


def restatement_json(one: Restatement) -> dict[str, Any]:
    """Return something else that says what a person wants forgotten."""
    return {
        "kind": one.kind.value,
        "id": one.id,
        "text": one.text,
        "speaker": one.speaker,
        "name": one.name,
        "said_at": None if one.said_at is None else to_text(one.said_at),
        "likeness": one.likeness.value,
    }


_MOST_TEXT: Final = 240
_MOST_REFUSED: Final = 5


def plan_json(plan: Plan, most_changes: int) -> dict[str, Any]:
    """Return a plan in short: a sentence, the passes that would do something, and *most_changes* changes at most."""
    report, rows = plan.report, plan.rows
    busy = [one for one in report.passes if one.accepted or one.proposed or one.purged or one.refused]
    by_pass = Counter(row.pass_name for row in rows)
    told = ", ".join(f"{name} {count:,}" for name, count in by_pass.items())
    summary = f"It would change {len(rows):,} records" + (f": {told}" if told else "")
    return {
        "summary": f"{summary}. Nothing was changed; a person applies the plan.",
        "plan_id": plan.plan_id,
        "outcome": report.outcome.value,
        "passes": [_pass_in_short(one) for one in busy],
        "changes_planned": [_row_in_short(row) for row in rows[:most_changes]],
        "changes_left_out": max(0, len(rows) - most_changes),
    }


def _pass_in_short(one: PassReport) -> dict[str, Any]:
    refused = [{"code": item.code, "detail": _clipped(item.detail)} for item in one.refused[:_MOST_REFUSED]]
    counts = {"accepted": one.accepted, "proposed": one.proposed, "purged": one.purged, "refused": len(one.refused)}
    return {"name": one.name, "outcome": one.outcome.value, **counts, "first_refused": refused}


def _row_in_short(row: JournalRow) -> dict[str, Any]:
    texts = {"before": row.record_before, "after": row.record_after}
    return {
        "number": row.number,
        "pass": row.pass_name,
        "operation": row.operation,
        "kind": row.kind.value,
        "id": row.record_id,
        "reason": _clipped(row.reason),
        **{name: None if record is None else _clipped(text_of(record) or "") for name, record in texts.items()},
    }


def _clipped(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


async def run_json(dreams: Dreams, report: RunReport) -> dict[str, Any]:
    """Return the report of a run with its `state`: `finished`, `running` or `interrupted`, which has no outcome yet."""
    if report.finished_at is not None:
        return {**report.to_json(), "state": "finished"}
    session = await dreams.session(report.run_id)
    is_running = session is not None and session.is_running
    told = {"outcome": None, "reason": None, "state": "running" if is_running else "interrupted"}
    return {**report.to_json(), **told}
