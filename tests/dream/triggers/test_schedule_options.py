"""Options of the schedule: what is refused and in which words, what a file may say, what the presets choose."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from agentcore.errors import InvalidOptionsError
from dream.interfaces.plugin import install_dreaming
from dream.options import (
    AnyOf,
    Cron,
    DailyAt,
    DreamOptions,
    Heartbeat,
    Idle,
    Interval,
    PassMode,
    Preset,
    SchedulingOptions,
    Threshold,
)
from dream.passes import ORDER, ModelPass
from dream.triggers.local_time import machine_zone

_HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("make", "field", "told"),
    [
        (lambda: Interval(every=-_HOUR), "trigger.every", "1 minute"),
        (lambda: Interval(every=400 * 24 * _HOUR), "trigger.every", "366 days"),
        (lambda: Interval(initial_delay=-_HOUR), "trigger.initial_delay", "0"),
        (lambda: Cron(expression="61 * * * *"), "trigger.expression", "five fields"),
        (lambda: Cron(expression="0 0 * * * *"), "trigger.expression", "five fields"),
        (lambda: Cron(expression="R 3 * * *"), "trigger.expression", "five fields"),
        (lambda: Cron(expression="0 0 30 2 *"), "trigger.expression", "date that exists"),
        (lambda: Cron(timezone="Mars/Olympus"), "trigger.timezone", "IANA"),
        (lambda: DailyAt(at="24:00"), "trigger.at", "23:59"),
        (lambda: DailyAt(at="3:00"), "trigger.at", "HH:MM"),
        (lambda: DailyAt(timezone="../etc/passwd"), "trigger.timezone", "IANA"),
        (lambda: Idle(after=timedelta(0)), "trigger.after", "1 minute"),
        (lambda: Idle(max_per_day=0), "trigger.max_per_day", "1"),
        (lambda: Idle(window="weekly"), "trigger.window", "rolling"),
        (lambda: Threshold(min_new=0), "trigger.min_new", "1"),
        (lambda: Threshold(min_new=10**9), "trigger.min_new", "100000"),
        (lambda: Threshold(cooldown=-_HOUR), "trigger.cooldown", "0"),
        (lambda: Heartbeat(beat=timedelta(milliseconds=1)), "trigger.beat", "second"),
        (lambda: Heartbeat(beat=2 * _HOUR, every=_HOUR), "trigger.every", "2:00:00"),
        (lambda: AnyOf(triggers=[]), "trigger.triggers", "1 to 10"),
        (lambda: AnyOf(triggers=[{"kind": "daily", "at": "noon"}]), "trigger.at", "HH:MM"),
        (lambda: SchedulingOptions(trigger={"kind": "moon"}), "schedule.trigger", "'heartbeat'"),
        (lambda: SchedulingOptions(zone="Nowhere"), "schedule.zone", "Local"),
        (lambda: SchedulingOptions(quiet_hours=["22:00"]), "schedule.quiet_hours[0]", "22:00-07:00"),
        (lambda: SchedulingOptions(quiet_hours=["22:00-7:00"]), "schedule.quiet_hours[0]", "HH:MM"),
        (lambda: SchedulingOptions(quiet_hours=["06:00-18:00", "18:00-06:00"]), "schedule.quiet_hours", "some time"),
        (lambda: SchedulingOptions(back_off=2 * _HOUR), "schedule.max_back_off", "2:00:00"),
        (lambda: SchedulingOptions(busy_poll=timedelta(0)), "schedule.busy_poll", "1 second"),
        (lambda: DreamOptions(schedule={"trigger": {"kind": "idle", "after": -1}}), "trigger.after", "1 minute"),
        (lambda: DreamOptions.preset("lunar"), "dreaming.preset", ", ".join(Preset)),
    ],
)
def test_what_cannot_be_is_refused_with_field_value_and_what_is_allowed(
    make: Callable[[], object], field: str, told: str
):
    with pytest.raises(InvalidOptionsError, match=r"^Option dreaming\.") as refused:
        make()
    assert f"{field} = " in str(refused.value)
    assert told in str(refused.value)


def test_a_schedule_survives_being_written_to_a_file_and_read():
    trigger = AnyOf(triggers=[DailyAt(at="04:15", timezone="Europe/Lisbon"), Idle(max_per_day=1), Cron(), Heartbeat()])
    schedule = SchedulingOptions(trigger=trigger, quiet_hours=["08:00-20:00"], catch_up="skip", zone="UTC")
    assert SchedulingOptions(**schedule.model_dump(mode="json")) == schedule


def test_the_presets_have_the_documented_defaults_and_name_passes_that_exist():
    choices = {name: DreamOptions.preset(name) for name in ("timed", "peer", "reviewed", "promotion", "idle")}
    assert {name: one.schedule.trigger for name, one in choices.items()} == {
        "timed": Interval(every=timedelta(hours=4), initial_delay=timedelta(minutes=5)),
        "peer": Threshold(min_new=50, cooldown=timedelta(hours=8), idle=timedelta(minutes=60)),
        "reviewed": DailyAt(at="03:00"),
        "promotion": Heartbeat(beat=timedelta(seconds=30), every=timedelta(hours=24)),
        "idle": Idle(after=timedelta(minutes=120), max_per_day=3, window="calendar"),
    }
    assert choices["timed"] == DreamOptions()
    assert {name for name, one in choices.items() if not one.documents.protect_user_text} == {"idle"}
    reviewed = choices["reviewed"]
    assert {reviewed.mode(name) for name in ("exact-fold", "fact-mining", "memory-consolidation")} == {PassMode.PROPOSE}
    assert (reviewed.mode("retention"), reviewed.is_on("skill-gaps"), reviewed.max_outputs) == (
        PassMode.APPLY,
        False,
        5,
    )
    asking = {place.dream_pass.name for place in ORDER if isinstance(place.dream_pass, ModelPass)}
    assert {name for name in (*asking, "promotion") if choices["promotion"].is_on(name)} == {"promotion"}
    for one in choices.values():
        install_dreaming(one)
        assert any(one.is_on(place.dream_pass.name) for place in ORDER)


def test_each_field_of_a_preset_can_be_changed():
    peer = DreamOptions.preset("peer")
    changed = peer.replace(schedule=peer.schedule.replace(trigger=Threshold(min_new=20)))
    assert changed.schedule.trigger.min_new == 20
    assert changed.modes == peer.modes


def test_local_is_the_zone_that_the_machine_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "America/New_York")
    assert machine_zone() == "America/New_York"
    monkeypatch.delenv("TZ")
    (tmp_path / "zoneinfo" / "Europe").mkdir(parents=True)
    (tmp_path / "zoneinfo" / "Europe" / "Lisbon").touch()
    link, name = tmp_path / "localtime", tmp_path / "timezone"
    link.symlink_to(tmp_path / "zoneinfo" / "Europe" / "Lisbon")
    assert machine_zone(link=link, name=name) == "Europe/Lisbon"
    link.unlink()
    link.write_bytes(b"a copy without a name")
    name.write_text("Australia/Lord_Howe\n", "utf-8")
    assert machine_zone(link=link, name=name) == "Australia/Lord_Howe"
    assert machine_zone(link=tmp_path / "none", name=tmp_path / "none") == "UTC"
