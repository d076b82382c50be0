"""plan, run, runs, show, diff, undo, pause, resume."""

import asyncio
import subprocess
import sys
from datetime import timedelta
from itertools import count

import orjson
import pytest
from commandline import CommandLine, copies_file

from agentcore.clock import SystemClock
from agentcore.domain import Capability, Scope
from agentcore.ids import RandomIds
from agentcore.stores.sql import SqlStorage
from dream.domain import Proposal
from dream.domain.storage_names import PAUSED_SETTING
from dream.passes import ORDER, DreamContext
from dream.passes.exact_fold import ExactFold
from dream.passes.near_duplicates import NearDuplicates

AS_OF = "2025-10-12T20:00:00Z"


def _copies(cli: CommandLine) -> tuple[str, str]:
    """Import two equal texts; return the ids of the older and the newer."""
    cli.good("import", copies_file(cli.data.parent))
    return _older_and_newer(cli)


def _older_and_newer(cli: CommandLine) -> tuple[str, str]:
    entries = cli.json("memories", "--status", "all")["entries"]
    older, newer = sorted(entries, key=lambda entry: entry["created_at"])
    return older["id"], newer["id"]


def _run_id(cli: CommandLine) -> str:
    return cli.json("runs")["runs"][-1]["run_id"]


def _entries_of(export: str) -> list[str]:
    return [line for line in export.splitlines() if '"kind":"entry"' in line]


async def _broken(*_: object) -> None:
    raise RuntimeError("the well is dry")


def test_a_run_reports_every_pass_and_how_to_see_and_undo_it(filled: CommandLine):
    out = filled.good("run", "--now", AS_OF)
    run_id = filled.json("runs")["runs"][0]["run_id"]
    assert [place.name for place in ORDER if place.requires <= {Capability.MEMORY} and place.name not in out] == []
    assert "36 records changed" in out
    assert "37 faded" not in out  # the fold took some of them
    assert f"diff {run_id}" in out
    assert f"undo {run_id}" in out
    assert str(filled.data) in out


def test_a_run_shows_the_texts_of_near_duplicates_and_counts_the_rest(filled: CommandLine):
    out = filled.good("run")
    assert "16 clusters of near-duplicates" in out
    assert "the same words" in out
    assert "Rita lives in Benfica. [Moving-to-Lisbon]" in out
    assert "and 11 more clusters" in out


def test_the_json_of_a_run_is_its_report(filled: CommandLine):
    report = filled.json("run")
    assert report["outcome"] == "completed"
    assert report["scope"] == "default/agent/agent"
    assert [item["name"] for item in report["passes"]] == [place.dream_pass.name for place in ORDER]
    assert {"outcome", "reason", "backlog", "accepted", "refused", "calls", "seconds"} <= report["passes"][1].keys()
    shown = filled.json("show", report["run_id"][:8])
    assert shown.items() >= report.items()
    assert (shown["session"]["run_id"], shown["calls"]) == (report["run_id"], [])


def test_a_second_run_finds_nothing_to_do(dreamt: CommandLine):
    report = dreamt.json("run")
    assert (report["outcome"], report["changes"]) == ("unchanged", 0)
    assert "Nothing was changed." in dreamt.good("run")


def test_a_run_of_an_empty_memory_is_unchanged(cli: CommandLine):
    cli.make_folder()
    assert cli.json("run")["outcome"] == "unchanged"


def test_only_the_named_passes_run(cli: CommandLine):
    _copies(cli)
    report = cli.json("run", "--pass", "near-duplicates", "--pass", "importance-decay")
    assert [item["reason"] for item in report["passes"]][:2] == ["not_requested", "not_requested"]
    assert "not asked for: retention, exact-fold" in cli.good("show", report["run_id"])


def test_now_simulates_a_later_day(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    notes = {item["name"]: item["notes"] for item in cli.json("run", "--now", "2099-01-01")["passes"]}
    assert notes["importance-decay"] == {"entries": 1, "faded": 1, "at_floor": 1}
    notes = [item["notes"] for item in cli.json("run", "--now", "2099-01-01")["passes"]]
    assert {"entries": 1, "faded": 1, "at_floor": 1} in notes


def test_a_plan_changes_nothing_and_is_applied_exactly(cli: CommandLine):
    _copies(cli)
    before = cli.exported()
    plan = cli.json("plan")
    assert cli.exported() == before
    assert cli.json("memories")["total"] == 2
    report = cli.json("run", "--plan", plan["plan_id"][:6])
    assert (report["kind"], report["changes"]) == ("plan", 2)
    assert cli.json("memories")["total"] == 1


def test_a_plan_is_a_diff_that_a_person_can_read(cli: CommandLine):
    older, newer = _copies(cli)
    out = cli.good("plan")
    plan_id = out.split()[1]
    assert "1 change of 2 records; nothing" in out
    assert "#1 fold (exact-fold)" in out
    assert f"keeps       {older}" in out
    assert f"archives    {newer}" in out
    assert '"Ana likes tea."' in out
    assert f"because duplicate of {older}" in out
    assert "tags: a -> a, b" in out
    assert f"run --plan {plan_id}" in out


def test_what_moved_since_the_plan_is_refused_as_stale(cli: CommandLine):
    _copies(cli)
    plan = cli.json("plan")
    cli.good("remember", "Ana likes tea", "--category", "general")
    told = cli("run", "--plan", plan["plan_id"])
    assert told.code == 0
    assert "stale_source" in told.out
    assert '"Ana likes tea' in told.out


def test_the_diff_numbers_the_changes_that_undo_takes(dreamt: CommandLine):
    older, newer = _older_and_newer(dreamt)
    run_id = _run_id(dreamt)
    changes = dreamt.json("diff", run_id)["changes"]
    assert [(one["number"], one["id"]) for one in changes] == [(1, older), (1, newer)]
    assert changes[1]["before"]["status"] == "active"
    out = dreamt.good("diff", run_id[:7])
    assert "#1 fold" in out
    assert f"undo {run_id} --change 1" in out


@pytest.mark.parametrize("which", [(), ("--pass", "exact-fold"), ("--change", "1")])
def test_an_undone_run_leaves_the_export_as_it_was_and_is_not_redone(cli: CommandLine, which: tuple[str, ...]):
    _copies(cli)
    before = cli.exported()
    run_id = cli.json("run")["run_id"]
    assert "2 records put back" in cli.good("undo", run_id, *which)
    assert _entries_of(cli.exported()) == _entries_of(before)
    if not which:
        assert cli.exported() == before
    assert cli.json("run")["changes"] == 0
    assert cli.json("memories")["total"] == 2


def test_an_undo_can_be_undone(dreamt: CommandLine):
    after = dreamt.exported()
    undo_id = dreamt.json("undo", _run_id(dreamt))["run_id"]
    redone = dreamt.good("undo", undo_id)
    assert _entries_of(dreamt.exported()) == _entries_of(after)
    assert "later dreams may make them too" in redone
    assert "No later dream" not in redone


def test_a_run_that_is_undone_already_is_said_to_be(dreamt: CommandLine):
    assert "No later dream makes these changes again." in dreamt.good("undo", _run_id(dreamt))
    before = dreamt.exported()
    assert "is undone already: nothing was changed." in " ".join(dreamt.good("undo", _run_id(dreamt)).split())
    assert dreamt.exported() == before


def test_a_run_that_only_asked_says_what_it_asked_and_is_undone_once(cli: CommandLine):
    cli.good("remember", "Ben plays the trombone in the Lisbon harbour orchestra on Fridays")
    cli.good("remember", "On Fridays Ben plays the trombone in the Lisbon harbour orchestra")
    run_id = cli.json("run", "--pass", "near-duplicates")["run_id"]
    assert "1. the same words" in cli.good("show", run_id)
    for told in (cli.good("show", run_id), cli.good("show", run_id[:6])):
        assert "Nothing changed, 1 question waits for you;" in told
        assert "It asked 1 question:" in told
        assert "Nothing was changed." not in told
        assert f"undo {run_id}" in told
    assert "questions    1; " in cli.good("status")
    assert cli.json("status")["questions"] == 1
    assert "1 record put back" in cli.good("undo", run_id)
    assert "questions    none" in cli.good("status")
    assert "is undone already: nothing was changed." in " ".join(cli.good("undo", run_id).split())


def test_an_undo_of_a_part_says_of_which_part_it_speaks(dreamt: CommandLine):
    run = dreamt.json("runs")["runs"][0]["run_id"]
    assert f"What retention did in run {run} changed nothing" in dreamt.good("undo", run, "--pass", "retention")
    assert f"Undid change 1 of run {run}" in dreamt.good("undo", run, "--change", "1")
    assert f"Change 1 of run {run} is undone already" in dreamt.good("undo", run, "--change", "1")


def test_an_undo_of_a_run_that_changed_nothing_says_so(dreamt: CommandLine):
    run_id = dreamt.json("run")["run_id"]
    assert "changed nothing: there is nothing to undo." in " ".join(dreamt.good("undo", run_id).split())


def test_a_plan_that_was_applied_is_told_with_its_run(cli: CommandLine):
    _copies(cli)
    plan = cli.json("plan")["plan_id"]
    run_id = cli.json("run", "--plan", plan)["run_id"]
    assert f"was applied already, as run {run_id}" in cli("run", "--plan", plan).complaint
    assert "There is no plan" in cli("run", "--plan", "none").complaint


def test_the_beginning_of_several_run_ids_is_answered_with_at_most_five_of_them(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    cli.good("remember", "Ana likes tea")
    numbers = count(10)
    monkeypatch.setattr(RandomIds, "new", lambda _: f"ab{next(numbers)}{'0' * 28}")
    for _ in range(6):
        cli.json("run")
    told = cli("show", "ab").complaint
    named = sorted(run["run_id"][:12] for run in cli.json("runs")["runs"])[:5]
    assert f"fits several ({', '.join(named)} and more): give more characters." in told


@pytest.mark.parametrize("command", [("forget", "abcdef"), ("undo", "abcdef"), ("restore", "abcdef"), ("backup",)])
def test_what_only_looks_up_makes_no_folder(cli: CommandLine, command: tuple[str, ...]):
    cli.data = cli.data / "typo"
    told = cli(*command)
    assert told.code == 2
    assert ("There is no memory in the folder" in told.complaint) == (command == ("backup",))
    assert not cli.data.exists()


def test_what_changed_since_is_reported_and_left_alone(dreamt: CommandLine):
    run_id = _run_id(dreamt)
    dreamt.good("remember", "Ana likes tea")
    out = dreamt.good("undo", run_id)
    assert "changed_since: the record changed since" in out
    assert "was put back" in out


def test_a_restored_entry_stays(dreamt: CommandLine):
    _, newer = _older_and_newer(dreamt)
    assert "Restored" in dreamt.good("restore", newer[:8])
    assert dreamt.json("run")["changes"] == 0
    assert dreamt.json("memories")["total"] == 2
    assert "active already" in dreamt("restore", newer).complaint


def test_runs_are_listed_newest_first(dreamt: CommandLine):
    run_id = _run_id(dreamt)
    undo_id = dreamt.json("undo", run_id)["run_id"]
    assert [run["run_id"] for run in dreamt.json("runs")["runs"]] == [undo_id, run_id]
    newest = " ".join(dreamt.good("runs", "--limit", 1).split())
    assert newest.startswith(undo_id)
    assert f"2 records changed, of {run_id}" in newest


def test_before_the_first_run_the_list_says_how_to_begin(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    assert "No dream has run" in cli.good("runs")


def test_a_paused_scope_defers_every_run_until_resumed(cli: CommandLine):
    _copies(cli)
    assert "paused" in cli.good("pause")
    told = cli("run")
    assert told.code == 0
    assert "`dream resume` lifts it" in " ".join(told.out.split())
    assert cli.json("run")["outcome"] == "deferred"
    assert cli.json("resume")["paused"] is False
    assert cli.json("run")["changes"] == 2


def test_a_scope_on_which_another_process_dreams_defers_and_says_who(cli: CommandLine):
    _copies(cli)

    async def beside() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        hour = timedelta(hours=1)
        await storage.write(Scope.default(), lambda unit: unit.leases.acquire("dream", holder="me", duration=hour))
        await storage.stop()

    asyncio.run(beside())
    told = cli("run")
    assert told.code == 0
    assert "another process is dreaming" in told.out
    assert "lease_held by process" in told.out
    assert "process" in cli.good("status")
    assert "stops at its next step" in cli.good("pause")
    assert "pausing: the dream under way" in cli.good("status")


def test_a_run_that_is_paused_while_it_works_says_that_it_stopped_and_is_gone_on_with(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    _copies(cli)
    propose = ExactFold.propose

    async def paused(self: ExactFold, context: DreamContext) -> Proposal:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        await storage.write(Scope.default(), lambda unit: unit.settings.put(PAUSED_SETTING, "true"))
        await storage.stop()
        return await propose(self, context)

    with monkeypatch.context() as patched:
        patched.setattr(ExactFold, "propose", paused)
        told = " ".join(cli("run").out.split())
    assert "stopped between two steps, and what it did stands: the dreams of this scope are paused" in told
    assert cli.json("memories")["total"] == 1
    cli.good("resume")
    assert "it went on after an interruption" in " ".join(cli.good("run").split())


def test_a_failed_pass_makes_the_run_partial_with_a_warning(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    _copies(cli)
    monkeypatch.setattr(NearDuplicates, "propose", _broken)
    told = cli("run")
    assert told.code == 0
    assert "the well is dry" in told.out
    assert told.err == "The run is partial, it failed in near-duplicates: the rest was done, run again to retry.\n"
    assert cli.json("memories")["total"] == 1


def test_a_run_without_any_good_pass_fails(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    _copies(cli)
    monkeypatch.setattr(ExactFold, "propose", _broken)
    told = cli("--json", "run", "--pass", "exact-fold")
    assert told.code == 1
    assert told.document["outcome"] == "failed"
    assert "failed in exact-fold" in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["show", "feed"], "`dream runs` lists them"),
        (["diff", "feed"], "`dream runs` lists them"),
        (["undo", "feed"], "`dream runs` lists them"),
        (["show", ""], "id ''"),
        (["undo", "RUN", "--pass", "no-such"], "choose among retention"),
        (["undo", "RUN", "--change", "99"], "has no change 99"),
        (["run", "--pass", "no-such"], "choose among retention"),
        (["plan", "--pass", "no-such"], "choose among retention"),
        (["run", "--plan", "feed"], "make one with `dream plan`"),
        (["why", "feed"], "check it and the scope"),
        (["restore", "feed"], "check it and the scope"),
        (["forget", "feedfeed", "--yes"], "check it and the scope"),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_changes(dreamt: CommandLine, arguments: list[str], hint: str):
    run_id = _run_id(dreamt)
    before = dreamt.exported()
    told = dreamt("--json", *(run_id if argument == "RUN" else argument for argument in arguments))
    assert told.code == 2
    assert hint in told.complaint
    assert dreamt.exported() == before


def test_a_run_that_waits_for_a_person_served_elsewhere_says_so_once(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    told, was_over, out, more = asyncio.run(_waiting_run(cli))
    assert told.startswith("Somebody is being served by process ")
    assert (was_over, more, orjson.loads(out)["outcome"]) == (False, "", "completed")


async def _waiting_run(cli: CommandLine) -> tuple[str, bool, str, str]:
    """Run a dream while another host serves a person; return what it says meanwhile and at its end."""
    storage = SqlStorage(cli.database, clock=SystemClock())
    await storage.start()
    await storage.write(Scope.default(), lambda unit: unit.busy.announce("a-chat", duration=timedelta(minutes=1)))
    words = [sys.executable, "-m", "dream", "--data", str(cli.data), "--json", "run"]
    run = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stderr is not None
    told = await asyncio.wait_for(run.stderr.readline(), 60)
    was_over = run.returncode is not None
    await storage.write(Scope.default(), lambda unit: unit.busy.withdraw("a-chat"))
    out, more = await asyncio.wait_for(run.communicate(), 60)
    await storage.stop()
    return told.decode(), was_over, out.decode(), more.decode()


def test_a_run_that_nobody_holds_back_says_nothing_of_waiting(filled: CommandLine):
    assert filled("run").err == ""


def test_a_run_until_done_leaves_nothing_and_tells_of_each_run(cli: CommandLine):
    cli.make_folder()
    (cli.data / "agentcore.toml").write_text("[dreaming.near_duplicates]\nmax_entries = 2\n", "utf-8")
    for place in range(7):
        cli.good("remember", f"Ana keeps {place} bees")
    words = ["run", "--pass", "near-duplicates", "--until-done"]
    told = cli("--json", *words)
    left = [line.rsplit(" changed, ", 1)[1] for line in told.err.splitlines()]
    assert left == ["5 entries left", "3 entries left", "1 entry left"]
    assert [one["backlog"] for one in told.document["passes"] if one["name"] == "near-duplicates"] == [0]
    assert len(cli.json("runs")["runs"]) == 4
    assert cli(*words).err == ""
    assert cli("run", "--plan", "p", "--until-done").code == 2


def test_a_run_until_done_ends_where_it_gets_on_no_more(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    before = len(cli.json("runs")["runs"])
    cli("run", "--until-done")
    assert len(cli.json("runs")["runs"]) == before + 1
