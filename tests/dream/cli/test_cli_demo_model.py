"""demo with a model: what a newcomer with a key sees, told by a scripted server behind the real client."""

import shutil
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import orjson
import pytest
from commandline import EXAMPLES, CommandLine
from dreaming import of_pass
from rereading import is_second_reading

from agentcore.domain import Scope
from agentcore.hosting import AgentHostBuilder
from agentcore.ids import RandomIds
from agentcore.llm import ChatOptions
from agentcore.testing import ManualClock, ServedRequest
from dream.interfaces.cli import main
from dream.interfaces.cli.commands.demo import AS_OF, FILES
from dream.interfaces.exchange import import_file
from dream.options import ConsolidationOptions, DreamOptions
from tests.demo import facts, orders
from tests.demo.serving import MODEL, demo_server

_TURNS = [orjson.loads(line) for line in (EXAMPLES / "conversation.jsonl").read_bytes().splitlines()]


KEPT_INSTEAD = 'the user, 2025-10-09: "So 41,150 it is."'
"""The sentence that `facts.INVENTED` quotes."""


@dataclass(frozen=True)
class Story:
    """One demo: its folder, its document, and what the server was asked."""

    folder: Path
    document: Any
    requests: list[ServedRequest]

    @property
    def run_id(self) -> str:
        return self.document["report"]["run_id"]

    def rows(self, operation: str) -> list[dict[str, Any]]:
        return [row for row in self.document["diff"] if row["operation"] == operation]

    def notes(self, name: str) -> dict[str, Any]:
        return self.passed(name)["notes"]

    def passed(self, name: str) -> dict[str, Any]:
        return next(item for item in self.document["report"]["passes"] if item["name"] == name)

    def refused(self, name: str) -> Counter[str]:
        return Counter(item["code"] for item in self.passed(name)["refused"])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story") / "data"
    with demo_server() as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_BASE_URL", server.base_url)
        environment.setenv("AGENTCORE_MODEL", MODEL)
        written = BytesIO()
        with TextIOWrapper(written, write_through=True) as stream, redirect_stdout(stream):
            assert main(["--data", str(folder), "--json", "demo"]) == 0
            document = orjson.loads(written.getvalue())
    return Story(folder, document, server.requests)


@pytest.fixture
def told(cli: CommandLine, story: Story) -> CommandLine:
    """A command line on the memory after the demo."""
    shutil.copytree(story.folder, cli.data)
    return cli


def _is_repair(request: ServedRequest) -> bool:
    return "Refused items:" in request.body["messages"][-1]["content"]


def _is_question(request: ServedRequest) -> bool:
    return not (_is_repair(request) or is_second_reading(request.body["messages"][-1]["content"]))


def test_each_true_fact_is_mined_and_its_quote_stands_in_a_turn_it_cites(told: CommandLine, story: Story):
    found = {row["after"]["content"]: row for row in [*story.rows("mine"), *story.rows("reinforce")]}
    # What was really said stands in the place of what was made up about it.
    assert found.pop(KEPT_INSTEAD)["after"]["evidence"][0]["verdict"] == "verbatim"
    assert sorted(found) == sorted(fact.content for fact in facts.TRUE)
    for fact in facts.TRUE:
        row = found[fact.content]
        assert fact.quote in row["reason"]
        cited = [turn["content"] for turn in told.json("why", row["id"])["turns"] if turn["id"] in str(row["after"])]
        assert any(fact.quote in text for text in cited)
        assert all(any(text.startswith(start) for text in cited) for start in fact.turns)
        assert set(cited) <= {turn["content"] for turn in _TURNS}


def test_what_a_careless_model_would_keep_is_refused_for_its_own_reason(story: Story):
    assert story.refused("fact-mining") == Counter(secret=1, not_evidence=1, quote_not_found=1, denied=1)
    assert len(facts.FALSE) == 4
    stored = orjson.dumps([row["after"] for row in story.document["diff"]]).decode()
    assert not any(fact.content in stored for fact in facts.FALSE)
    assert "flv_demo_9b2f" not in orjson.dumps(story.document).decode()


def test_merges_are_applied_and_name_their_sources(story: Story):
    made = {row["after"]["content"]: row for row in story.rows("merge") if row["after"]["status"] == "active"}
    wanted = {merge.content for merge in orders.MERGES} - {orders.INVENTING.content}
    assert made.keys() == wanted
    archived = [row for row in story.rows("merge") if row["after"]["status"] == "archived"]
    assert {row["after"]["successor"] for row in archived} == {row["id"] for row in made.values()}
    for row in made.values():
        joined = [one["id"] for one in archived if one["after"]["successor"] == row["id"]]
        assert all(entry_id in row["reason"] for entry_id in joined)


def test_a_reversed_decision_is_superseded_by_what_holds_now(told: CommandLine, story: Story):
    entries = [row for row in story.document["diff"] if row["kind"] == "entry"]
    rows = [row for row in entries if (row["after"] or {}).get("status") == "superseded"]
    heirs = {row["after"]["content"]: told.json("why", row["after"]["successor"])["entry"] for row in rows}
    now = {old: heir["content"] for old, heir in heirs.items()}
    assert now["Ines charges 65 euros an hour."] == orders.RATES.content
    assert now[facts.PIT_FILLED.content] == facts.PIT_KEPT.content
    assert now[facts.MOVE_IN_NOVEMBER.content] == facts.MOVE_IN_JANUARY.content
    assert all(heir["status"] == "active" for heir in heirs.values())


def test_a_lossy_merge_is_mended_on_the_second_call_and_an_inventing_one_refused(story: Story):
    repairs = [request for request in story.requests if _is_repair(request)]
    passes = ("fact-mining", "memory-consolidation", "episodes", "preferences", "skill-gaps")
    assert len(repairs) == sum(story.notes(name)["repairs"] for name in passes)
    (complaint,) = [request for request in repairs if str(orders.LOSSY.first) in request.prompt]
    assert "reason=lost_detail" in complaint.prompt
    contents = [row["after"]["content"] for row in story.rows("merge")]
    assert orders.LOSSY.content in contents
    assert orders.LOSSY.first not in contents
    assert orders.INVENTING.content not in contents
    assert story.refused("memory-consolidation")["denied"] == 1


def test_the_over_eager_and_the_undecided_are_refused_and_asked_about(told: CommandLine, story: Story):
    refused = story.refused("memory-consolidation")
    assert refused == Counter(denied=1, over_eager=1, protected_entry=1, close_call=2)
    assert sorted(row["before"]["content"] for row in story.rows("drop")) == [
        "She was tired on Wednesday 3 September.",
        "The permit portal was down for some minutes on 3 September.",
    ]
    questions = story.notes("memory-consolidation")["questions"]
    assert [len(question["entries"]) for question in questions] == [2, 2]
    kept = [told.json("why", entry)["entry"] for question in questions for entry in question["entries"]]
    assert {entry["status"] for entry in kept} == {"active"}
    assert sum("Weekly mail to Helena" in entry["content"] for entry in kept) == 2


def test_lessons_cite_the_corrections_they_are_learned_from(story: Story):
    learned = {row["after"]["content"]: row["after"] for row in story.rows("antipattern")}
    assert learned.keys() == {lesson.content for lesson in orders.LESSONS}
    for lesson in orders.LESSONS:
        assert learned[lesson.content]["category"] == lesson.category
        assert len(learned[lesson.content]["sources"]) == len(lesson.feedback)


def test_the_forecast_bounds_what_is_spent(story: Story):
    asked, forecast = story.document["usage"], story.document["forecast"]
    called = {row["pass"] for row in asked if row["calls"]}
    # A question that passes share counts for the first of them; each may ask on its own about its part.
    assert {one["name"] for one in forecast if one["calls"]} <= called
    assert called <= {one["name"] for one in forecast if one["most_calls"]}
    assert sum(row["calls"] for row in asked) == len(story.requests)
    assert {row["model"] for row in asked} == {MODEL}
    questions = [request for request in story.requests if _is_question(request)]
    assert len(questions) <= sum(one["calls"] for one in forecast)
    assert len(story.requests) <= sum(one["most_calls"] for one in forecast)


def test_a_person_reads_all_of_it_in_the_diff(told: CommandLine, story: Story):
    out = " ".join(told.good("diff", story.run_id).split())
    parts = [
        'said by the user on 30 September 2025: "Running contracts keep 65 until they end, new offers 72"',
        f'now "{facts.MOVE_IN_JANUARY.content}"',
        "because merged from",
        "because superseded by",
        "because of no lasting value: over since",
        "because learned from feedback",
        orders.LOSSY.content,
    ]
    assert [part for part in parts if part not in out] == []


def test_the_report_shows_what_was_refused_by_what_it_says(told: CommandLine, story: Story):
    out = " ".join(told.good("show", story.run_id).split())
    assert "denied: a second reading did not find it in its evidence - item 2: not_said" in out
    assert 'too important, or seen too often, to be dropped - "Lia\'s second EpiPen expires in March 2026."' in out
    assert "2 open questions" in out
    whole = " ".join(told.good("show", story.run_id, "--refused").split())
    assert orders.INVENTING.content in whole


def test_why_leads_from_the_rate_to_the_words_that_were_said(told: CommandLine, story: Story):
    (rate,) = [row for row in story.rows("merge") if row["after"]["content"] == orders.RATES.content]
    out = " ".join(told.good("why", rate["id"]).split())
    assert "Ines charges 65 euros an hour. superseded by" in out
    assert "my rate is 72 an hour, not 65" in out


_ASKING = (
    ("fact-mining", "entry"),
    ("memory-consolidation", "entry"),
    ("episodes", "entry"),
    ("skill-gaps", "skill"),
    ("skill-consolidation", "skill"),
    ("skill-optimization", "skill"),
    ("preferences", "entry"),
    ("wisp-failures", "skill"),
)


def test_every_pass_that_asks_a_model_changes_something_and_the_log_is_consumed(story: Story):
    changed = {(row["pass"], row["kind"]) for row in story.document["diff"]}
    assert changed == {
        *_ASKING,
        ("exact-fold", "entry"),
        ("log-consumption", "turn"),
        ("near-duplicates", "question"),
        ("memory-consolidation", "question"),
    }
    assert story.passed("log-consumption")["accepted"] == len(_TURNS)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("episodes", "entry"), ("preferences", "entry"), ("skill-consolidation", "skill"), ("log-consumption", "turn")],
)
def test_one_pass_is_taken_back_and_the_others_stand(told: CommandLine, story: Story, name: str, kind: str):
    mine = {(kind, row["id"]) for row in story.document["diff"] if row["pass"] == name}
    before = _records(told)
    report = told.json("undo", story.run_id, "--pass", name)
    after = _records(told)
    touched = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert touched == mine
    assert report["changes"] == len(mine)


def _records(told: CommandLine) -> dict[tuple[str, str], Any]:
    lines = [orjson.loads(line) for line in told.exported().splitlines()]
    return {(line["kind"], line["id"]): line for line in lines if "id" in line}


def test_undo_brings_back_the_export_to_the_byte(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    for name in FILES:
        cli.good("import", EXAMPLES / name)
    before = cli.exported()
    with demo_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTCORE_MODEL", MODEL)
        report = cli.json("run", "--now", "2025-10-12T20:00:00Z")
        after = cli.exported()
        assert report["changes"] > 80
        assert after != before
        undone = cli.json("undo", report["run_id"])
        # The questions that it asked go too, and are no changes of what is remembered.
        assert undone["changes"] > report["changes"]
        assert cli.exported() == before
        again = cli.json("run", "--now", "2025-10-12T20:00:00Z")
    assert again["changes"] == 0
    assert {item["code"] for one in again["passes"] for item in one["refused"]} >= {"undone_by_person"}


def test_a_person_without_a_mind_to_spend_leaves_the_model_out(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    with demo_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTCORE_MODEL", MODEL)
        out = cli.good("demo", "--no-model")
        assert "No model was asked." in out
        assert cli.good("run", "--no-model", "--now", "2025-10-13").startswith("Run")
        assert cli.json("plan", "--no-model", "--now", "2025-10-13")["changes_planned"] == []
        assert server.calls == 0
        cli.good("run", "--now", "2025-10-13")
        assert server.calls > 0


def test_the_story_is_told_in_parts_with_the_forecast_before_the_first_call(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    with demo_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTCORE_MODEL", MODEL)
        out = cli.good("demo")
    order = ["334 turns", "Before: 181 active", "would ask the model now", f"Now {MODEL} is asked, for ",
             "The dream, as of", "fact-mining           applied", "refused  1 change, secret",
             "memory-consolidation  applied", "over_eager",
             "What it changed, one of each kind", "2 open questions", "After: ", "Since 1 October 2025 Ines charges 72",
             "What it cost", " diff ", " why ", " undo ", "directives eject dream", "rm -r "]  # fmt: skip
    places = [out.index(part) for part in order]
    assert places == sorted(places)
    assert "No model" not in out
    assert max(len(line) for line in out.splitlines() if str(cli.data) not in line) <= 80


def test_a_server_that_is_gone_leaves_the_rest_of_the_demo(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    with demo_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("AGENTCORE_MODEL", MODEL)
    monkeypatch.setenv("AGENTCORE_RETRIES", "0")
    told = cli("demo")
    assert told.code == 0
    assert "exact-fold            applied" in told.out
    assert "partial" in told.err


async def test_what_a_day_has_no_room_for_waits_with_the_answer_that_was_paid(tmp_path: Path):
    clock = ManualClock(AS_OF)
    few = ConsolidationOptions(share_cap=0.0, share_cap_min=5)
    options = DreamOptions(consolidation=few, modes={"session-evaluator": "off"})
    with demo_server() as server:
        builder = AgentHostBuilder(tmp_path / "data", clock=clock).with_memory().with_conversation_log().with_feedback()
        chat = ChatOptions(model=MODEL, base_url=server.base_url)
        async with builder.with_llm(chat).with_dreaming(options).build() as host:
            for name in ("memory.jsonl", "conversation.jsonl"):
                await import_file(host.storage, Scope.default(), EXAMPLES / name, clock=clock, ids=RandomIds())
            first = await host.dreams.run()
            paid = server.calls
            clock.advance(timedelta(hours=25))
            second = await host.dreams.run()
    waiting, done = (of_pass(report, "memory-consolidation") for report in (first, second))
    assert {item.code for item in waiting.refused} >= {"share_cap"}
    assert done.accepted > 0
    assert server.calls == paid
