"""How the database answers: by the index that was made for the question, so that cost grows with what is new."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from agentcore.domain import EntryFilter, fold_key
from agentcore.stores import FeedPosition, ReadView
from agentcore.stores.sql import SqlStorage
from agentcore.testing.contracts.samples import DAY, SCOPE, START, a_skill, a_turn, an_entry

_KEYS = [fold_key("tea")]
_NAMED = [f"a{number}" for number in range(40)]

QUESTIONS: dict[str, tuple[Callable[[ReadView], object], str]] = {
    "equal texts": (
        lambda view: view.entries.with_fold_keys(_KEYS),
        "INDEX ix_entries_fold (scope_id=? AND fold_key=?",
    ),
    "copies in a window": (
        lambda view: view.entries.repeated(after=1, upto=9, also=(), limit=9),
        "INDEX ix_entries_position (scope_id=? AND position>? AND position<?)",
    ),
    "twins of a copy": (
        lambda view: view.entries.repeated(after=1, upto=9, also=(), limit=9),
        "INDEX ix_entries_fold (scope_id=? AND fold_key=? AND status=?)",
    ),
    "new material": (
        lambda view: view.entries.material(after=1, also=(), limit=9),
        "INDEX ix_entries_position (scope_id=? AND position>?)",
    ),
    "how much is new": (
        lambda view: view.entries.count_material(after=1, also=()),
        "COVERING INDEX ix_entries_position (scope_id=? AND position>?)",
    ),
    "what is to be looked at again": (
        lambda view: view.entries.material(after=9, also=_NAMED, limit=9),
        "SEARCH entries USING INDEX entries_1 (scope_id=? AND id=?)",
    ),
    "copies to be looked at again": (
        lambda view: view.entries.repeated(after=9, upto=9, also=_NAMED, limit=9),
        "SEARCH entries USING INDEX entries_1 (scope_id=? AND id=?)",
    ),
    "how much is to be looked at again": (
        lambda view: view.entries.count_material(after=9, also=_NAMED),
        "SEARCH entries USING INDEX entries_1 (scope_id=? AND id=?)",
    ),
    "the newest position": (lambda view: view.entries.last_position(), "COVERING INDEX ix_entries_position"),
    "the feed": (
        lambda view: view.entries.changes_since(FeedPosition(1, 1), limit=9),
        "INDEX ix_entries_revision (scope_id=? AND revision>?)",
    ),
    "whether anything held once": (lambda view: view.entries.has_former(), "INDEX ix_entries_held (scope_id=?)"),
    "since when entries hold": (
        lambda view: view.entries.facets_since(FeedPosition(), limit=9, with_former=True),
        "INDEX ix_entries_held (scope_id=? AND successor=?",
    ),
    "importance": (
        lambda view: view.entries.importance_columns(last_seen_before=START),
        "COVERING INDEX ix_entries_importance (scope_id=? AND status=? AND last_seen_at<?)",
    ),
    "the newest entries": (
        lambda view: view.entries.select(EntryFilter(), limit=9),
        "INDEX ix_entries_importance (scope_id=? AND status=?)",
    ),
    "how many entries": (lambda view: view.entries.count(EntryFilter()), "COVERING INDEX"),
    "what can be purged": (
        lambda view: view.entries.purgeable(archived_before=START, floor=0.8, reinforced=5, limit=9),
        "INDEX ix_entries_retired (scope_id=? AND status_at<?)",
    ),
    "the next purge": (
        lambda view: view.entries.next_retirement(floor=0.8, reinforced=5),
        "INDEX ix_entries_retired (scope_id=?)",
    ),
    "an id by its beginning": (lambda view: view.entries.resolve("a"), "(scope_id=? AND id>? AND id<?)"),
    "what was made of it": (
        lambda view: view.entries.derived_from("entry", "a"),
        "entry_sources_1 (scope_id=? AND kind=? AND source_id=?)",
    ),
    "a session": (lambda view: view.turns.session("s1"), "INDEX ix_turns_session (scope_id=? AND session_id=?)"),
    "what was said before": (
        lambda view: view.turns.preceding("a", limit=4),
        "INDEX ix_turns_session (scope_id=? AND session_id=? AND occurred_at<?)",
    ),
    "new turns": (
        lambda view: view.turns.material(after=3, also=(), limit=9),
        "INDEX ix_turns_position (scope_id=? AND position>?)",
    ),
    "how many new turns": (
        lambda view: view.turns.count_material(after=3, also=()),
        "INDEX ix_turns_position (scope_id=? AND position>?)",
    ),
    "turns to be looked at again": (
        lambda view: view.turns.material(after=9, also=_NAMED, limit=9),
        "SEARCH turns USING INDEX turns_1 (scope_id=? AND id=?)",
    ),
    "how many turns to look at again": (
        lambda view: view.turns.count_material(after=9, also=_NAMED),
        "SEARCH turns USING INDEX turns_1 (scope_id=? AND id=?)",
    ),
    "the newest turn": (lambda view: view.turns.last_position(), "COVERING INDEX ix_turns_position"),
    "old turns": (
        lambda view: view.turns.expired(recorded_before=START, limit=9),
        "INDEX ix_turns_recorded (scope_id=? AND recorded_at<?)",
    ),
    "a skill by name": (lambda view: view.skills.named("mail"), "INDEX ix_skills_name (scope_id=? AND name=?)"),
    "the catalogue": (
        lambda view: view.skills.catalogue(prefix="mail/"),
        "INDEX ix_skills_name (scope_id=? AND name>? AND name<?)",
    ),
    "new signals": (
        lambda view: view.feedback.newest(limit=9, since=START - DAY),
        "INDEX ix_feedback_occurred (scope_id=? AND occurred_at>?)",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_has_its_index(storage: SqlStorage, question: str):
    ask, index = QUESTIONS[question]
    await storage.write(
        SCOPE,
        lambda unit: (unit.entries.add([an_entry("a")]), unit.turns.add([a_turn("a")]), unit.skills.add(a_skill("a"))),
    )
    plans = await storage.read(SCOPE, lambda view: explained(view, ask))
    assert any(index in plan.replace("sqlite_autoindex_", "") for plan in plans), "\n".join(plans)
    assert [plan for plan in plans if plan.startswith("SCAN") and "(subquery" not in plan and "rows" not in plan] == []


async def test_a_read_takes_few_statements(storage: SqlStorage):
    """Its scope, and the question itself."""
    asked = await storage.read(SCOPE, lambda view: statements(view, lambda view: view.entries.get("a")))
    assert len(asked) == 1


async def test_one_entry_is_remembered_in_few_statements(storage: SqlStorage):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", last_seen_at=START - timedelta(1))]))
    asked = await storage.write(SCOPE, lambda unit: statements(unit, lambda unit: unit.entries.add([an_entry("b")])))
    assert len([sql for sql, _ in asked if "SAVEPOINT" not in sql]) == 3


def statements(view: Any, ask: Callable[[Any], object]) -> list[tuple[str, Any]]:
    connection = view.transaction.connection
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_rest: Any) -> None:
        seen.append((sql, parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        ask(view)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return seen


def explained(view: Any, ask: Callable[[Any], object]) -> list[str]:
    connection = view.transaction.connection
    return [
        row[3]
        for sql, parameters in statements(view, ask)
        for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", parameters)
    ]
