"""The guards of skills, whoever proposes the change."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore.domain import Scope, Skill, Status, Trust
from dream.domain import Change, ChangeSet
from dream.guards import Knowledge, first_refusal

AT = datetime(2025, 6, 1, tzinfo=UTC)


def skill(name: str = "a", **fields: Any) -> Skill:
    given = {"id": name, "scope": Scope.default(), "name": name, "summary": "s", "content": "c", "created_at": AT}
    return Skill(**(given | fields))


def gone(one: Skill, successor: str | None) -> tuple[Skill, Skill]:
    return one, replace(one, status=Status.ARCHIVED, status_reason="merged", successor=successor, status_at=AT)


def refused(*pairs: tuple[Skill | None, Skill | None], **known: Any) -> str | None:
    changes = tuple(Change(before=before, after=after, reason="because") for before, after in pairs)
    refusal = first_refusal(ChangeSet(operation="test", changes=changes), Knowledge(**known))
    return None if refusal is None else str(refusal.code)


@pytest.mark.parametrize(
    ("pairs", "known", "code"),
    [
        ([gone(skill(), None)], {}, "no_replacement"),
        ([gone(skill(), "b")], {}, "no_replacement"),
        ([gone(skill(), "a")], {"live_skills": frozenset("a")}, "no_replacement"),
        ([gone(skill(), "b")], {"live_skills": frozenset("b")}, None),
        ([gone(skill(), "b"), (None, skill("b"))], {}, None),
        ([gone(skill(), "b"), gone(skill("b"), "a")], {"live_skills": frozenset("ab")}, "no_replacement"),
        ([(skill(), None)], {}, "destroys"),
    ],
)
def test_a_skill_goes_only_for_another_that_is_there(pairs: Any, known: Any, code: str | None):
    assert refused(*pairs, **known) == code


@pytest.mark.parametrize(
    ("pairs", "known", "code"),
    [
        ([(None, skill("b"))], {"taken_names": frozenset("b")}, "name_taken"),
        ([(None, skill("b"))], {"taken_names": frozenset("c")}, None),
        ([(None, skill("b", status=Status.SUPERSEDED, status_reason="old"))], {"taken_names": frozenset("b")}, None),
        ([(skill(), replace(skill(), name="b"))], {}, "mismatched"),
    ],
)
def test_no_skill_takes_another_s_name(pairs: Any, known: Any, code: str | None):
    assert refused(*pairs, **known) == code


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ([(skill(), replace(skill(), trust=Trust.CONFIRMED))], "trust_raised"),
        ([(None, skill("b", trust=Trust.CONFIRMED))], "trust_raised"),
        ([gone(skill(trust=Trust.UNTRUSTED), "b"), (None, skill("b", trust=Trust.INFERRED))], "trust_raised"),
        ([gone(skill(trust=Trust.INFERRED), "b"), (None, skill("b", trust=Trust.INFERRED))], None),
        (
            [(skill("b", content="d", trust=Trust.INFERRED), skill("b")), (skill(), skill(content="d"))],
            "trust_raised",
        ),
        (
            [
                (skill("b", content="d", trust=Trust.INFERRED), skill("b")),
                (skill(), skill(content="d", trust=Trust.INFERRED)),
            ],
            None,
        ),
        ([(None, skill("b", last_used_at=AT))], "reinforcement_raised"),
        (
            [gone(skill(last_used_at=AT), "b"), (None, skill("b", last_used_at=AT + timedelta(days=1)))],
            "reinforcement_raised",
        ),
        ([gone(skill(last_used_at=AT), "b"), (None, skill("b", last_used_at=AT))], None),
    ],
)
def test_neither_trust_nor_use_rises(pairs: Any, code: str | None):
    assert refused(*pairs) == code


LEAK = "2. Log in with the password hunter2-Zebra!"


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        ([(None, skill("b", content=f"1. Open it.\n{LEAK}"))], "secret"),
        ([(None, skill("b", summary="Use the token: ghp_0123456789abcdefghij0123"))], "secret"),
        ([(skill(), skill(content=LEAK))], "secret"),
        ([(skill(content=LEAK), skill(content=f"1. Open it.\n {LEAK}"))], None),
        ([gone(skill(content=LEAK), "b"), (None, skill("b", content=f"1. Open it.\n{LEAK}"))], None),
        ([gone(skill(content=LEAK), "b"), (None, skill("b", content="The password is hunter2-Zebra!"))], "secret"),
        ([(None, skill("b", content="1. Ask for the password.\n2. Never write the token down."))], None),
    ],
)
def test_no_skill_tells_a_secret_that_did_not_stand_in_one(pairs: Any, code: str | None):
    assert refused(*pairs) == code
