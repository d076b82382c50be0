"""The check of fuzzed answers about skills finds what must not happen."""

from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, NOW
from unsupported_skills import SECRET, Library, unsupported_skills

from agentcore.domain import Scope, Skill, Status, Trust

TEXT = "1. Run `mail list`.\n2. Write 5 bullets to https://norte.example/x."
ONE = Skill(id="one", scope=Scope.default(), name="one", summary="s", content=TEXT, created_at=NOW)
OTHER = replace(ONE, id="other", name="other", content=f"{TEXT}\n3. Stop.")
NEW = replace(ONE, id="new", name="new", trust=Trust.INFERRED)
GONE: dict[str, Any] = {
    "status": Status.ARCHIVED,
    "status_reason": "told there",
    "status_at": NOW,
    "successor": "other",
}
NOTE = "\n\n<!-- wisp-failure k -->\nStop early.\n<!-- end wisp-failure k -->"


def faults(*after: Skill, **more: Any) -> list[str]:
    before = {"one": ONE, "other": OTHER}
    return unsupported_skills(Library(before=before, after={one.id: one for one in after}, told="", **more))


def test_what_is_sound_is_no_fault():
    assert faults(ONE, OTHER) == []
    assert faults(replace(ONE, **GONE), OTHER) == []
    assert faults(ONE, OTHER, NEW, sessions={"new": 2}) == []
    assert faults(replace(ONE, content=TEXT + NOTE), OTHER, annotates=True) == []


@pytest.mark.parametrize(
    ("after", "more", "fault"),
    [
        ([OTHER], {}, "one is gone"),
        ([replace(ONE, name="another"), OTHER], {}, "was renamed"),
        ([replace(ONE, trust=Trust.CONFIRMED), OTHER], {}, "is trusted more"),
        ([replace(ONE, created_at=NOW + DAY), OTHER], {}, "grew younger"),
        ([replace(ONE, content="1. Run `mail list`."), OTHER], {}, "lost 5"),
        ([replace(ONE, content=TEXT.replace("`mail list`", "it")), OTHER], {}, "lost `mail list`"),
        ([replace(ONE, content=f"{TEXT}\nhttps://evil.example"), OTHER], {}, "makes up https://evil.example"),
        ([replace(ONE, content=f"{TEXT}\n{SECRET}"), OTHER], {}, "tells a secret"),
        ([replace(ONE, see_also=("nobody",)), OTHER], {}, "links to what is not there"),
        ([replace(ONE, content=f"{TEXT}\nMore."), OTHER], {"annotates": True}, "changed beside its notes"),
        ([replace(ONE, content=f"{TEXT}\nMore."), OTHER], {"shown": {"other"}}, "the question was not about it"),
        ([replace(ONE, **GONE | {"successor": "one"}), OTHER], {}, "is not live"),
        ([replace(ONE, **GONE | {"status_reason": ""}), OTHER], {}, "without a reason"),
        ([ONE, replace(OTHER, **GONE | {"successor": "one"}, content="x")], {}, "rewritten as it was retired"),
        ([ONE, OTHER, replace(NEW, name="one")], {}, "is the name of two"),
        ([ONE, OTHER, NEW], {"sessions": {"new": 1}}, "fewer than two"),
        ([ONE, OTHER, replace(NEW, **GONE, content="y")], {}, "was born retired"),
        ([ONE, OTHER, NEW], {"annotates": True}, "is new where notes alone"),
    ],
)
def test_a_change_without_support_is_found(after: list[Skill], more: dict[str, Any], fault: str):
    assert any(fault in found for found in faults(*after, **more)), faults(*after, **more)
