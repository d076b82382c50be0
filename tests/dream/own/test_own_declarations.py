"""What a pass of the host's own declares counts as what a built-in one declares: mode, presets, options, notes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from dreaming import World, of_pass
from wishing import active_entries

from agentcore import AgentHostBuilder
from agentcore.domain import Capability
from agentcore.errors import InvalidInputError, InvalidOptionsError
from agentcore.hosting import Options
from agentcore.testing import ManualClock
from dream.domain import Notes, Phase, PhaseHit, Promotion, Proposal, Work
from dream.options import DreamOptions, OwnPasses, PassMode, Preset
from dream.passes import DreamContext
from dream.stores import dream_stores


class DiaryOptions(Options):
    """How much the diary tells."""

    section: ClassVar[str] = "dreaming.pass_options.diary"

    pages: int = 1
    is_frank: bool = False


class Diary:
    """Notes how many pages it may write."""

    name: ClassVar[str] = "diary"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY})
    options: ClassVar[type[DiaryOptions]] = DiaryOptions
    when_proposing: ClassVar[Mapping[str, object]] = {"is_frank": True}
    notes: ClassVar[tuple[str, ...]] = ("pages", "is_frank")

    async def has_work(self, _context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        mine: DiaryOptions = context.options.of(self.name)
        return Proposal(notes={"pages": mine.pages, "is_frank": mine.is_frank})

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]


class Plain(Diary):
    """Has no options."""

    name = "plain"
    options = None  # type: ignore[assignment]
    when_proposing: ClassVar[Mapping[str, object]] = {}

    async def propose(self, context: DreamContext) -> Proposal:
        _ = context
        return Proposal()


class Tutor(Plain):
    name = "tutor"
    requires = frozenset({Capability.SKILLS})


class Scribe(Plain):
    name = "scribe"
    requires = frozenset({Capability.MEMORY, Capability.LLM})


class Librarian(Plain):
    name = "librarian"
    requires = frozenset({Capability.WORKSPACE})
    presets: ClassVar[Mapping[Preset, PassMode]] = {Preset.IDLE: PassMode.APPLY, Preset.TIMED: PassMode.PROPOSE}


class Shy(Plain):
    name = "shy"
    mode = PassMode.OFF


class Porter(Plain):
    name = "porter"
    never_waits = True


EVERY = OwnPasses()
for one in (Diary(), Plain(), Tutor(), Scribe(), Librarian(), Shy(), Porter()):
    EVERY = EVERY.append(one)


@pytest.mark.parametrize(
    ("preset", "modes"),
    [
        ("timed", "diary=apply tutor=apply scribe=apply librarian=propose shy=off porter=apply"),
        ("peer", "diary=apply tutor=off scribe=apply librarian=off shy=off porter=apply"),
        ("reviewed", "diary=propose tutor=off scribe=propose librarian=off shy=off porter=apply"),
        ("promotion", "diary=apply tutor=apply scribe=off librarian=apply shy=off porter=apply"),
        ("idle", "diary=apply tutor=off scribe=apply librarian=apply shy=off porter=apply"),
    ],
)
def test_a_preset_decides_about_a_pass_it_does_not_know_by_what_the_pass_declares(preset: str, modes: str):
    host = AgentHostBuilder(None).with_dreaming(lambda _: DreamOptions.preset(preset).replace(passes=EVERY)).build()
    options = DreamOptions.preset(preset).replace(passes=EVERY)
    assert set(EVERY.names) <= set(host.dreams.pass_names)
    told = dict(item.split("=") for item in modes.split())
    assert {name: options.mode(name).value for name in told} == told


def test_a_name_in_the_modes_comes_before_what_a_pass_declares_and_a_star_switches_nothing_on():
    peer = DreamOptions.preset("peer").replace(passes=EVERY)
    named = peer.replace(modes={**peer.modes, "tutor": "propose", "shy": "apply"})
    assert (named.mode("tutor"), named.mode("shy")) == (PassMode.PROPOSE, PassMode.APPLY)
    starred = peer.replace(modes={"*": "propose"})
    assert [starred.mode(name).value for name in ("diary", "tutor", "shy", "porter")] == [
        "propose",
        "off",
        "off",
        "apply",
    ]
    assert starred.applying().mode("diary") is PassMode.APPLY


async def test_its_options_and_notes_work_like_those_of_a_built_in_pass():
    async def noted(**changes: Any) -> Notes:
        host = (
            AgentHostBuilder(None, clock=ManualClock(datetime(2026, 3, 1, tzinfo=UTC)))
            .with_memory()
            .with_dreaming(lambda options: options.replace(passes=OwnPasses().append(Diary()), **changes))
            .build()
        )
        async with host:
            return of_pass(await host.dreams.run(passes=["diary"]), "diary").notes

    assert await noted() == {"pages": 1, "is_frank": False}
    assert await noted(pass_options={"diary": {"pages": 7}}) == {"pages": 7, "is_frank": False}
    assert await noted(modes={"diary": "propose"}) == {"pages": 1, "is_frank": True}


async def test_a_plan_of_a_pass_that_proposes_plans_with_the_options_that_count_then(world: World):
    world.options = DreamOptions(
        passes=OwnPasses().append(Diary()), modes={"diary": "propose"}, pass_options={"diary": {"pages": 2}}
    )
    plan = await world.dreams.plan(passes=["diary"])
    assert of_pass(plan.report, "diary").notes == {"pages": 2, "is_frank": True}


def test_its_options_come_from_the_settings_file_and_a_wrong_one_fails_the_build_in_one_sentence(tmp_path: Any):
    def build(text: str, own: OwnPasses) -> Any:
        (tmp_path / "agentcore.toml").write_text(text, "utf-8")
        return (
            AgentHostBuilder(tmp_path)
            .with_memory()
            .with_dreaming(lambda options: options.replace(passes=own))
            .build()
            .dreams
        )

    own = OwnPasses().append(Diary()).append(Plain())
    shown = build("[dreaming.pass_options.diary]\npages = 3\n", own).effective_options()
    assert ("pass_options.diary.pages", 3, "toml") in [(one.name, one.value, one.source.value) for one in shown]
    with pytest.raises(InvalidOptionsError, match=r"dreaming\.pass_options\.diary\.pages"):
        build("[dreaming.pass_options.diary]\npages = 'many'\n", own)
    with pytest.raises(InvalidOptionsError, match=r"dreaming\.pass_options\.plain = .*the pass has none"):
        build("[dreaming.pass_options.plain]\npages = 3\n", own)
    with pytest.raises(InvalidOptionsError, match=r"give them in dreaming\.mining"):
        build("[dreaming.pass_options.fact-mining]\nmax_turns = 3\n", own)
    with pytest.raises(InvalidInputError, match="There is no pass 'dairy'"):
        build("[dreaming.pass_options.dairy]\npages = 3\n", own)


class Rash(Plain):
    name = "rash"
    mode = "perhaps"  # type: ignore[assignment]


class Worldly(Plain):
    name = "worldly"
    presets: ClassVar[Any] = {"lunar": "off"}


class Loose(Plain):
    name = "loose"
    options = dict  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (Rash(), "`mode` and those in `presets` must be among apply, propose, off"),
        (Worldly(), "`presets` must be named among timed, peer, reviewed, promotion, idle"),
        (Loose(), "`options` must be a class of options"),
    ],
)
def test_what_cannot_be_declared_fails_the_build(own: Any, sentence: str):
    with pytest.raises(InvalidInputError, match=sentence):
        AgentHostBuilder(None).with_dreaming(lambda options: options.replace(passes=OwnPasses().append(own))).build()


class Promoter(Plain):
    """Counts every entry as promoted and met, without a change."""

    name = "promoter"

    async def propose(self, context: DreamContext) -> Proposal:
        found = [one.id for one in await active_entries(context)]
        return Proposal(
            promotions=tuple(
                Promotion(entry_id=one, score=1.0, hits=1, run_id=context.run_id, promoted_at=context.as_of)
                for one in found
            ),
            phases=tuple(PhaseHit(one, Phase.REM, context.as_of) for one in found),
        )


@pytest.mark.parametrize("is_planned", [False, True])
async def test_its_side_products_are_kept_by_a_run_and_by_a_plan(world: World, *, is_planned: bool):
    (entry,) = await world.add("Ana likes tea")
    world.options = DreamOptions(passes=OwnPasses().append(Promoter()))
    if is_planned:
        await world.dreams.run(plan=(await world.dreams.plan(passes=["promoter"])).plan_id)
    else:
        await world.dreams.run(passes=["promoter"])

    def kept(view: Any) -> tuple[list[str], list[str]]:
        books = dream_stores(view)
        return list(books.promotions.known()), list(books.phases.standing())

    assert await world.storage.read(world.scope, kept) == ([entry.id], [entry.id])
