import io
import sys
from datetime import datetime, timedelta

import pytest
from commandline import CommandLine, copies_file

from agentcore.domain.scope import Scope
from dream.domain.report import Outcome, PassOutcome, PassReport, RunReport
from dream.interfaces.cli.render.reports import passes_lines
from dream.interfaces.cli.screen import Screen

TEA = "Ana drinks hot green tea from Kyoto every morning before work"
ALSO_TEA = "Every morning before work Ana drinks hot green tea from Osaka"


def remembered(cli: CommandLine, *texts: str) -> list[str]:
    return [cli.json("remember", text)["id"] for text in texts]


def test_a_person_answers_what_a_dream_asks_and_takes_it_back(cli: CommandLine):
    remembered(cli, TEA, ALSO_TEA)
    cli.good("run", "--pass", "near-duplicates")
    (question,) = cli.json("questions")["questions"]
    assert {one["content"] for one in question["members"]} == {TEA, ALSO_TEA}
    report = cli.json("answer", question["id"][:8], "text", "Ana drinks green tea.", "--why", "Shorter.")
    assert (report["kind"], report["actor"]) == ("edit", "person")
    assert cli.json("questions")["questions"] == []
    assert "resolved by person already" in cli("answer", question["id"], "dismiss").complaint
    cli.good("undo", report["run_id"])
    assert len(cli.json("duplicates")["questions"]) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["keep"], "say it after keep"), (["dismiss", "no"], "dismiss takes none"), (["maybe"], "keep")],
)
def test_an_answer_that_is_none_is_refused(cli: CommandLine, words: list[str], complaint: str):
    remembered(cli, TEA, ALSO_TEA)
    cli.good("run", "--pass", "near-duplicates")
    (question,) = cli.json("questions")["questions"]
    assert complaint in cli("answer", question["id"], *words).complaint


def test_entries_are_edited_pinned_confirmed_merged_told_apart_and_archived(cli: CommandLine):
    tea, also = remembered(cli, TEA, ALSO_TEA)
    cli.good("edit", tea[:8], "Ana drinks tea.", "--category", "people/ana", "--why", "Short.")
    assert "edited by person: Short." in cli.good("why", tea)
    cli.good("pin", tea)
    cli.good("confirm", tea)
    assert (cli.json("memories", "--category", "people/ana")["entries"][0]["pinned"]) is True
    assert "nothing was changed" in cli.good("pin", tea)
    cli.good("unpin", tea)
    cli.good("distinct", tea, also)
    assert "give two different entries" in cli("merge", tea, tea).complaint
    cli.good("merge", tea, also)
    cli.good("archive", tea)
    assert cli.json("memories")["total"] == 0
    assert "give a new text" in cli("edit", tea).complaint


def test_memories_are_sorted_and_bounded_by_local_dates(cli: CommandLine):
    remembered(cli, TEA)
    cli.good("remember", "Ben bakes.", "--importance", "0.9")
    first = cli.json("memories", "--sort", "importance")["entries"][0]
    assert first["content"] == "Ben bakes."
    today = datetime.now().astimezone()
    assert cli.json("memories", "--since", f"{today:%Y-%m-%d}")["total"] == 2
    assert cli.json("memories", "--since", f"{today + timedelta(days=1):%Y-%m-%d}")["total"] == 0
    assert f"{today:%Y-%m-%d}" in cli.good("memories")
    assert "write a date" in cli("memories", "--since", "yesterday").complaint


def test_a_text_and_a_file_come_in_by_stdin(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ana likes tea.\n")))
    assert cli.json("remember", "-")["content"] == "Ana likes tea."
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"- Ben likes coffee.\n")))
    cli.good("import", "-", "--format", "memory-md")
    assert cli.json("list")["total"] == 2


@pytest.mark.parametrize(("alias", "words"), [("search", ["tea"]), ("history", []), ("sessions", ["list"])])
def test_what_else_people_type_is_understood(cli: CommandLine, alias: str, words: list[str]):
    remembered(cli, TEA)
    cli.good(alias, *words)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(cli: CommandLine, shell: str):
    assert "duplicates" in cli.good("completion", shell)


def test_proposals_are_walked_through_at_a_terminal_alone(cli: CommandLine):
    remembered(cli, TEA)
    assert "use `dream review list`" in cli("review", "all").complaint


def test_an_unknown_key_is_told_which_keys_there_are_and_asked_again(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.good("import", copies_file(cli.data.parent))
    cli.good("run", "--propose", "--pass", "exact-fold")
    answers = iter(["zebra", "q"])
    monkeypatch.setattr(Screen, "has_person", True)
    monkeypatch.setattr(Screen, "ask", lambda _screen, _question: next(answers))
    assert "There is no key 'z': press one of y, n, s, q" in cli("review", "all").err
    assert len(cli.json("review", "list")["proposals"]) == 1


def test_what_is_done_twice_or_with_nothing_is_refused_in_words(cli: CommandLine):
    tea, also = remembered(cli, TEA, ALSO_TEA)
    assert "write a path such as people/ana" in cli("edit", tea, "--category", "").complaint
    cli.good("merge", tea, also)
    again = cli("merge", tea, also).complaint
    assert f"The entry {also} is archived, and {tea} took its place; restore it first" in again
    assert "name the folder for the copy by --to" in cli("backup", "copy.db").complaint


def a_report(*passes: PassReport) -> RunReport:
    now = datetime.fromisoformat("2025-06-14T09:00:00+00:00")
    return RunReport(
        run_id="r", scope=Scope.default(), outcome=Outcome.UNCHANGED, as_of=now, started_at=now, passes=passes
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_passes_that_cannot_run_share_a_line_and_no_line_is_too_long(width: int):
    lacking = [
        PassReport(name=name, outcome=PassOutcome.SKIPPED, reason="missing: llm")
        for name in ("fact-mining", "document-consolidation")
    ]
    found = PassReport(name="near-duplicates", outcome=PassOutcome.UNCHANGED, notes={"compared": 4, "clusters": [1]})
    told = [line.text for line in passes_lines(a_report(found, *lacking), width, {})]
    assert all(len(line) <= width for line in told)
    text = " ".join(" ".join(told).split())
    assert "4 compared, 1 cluster" in text
    assert "clusters" not in text
    assert "2 passes ask a model, and there was none (name one by AGENTCORE_MODEL" in text


def test_the_changes_of_a_run_tell_what_a_question_is_about(cli: CommandLine):
    tea, also = remembered(cli, TEA, ALSO_TEA)
    run_id = cli.json("run", "--pass", "near-duplicates")["run_id"]
    (change,) = cli.json("diff", run_id)["changes"]
    assert (change["kind"], change["texts"]) == ("question", {tea: TEA, also: ALSO_TEA})
