"""Options of some scopes: the narrowest level that says something decides, and who said what is told."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentcore.domain import FeedbackKind
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidInputError, InvalidOptionsError
from agentcore.hosting.builder import AgentHostBuilder
from agentcore.hosting.option_layers import OptionSource
from agentcore.testing import ManualClock
from dream.domain.declaration import Preset
from dream.options import DailyAt, DreamOptions, Idle, OwnPasses
from dream.options.levels import OptionLevels, ScopeLevel, of_code, of_file
from dream.options.sources import configured

REX, ANA, ELSE = Scope.parse("acme/rex/ana"), Scope.parse("acme/agent/ana"), Scope.default()


def level(pattern: str, values: dict[str, Any], preset: str | None = None) -> ScopeLevel:
    return ScopeLevel(ScopePattern.parse(pattern), OptionSource.FILE, values, preset)


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agentcore.toml").write_text(text, "utf-8")
    return folder


def told(levels: OptionLevels, scope: Scope, name: str) -> tuple[object, str, str | None]:
    found = next(one for one in levels.effective(scope) if one.name == name)
    return found.value, found.source.value, found.scopes


def test_the_narrowest_level_that_says_something_decides():
    levels = OptionLevels(
        DreamOptions(step_size=100),
        levels=[
            level("acme/rex/*", {"model": {"name": "large"}}),
            level("acme/*/*", {"model": {"name": "small", "tokens_per_day": 9}, "step_size": 50}),
        ],
    )
    rex, ana, other = levels.of(REX), levels.of(ANA), levels.of(ELSE)
    assert (rex.model.name, rex.model.tokens_per_day, rex.step_size) == ("large", 9, 50)
    assert (ana.model.name, ana.model.tokens_per_day, ana.step_size) == ("small", 9, 50)
    assert (other.model.name, other.step_size) == (None, 100)
    assert levels.of(Scope.parse("acme/rex/ben")) is rex


def test_who_said_what_of_which_scopes_is_told():
    levels = OptionLevels(
        DreamOptions(step_size=100),
        levels=[
            level("acme/*/*", {"schedule": {"quiet_hours": ["08:00-20:00"]}}, "idle"),
            of_code(ScopePattern.parse("acme/rex/*"), lambda one: one.replace(alarm_after=9)),
        ],
    )
    assert told(levels, REX, "alarm_after") == (9, "code", "acme/rex/*")
    assert told(levels, REX, "schedule.quiet_hours") == (["08:00-20:00"], "toml", "acme/*/*")
    assert told(levels, REX, "schedule.trigger.kind") == ("idle", "preset", "acme/*/*")
    assert told(levels, REX, "step_size") == (100, "code", None)
    assert told(levels, ELSE, "schedule.trigger.kind") == ("interval", "default", None)


def test_a_preset_of_some_scopes_takes_the_place_of_the_hosts_and_leaves_what_was_said_beside_it():
    host = DreamOptions.preset("reviewed")
    host = host.replace(protected_categories=("legal",), modes={**host.modes, "near-duplicates": "off"})
    found = OptionLevels(host, levels=[level("acme/*/*", {}, "idle")]).of(ANA)
    assert found.starts_from.value == "idle"
    assert isinstance(found.schedule.trigger, Idle)
    assert found.max_outputs is None
    assert found.mode("memory-consolidation").value == "apply"
    assert found.mode("near-duplicates").value == "off"
    assert found.protected_categories == ("legal",)


def test_options_of_code_say_what_was_given_and_no_more():
    levels = OptionLevels(
        DreamOptions(protected_categories=("legal",)),
        levels=[of_code(ScopePattern.parse("acme/*/*"), DreamOptions(step_size=7).replace(alarm_after=2))],
    )
    assert levels.of(ANA).protected_categories == ("legal",)
    assert (levels.of(ANA).step_size, levels.of(ANA).alarm_after) == (7, 2)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"schedule": {"max_concurrent_dreams": 9}}, "dreaming.schedule.max_concurrent_dreams"),
        ({"model": {"calls_in_flight": 1}}, "dreaming.model.calls_in_flight"),
        ({"sessions": {"every": "1h"}}, "dreaming.sessions.every"),
        ({"stepsize": 3}, "dreaming.stepsize"),
        ({"schedule": {"trigger": {"every": "soon"}}}, "dreaming.schedule.trigger.every"),
    ],
)
def test_what_a_level_cannot_say_is_refused_when_the_host_is_built(values: dict[str, Any], name: str):
    with pytest.raises(InvalidOptionsError, match=name):
        OptionLevels(DreamOptions(), levels=[level("acme/*/*", values)])


def test_passes_of_ones_own_are_of_the_whole_host():
    class Own:
        name, requires = "own", frozenset[Any]()

    with pytest.raises(InvalidOptionsError, match="whole host"):
        OptionLevels(
            DreamOptions(),
            levels=[of_code(ScopePattern.parse("a/*/*"), lambda one: one.replace(passes=OwnPasses().append(Own())))],
        )


def test_the_file_says_options_by_pattern_and_durations_with_units(tmp_path: Path):
    text = """
[scopes."acme/*/*".dreaming]
preset = "peer"
retention.turns = "30d"
[scopes."acme/rex/*".dreaming.schedule.trigger]
kind = "daily"
at = "04:00"
[scopes."acme/rex/*".dreaming.schedule]
quiet_hours = ["22:00-03:00"]
"""
    levels = OptionLevels(DreamOptions(), levels=of_file(written(tmp_path, text)))
    assert levels.of(REX).schedule.trigger == DailyAt(at="04:00")
    assert levels.of(REX).retention.turns == timedelta(days=30)
    assert levels.of(ANA).schedule.trigger.kind == "threshold"
    assert levels.of(ELSE) == DreamOptions()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[scopes."acme".dreaming]\nenabled = false\n', "write WORKSPACE/OBSERVER/OBSERVED"),
        ('[scopes."acme/*/*"]\ndreamin = 3\n', "write [dreaming]"),
        ('[scopes."acme/*/*".memory]\nfloor = 0.2\n', "holds for the whole host"),
        ("[scopes]\nacme = 3\n", "write a table"),
        ('[scopes."acme/*/*"]\nworkspace = 3\n', "a text, such as"),
        ('[scopes."acme/*/*".dreaming]\nretention.turns = 30\n', "write a duration with its unit"),
        ("[lmm]\nmodel = 'x'\n", "there is no table [lmm]; write [llm]"),
        ("[dreams]\n", "there is no table [dreams]; write [dreaming]"),
        ("[memory]\nhalf_live = '60d'\n", "perhaps you mean half_life"),
        ("[memory]\nhalf_life = 60\n", "write a duration with its unit"),
        ('workspace = "notes/{user}"\n', "between braces stands one of"),
    ],
)
def test_what_a_file_cannot_say_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str):
    with pytest.raises(InvalidInputError) as refused:
        AgentHostBuilder(written(tmp_path, text)).with_memory().with_dreaming().build()
    assert sentence in str(refused.value)


async def test_every_part_of_a_host_is_configured_by_the_file_and_code_wins(tmp_path: Path):
    text = """
[memory]
half_life = "60d"
floor = 0.2
[conversation]
user_trust = 1
[context]
window = 3
[feedback]
max_detail = 7
"""
    builder = AgentHostBuilder(written(tmp_path, text), clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
    builder.with_memory(lambda memory: memory.replace(floor=0.3)).with_feedback()
    async with builder.build() as host:
        decay = await host.storage.read(ELSE, lambda view: view.decay)
        assert (decay.half_life, decay.floor) == (timedelta(days=60), 0.3)
        await host.feedback.append(session_id="s", kind=FeedbackKind.CORRECTION, summary="No", detail="0123456789")
        (row,) = await host.storage.read(ELSE, lambda view: view.feedback.newest(limit=5))
        assert row.detail == "0123456"


_VALUES = st.fixed_dictionaries(
    {},
    optional={
        "step_size": st.integers(2, 500),
        "alarm_after": st.integers(1, 9),
        "model": st.fixed_dictionaries({}, optional={"name": st.sampled_from("ab"), "max_rounds": st.integers(1, 20)}),
    },
)


@given(st.lists(st.tuples(st.sampled_from(["*/*/*", "acme/*/*", "*/rex/*", "acme/rex/ana"]), _VALUES), max_size=5))
def test_a_value_is_that_of_the_narrowest_level_that_says_it(said: list[tuple[str, dict[str, Any]]]):
    levels = OptionLevels(DreamOptions(), levels=[level(*one) for one in said])
    known = {one.name: one for one in levels.effective(REX)}
    ordered = sorted(said, key=lambda one: ScopePattern.parse(one[0]).narrowness)
    for name, value in (("step_size", 250), ("alarm_after", 3)):
        wanted = next(((one[name], where) for where, one in reversed(ordered) if name in one), (value, None))
        assert (known[name].value, known[name].scopes) == wanted
        assert getattr(levels.of(REX), name) == wanted[0]


_EDITS: dict[str, tuple[object, ...]] = {
    "schedule.trigger.kind": ("interval", "threshold", "heartbeat", "any_of"),
    "schedule.trigger.triggers": ([{"kind": "idle"}],),
    "schedule.trigger.every": ("1h", "6h"),
    "schedule.trigger.beat": ("2h",),
    "schedule.trigger.min_new": (3, 0),
    "alarm_after": (5, 0),
}
_TRIGGERS = st.sampled_from([{}, {"kind": "threshold"}, {"kind": "interval"}, {"kind": "heartbeat", "every": "3h"}])


@given(
    st.sampled_from([None, *Preset]),
    _TRIGGERS,
    st.fixed_dictionaries({}, optional={path: st.sampled_from(values) for path, values in _EDITS.items()}),
)
def test_of_what_an_admin_says_each_edit_is_in_force_or_void_by_itself_with_its_reason(
    preset: Preset | None, trigger: dict[str, Any], edits: dict[str, Any]
):
    levels = OptionLevels(DreamOptions(), levels=[level("acme/*/*", {"schedule": {"trigger": trigger}}, preset)])
    levels.follow({REX: edits})
    refused = levels.refused_edits.get(REX, {})
    left = {path: value for path, value in edits.items() if path not in refused}
    assert levels.of(REX) == levels.with_edits(REX, left)
    assert {one.name for one in levels.effective(REX) if one.source is OptionSource.ADMIN} >= {*left} & {
        "alarm_after",
        "schedule.trigger.min_new",
    }
    assert ("alarm_after" in refused) is (edits.get("alarm_after") == 0)
    for path in refused:
        with pytest.raises((InvalidOptionsError, ExceptionGroup)):
            levels.with_edits(REX, {**left, path: edits[path]})


@pytest.mark.parametrize("preset", list(Preset))
def test_a_preset_named_in_a_file_says_all_that_it_says_in_code(tmp_path: Path, preset: Preset):
    (tmp_path / "agentcore.toml").write_text(f'[dreaming]\npreset = "{preset}"\n')
    assert configured(tmp_path).options == DreamOptions.preset(preset)
