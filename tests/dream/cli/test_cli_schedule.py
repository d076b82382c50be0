"""explain, config show, run --watch, and the next dream in status."""

from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine


def written(data: Path, text: str) -> None:
    data.mkdir(parents=True, exist_ok=True)
    (data / "agentcore.toml").write_text(text, "utf-8")


def test_a_scope_is_told_when_it_dreams_next_and_what_it_waits_for(cli: CommandLine):
    cli("remember", "Ana likes tea.")
    status = cli("--json", "status").document["schedule"]
    assert (status["reason"], status["waits_for"]) == ("interval", ["interval"])
    explained = cli("--json", "explain").document
    assert [(row["pass"], row["items"]) for row in explained["work"]] == [("exact-fold", 1), ("near-duplicates", 1)]
    assert [(explained[name], [row["pass"] for row in explained["work"]]) for name in ("due_at", "waits_for")] == [
        (status[name], [row["pass"] for row in status["work"]]) for name in ("due_at", "waits_for")
    ]
    told = cli("explain").out
    assert "shut  interval" in told
    assert "open  paused       nobody paused it\n" in told
    assert "open  dreaming     dreams are on (by default)\n" in told
    assert "To do now: exact-fold 1, near-duplicates 1." in told
    status = cli("status").out
    assert "exact-fold 1, near-duplicates 1" in status
    assert f"next dream   {told.partition(': ')[2].splitlines()[0]}" in status


def test_a_bound_of_the_day_that_is_spent_is_told_by_its_name_and_in_words(cli: CommandLine):
    cli("remember", "Ana likes tea.")
    written(cli.data, "[dreaming.model]\ncalls_per_day = 0\n")
    told = " ".join(cli("explain").out.split())
    assert "model.calls_per_day is used up for today, and nothing that waits needs it" in told
    written(cli.data, "[dreaming.model]\ntokens_per_day = 9_000\n")
    assert "(9,000 tokens left today)" in " ".join(cli("explain").out.split())


def test_after_a_dream_nothing_is_due_before_something_changes(cli: CommandLine):
    cli("remember", "Ana likes tea.")
    watched = cli("run", "--watch")
    assert watched.code == 0
    assert "exact-fold unchanged" in watched.err
    assert "exact-fold" in watched.out
    explained = cli("--json", "explain").document
    assert (explained["due_at"], explained["reason"], "work" in explained["waits_for"]) == (None, "never", True)
    assert "not before something changes" in cli("explain").out
    (run,) = cli("--json", "runs").document["runs"]
    assert run["trigger"] == "manual"


def test_a_threshold_that_cannot_be_reached_is_said(cli: CommandLine):
    written(cli.data, '[dreaming]\npreset = "peer"\n')
    warned = cli("explain")
    assert "The threshold cannot be reached by the signals present" in " ".join(warned.out.split())


def test_every_option_is_shown_with_who_said_so(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    written(cli.data, '[dreaming]\npreset = "peer"\nstep_size = 9\n[dreaming.schedule.trigger]\nmin_new = 7\n')
    monkeypatch.setenv("AGENTCORE_DREAMING__SCHEDULE__TRIGGER__IDLE", "PT30M")
    monkeypatch.setenv("AGENTCORE_DREAMING__STEP_SIZE", "11")
    found = {one["name"]: one for one in cli("--json", "config", "show").document["options"]}
    told = {name: (found[name]["value"], found[name]["source"]) for name in found}
    assert told["schedule.trigger.kind"] == ("threshold", "preset")
    assert told["schedule.trigger.cooldown"] == ("PT8H", "preset")
    assert told["schedule.trigger.min_new"] == (7, "toml")
    assert told["schedule.trigger.idle"] == ("PT30M", "environment")
    assert told["step_size"] == (11, "environment")
    assert told["lease"] == ("PT1M", "default")
    assert "are not the defaults." in cli("config", "show").out


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[dreaming]\npreset = "weekly"\n', "dreaming.preset"),
        ("[dreaming]\nstep_size = 0\n", "dreaming.step_size"),
        ("[dreaming]\nsteps = 3\n", "dreaming.steps"),
        ('[dreaming.schedule.trigger]\nkind = "cron"\nexpression = "61 * * * *"\n', "expression"),
        ("dreaming = 3\n", "write a table [dreaming]"),
        ("[dreamin]\nstep_size = 3\n", "there is no table [dreamin]; write [dreaming]"),
        ('[dreaming.schedule.trigger]\nevery = "-4h"\n', "1 minute"),
        ('[dreaming.schedule.trigger]\nkind = "weekly"\n', "its kind is one of 'interval', 'cron'"),
        ('[dreaming]\npasses = ["x"]\n', "only code can give it"),
        ('[dreaming]\nmodes = "off"\n', "dreaming.modes = 'off' is not possible: write a table"),
        ('[dreaming]\nenabled = "maybe"\n', "write true or false"),
    ],
)
def test_what_cannot_be_configured_is_refused_in_one_sentence(cli: CommandLine, text: str, named: str):
    written(cli.data, text)
    refused = cli("config", "show")
    assert refused.code == 2
    assert named in refused.complaint


def test_a_variable_alone_changes_the_usual_trigger(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.make_folder()
    monkeypatch.setenv("AGENTCORE_DREAMING__SCHEDULE__TRIGGER__EVERY", "PT6H")
    found = {one["name"]: one for one in cli("--json", "config", "show").document["options"]}
    every, kind = found["schedule.trigger.every"], found["schedule.trigger.kind"]
    assert [(one["value"], one["source"]) for one in (every, kind)] == [
        ("PT6H", "environment"),
        ("interval", "default"),
    ]


def test_names_that_options_had_before_are_taken_from_the_file_and_the_environment(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    written(
        cli.data,
        "[dreaming]\nforce = true\n[dreaming.schedule]\nback_off_most = 7200\n[dreaming.episodes]\nbeside = 3\n",
    )
    monkeypatch.setenv("AGENTCORE_DREAMING__EPISODES__BESIDE", "4")
    with pytest.warns(FutureWarning) as warned:
        found = {one["name"]: one for one in cli("--json", "config", "show").document["options"]}
    told = {name: (found[name]["value"], found[name]["source"]) for name in found}
    assert told["ignore_scope_switches"] == (True, "toml")
    assert told["schedule.max_back_off"] == ("PT2H", "toml")
    assert told["episodes.context_entries"] == (4, "environment")
    assert {str(one.message) for one in warned} == {
        "Option dreaming.force is called dreaming.ignore_scope_switches now: write the new name.",
        "Option dreaming.schedule.back_off_most is called dreaming.schedule.max_back_off now: write the new name.",
        "Option dreaming.episodes.beside is called dreaming.episodes.context_entries now: write the new name.",
    }


def test_a_preset_says_only_what_it_chooses(cli: CommandLine):
    written(cli.data, '[dreaming]\npreset = "reviewed"\n')
    options = cli("--json", "config", "show").document["options"]
    told = {one["name"]: one["value"] for one in options if one["source"] == "preset"}
    assert told.pop("modes.*") == "propose"
    applied = {name for name, value in told.items() if name.startswith("modes.") and value == "apply"}
    assert applied == {"modes.reflect", "modes.re-evaluate", "modes.hypotheses"}
    assert {value for name, value in told.items() if name.startswith("modes.") and name not in applied} == {"off"}
    assert {name: value for name, value in told.items() if not name.startswith("modes.")} == {
        "schedule.trigger.kind": "daily", "schedule.trigger.at": "03:00", "max_outputs": 5,
        "starts_from": "reviewed",
    }  # fmt: skip


def test_another_trigger_leaves_nothing_of_the_presets(cli: CommandLine):
    written(cli.data, '[dreaming]\npreset = "peer"\n[dreaming.schedule.trigger]\nkind = "daily"\nat = "04:00"\n')
    options: dict[str, Any] = {one["name"]: one["value"] for one in cli("--json", "config", "show").document["options"]}
    assert {name for name in options if name.startswith("schedule.trigger.")} == {
        "schedule.trigger.kind", "schedule.trigger.at", "schedule.trigger.timezone",
    }  # fmt: skip
