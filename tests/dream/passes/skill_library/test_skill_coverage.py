"""The coverage check of procedures, both ways."""

import pytest

from dream.guards import builtin_vocabulary
from dream.passes.skills.coverage import compare_skills

SOURCE = """# Release
1. Run `make test` on branch `main`.
2. Ask Ana before 18:00.
- Never push on a Friday.

```sh
$ git tag v1.2.3
git push --tags
```
"""
SAME = """## How To Release Now
Ask Ana before 18:00, then run `make test` on branch `main`.
* Never push on a Friday.
~~~
git tag v1.2.3
git   push --tags
~~~
"""


def lost(result: str, *sources: str) -> list[str]:
    found = compare_skills(sources or [SOURCE], result, builtin_vocabulary())
    return sorted({detail.kind for detail in found.lost})


def invented(result: str, *backing: str) -> list[str]:
    return sorted(
        {detail.kind for detail in compare_skills([SOURCE], result, builtin_vocabulary(), backing=backing).invented}
    )


def test_other_headings_numbering_fences_and_order_lose_nothing():
    found = compare_skills([SOURCE], SAME, builtin_vocabulary())
    assert (found.lost, found.invented) == ((), ())
    assert found.faithful


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("`make test`", "the tests", "code"),
        ("Ana", "somebody", "name"),
        ("18:00", "the evening", "time"),
        ("git   push --tags", "git push", "command"),
        ("git tag v1.2.3", "git tag v1.2.4", "command"),
        ("Never push", "Push", "negation"),
        ("* Never push on a Friday.\n", "", "step"),
    ],
)
def test_what_a_procedure_lost_is_told_by_kind(old: str, new: str, kind: str):
    assert kind in lost(SAME.replace(old, new))


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ("Open https://evil.example/x.", "url"),
        ("Ask Rui too.", "name"),
        ("```\nrm -rf build\n```", "command"),
        ("Wait 45 minutes.", "number"),
    ],
)
def test_what_a_procedure_made_up_is_told_by_kind(more: str, kind: str):
    assert invented(f"{SAME}\n{more}") == [kind]
    assert invented(f"{SAME}\n{more}", more) == []


def test_part_of_something_longer_does_not_stand_for_it():
    assert lost("Use `make test-all`.", "Use `make test`.") == ["code"]
    assert lost("```\nmake test-all\n```", "```\nmake test\n```") == ["command"]
    assert lost("In 2010 of them.", "In 10 of them.") == ["number"]


def test_a_step_in_other_words_stands_and_one_of_other_words_does_not():
    assert lost("Write the weekly summary for the team and send it.", "- Send the team a weekly summary.") == []
    assert lost("Water the plants.", "- Send the team a weekly summary.") == ["step"]


def test_a_procedure_that_says_nothing_asks_for_nothing():
    assert lost("Anything.", "", "\n\n", "# A heading") == []


def test_a_report_counts_kinds_without_telling_the_texts():
    assert compare_skills(["Use `a` and `b`."], "Use it.", builtin_vocabulary()).counted() == "2 x code"
