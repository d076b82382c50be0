"""Passes that a host adds: by its options, or by a package that is installed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from dreaming import World, of_pass
from talking import answering, talk
from wishing import Curious, Wishful, active_entries

from agentcore import AgentHostBuilder, Status
from agentcore.domain import Capability
from agentcore.errors import InvalidInputError
from agentcore.testing import ScriptedChatClient
from dream.cycle import Dreams
from dream.domain import Change, ChangeSet, Notes, Proposal, Work, fingerprint
from dream.options import DreamOptions, OwnPasses, PassMode
from dream.passes import ORDER, DreamContext, ModelContext, arranged
from dream.passes.prompts import build_request

BUILT_IN = tuple(place.dream_pass.name for place in ORDER)


class Tidy:
    """Archives what says that it is nothing."""

    name: ClassVar[str] = "tidy"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY})

    async def has_work(self, context: DreamContext) -> Work:
        return Work(len(await self._due(context)))

    async def propose(self, context: DreamContext) -> Proposal:
        due = await self._due(context)
        gone = {"status": Status.ARCHIVED, "status_reason": "it is nothing", "status_at": context.as_of}
        changes = [Change(before=one, after=replace(one, **gone), reason="it is nothing") for one in due]
        return Proposal(
            change_sets=tuple(
                ChangeSet(operation="tidy", changes=(one,), fingerprints={one.record_id: _mark(one.before)})
                for one in changes
            ),
            looked_at=tuple(one.id for one in due),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]

    async def _due(self, context: DreamContext) -> list[Any]:
        found = [one for one in await active_entries(context) if one.content.startswith("nothing")]
        withheld = await context.withheld({_mark(one) for one in found})
        return [one for one in found if _mark(one) not in withheld]


def _mark(entry: Any) -> str:
    return fingerprint("tidy", entry)


class Later(Tidy):
    name: ClassVar[str] = "later"


class Asking(Curious):
    """Asks in words of its own."""

    name: ClassVar[str] = "asking"
    directives: ClassVar[tuple[str, ...]] = ("kindness",)

    def question(self, context: ModelContext, batch: Any) -> Any:
        base = super().question(context, batch)
        blocks = [base.messages[-1].content]
        return build_request(
            context, directives=self.directives, blocks=blocks, answer=base.response_format, purpose=self.name
        )


def order(own: OwnPasses) -> list[str]:
    return [place.dream_pass.name for place in arranged(own)]


def refused(own: OwnPasses) -> str:
    with pytest.raises(InvalidInputError) as raised:
        AgentHostBuilder(None).with_dreaming(lambda options: options.replace(passes=own)).build()
    return str(raised.value)


def test_a_pass_joins_where_the_host_says():
    place = BUILT_IN.index("memory-consolidation")
    after = OwnPasses().insert_after("memory-consolidation", Tidy())
    assert order(after) == [*BUILT_IN[: place + 1], "tidy", *BUILT_IN[place + 1 :]]
    assert order(after.insert_before("tidy", Later()))[place + 1 : place + 3] == ["later", "tidy"]
    assert order(OwnPasses().append(Tidy()).append(Later()))[-2:] == ["tidy", "later"]
    assert after.names == ("tidy",)
    assert order(OwnPasses()) == list(BUILT_IN)


class Nameless(Tidy):
    name = "No Name"


class Blind(Tidy):
    name = "blind"
    propose = None  # type: ignore[assignment]


class Purging(Tidy):
    name = "purging"
    purges = True


class Needy(Tidy):
    name = "needy"
    requires = {"memory"}  # type: ignore[assignment]  # noqa: RUF012


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (OwnPasses().insert_after("no-such-pass", Tidy()), "There is no pass 'no-such-pass'"),
        (OwnPasses().append(Tidy()).append(Tidy()), "a pass of this name is there already"),
        (OwnPasses().append(type("X", (Tidy,), {"name": "exact-fold"})()), "a pass of this name is there already"),
        (OwnPasses().append(Tidy), "it is a class; give an instance of it"),
        (OwnPasses().append(Nameless()), "its name is 'No Name'; give it words in lower case"),
        (OwnPasses().append(Blind()), "it has no method propose"),
        (OwnPasses().append(Needy()), "`requires` must be a frozenset"),
        (OwnPasses().append(Purging()), "it declares that it purges, which retention alone may"),
        (OwnPasses().append(Asking(())), "it sends the directive kindness, which nobody brings"),
        (OwnPasses().append(Asking(()), directives={"kindness": " "}), "its directive 'kindness' is empty"),
        (OwnPasses().append(Tidy(), directives={"dream": "x"}), "a directive dream is there already"),
    ],
)
def test_what_cannot_join_is_refused_in_one_sentence_when_the_host_is_built(own: OwnPasses, sentence: str):
    told = refused(own)
    assert sentence in told
    assert told.count("\n") == 0


class Diary(Tidy):
    name = "diary"
    categories = ("diary",)


async def test_a_mined_fact_stays_out_of_the_categories_of_a_pass_of_the_hosts_own(world: World):
    mined = {"category": "diary/june", "tags": [], "sourceTurns": ["t1"], "quote": "I moved to Lisbon in May 2025."}
    answer = orjson.dumps({"facts": [{"content": "Ana moved to Lisbon in May 2025", **mined}]}).decode()
    await talk(world, "I moved to Lisbon in May 2025.")
    await answering(world, answer, passes=OwnPasses().append(Diary())).dreams.run(passes=["fact-mining"])
    assert [entry.category for entry in await world.active()] == ["general"]


async def test_a_pass_of_the_hosts_own_is_run_named_undone_proposed_and_switched_off(world: World):
    own = OwnPasses().insert_before("near-duplicates", Tidy())
    world.options = DreamOptions(passes=own)
    await world.add("nothing at all", "Ana likes tea")
    run = await world.dreams.run(passes=["tidy"])
    assert of_pass(run, "tidy").accepted == 1
    await world.dreams.undo(run.run_id, pass_name="tidy")
    assert of_pass(await world.dreams.run(), "tidy").reason == "no_work"
    await world.add("nothing new")
    world.options = DreamOptions(passes=own, modes={"tidy": PassMode.PROPOSE})
    assert of_pass(await world.dreams.run(), "tidy").proposed == 1
    assert of_pass(await world.dreams.run(), "tidy").reason == "no_work"
    assert [one.pass_name for one in await world.dreams.proposals(pass_name="tidy")] == ["tidy"]
    world.options = DreamOptions(passes=own, modes={"tidy": PassMode.OFF})
    assert of_pass(await world.dreams.run(), "tidy").reason == "disabled"


async def test_a_directive_it_brings_is_sent_and_can_be_put_in_other_words(world: World, tmp_path: Path):
    own = OwnPasses().append(Asking(["who?"]), directives={"kindness": "Be kind to everybody."})
    world.options = DreamOptions(passes=own)
    world.data_dir = tmp_path
    world.chat = ScriptedChatClient(['{"text": "a"}', '{"text": "b"}'])
    (foreseen,) = await world.dreams.forecast(passes=["asking"])
    assert (foreseen.calls, foreseen.directive_tokens > 0) == (1, True)
    report = await world.dreams.run(passes=["asking"])
    assert (of_pass(report, "asking").calls, list(report.directives)) == (1, ["kindness"])
    assert "Be kind to everybody." in world.chat.requests[0].messages[0].content
    assert [row.pass_name for row in await world.dreams.usage()] == ["asking"]
    (tmp_path / "directives").mkdir()
    (tmp_path / "directives" / "kindness.md").write_text("Be brief.", "utf-8")
    other = world.elsewhere()
    await other.dreams.run(passes=["asking"])
    assert "Be brief." in world.chat.requests[1].messages[0].content


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str = "own_dreams:extend") -> None:
    """Install a package, as pip would leave it."""
    (folder / "own_dreams.py").write_text(source, "utf-8")
    info = folder / "own_dreams-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-dreams\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[dream.passes]\nmine = {target}\n", "utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(__import__("sys").modules, "own_dreams", raising=False)


WELL = """
from dream.passes.importance_decay import ImportanceDecay

class Another(ImportanceDecay):
    name = "another"

def extend(passes):
    return passes.insert_after("importance-decay", Another())
"""


def test_a_pass_of_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install(tmp_path, monkeypatch, WELL)
    mine = (
        AgentHostBuilder(None)
        .with_memory()
        .with_dreaming(
            lambda options: options.replace(
                passes=options.passes.insert_after("another", Tidy()), modes={"another": PassMode.OFF}
            )
        )
    )
    names = mine.build().dreams.pass_names
    place = names.index("importance-decay")
    assert names[place : place + 3] == ("importance-decay", "another", "tidy")


@pytest.mark.parametrize(
    ("source", "target", "cause"),
    [
        ("raise RuntimeError('out of order')", "own_dreams:extend", "RuntimeError: out of order"),
        (WELL, "own_dreams:nothing", "AttributeError: "),
        ("def extend(passes): return None", "own_dreams:extend", "must name a function that takes and returns"),
        (WELL.replace('"another"', '"retention"'), "own_dreams:extend", "a pass of this name is there already"),
        (WELL.replace("importance-decay", "nowhere"), "own_dreams:extend", "There is no pass 'nowhere'"),
    ],
)
def test_a_package_that_cannot_be_used_is_named_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str, cause: str
):
    install(tmp_path, monkeypatch, source, target)
    told = refused(OwnPasses())
    assert told.startswith("The entry point mine of dream.passes cannot be used (")
    assert cause in told
    assert told.endswith("upgrade or uninstall the package own-dreams.")


def test_dreams_without_a_builder_have_the_passes_of_their_options(world: World):
    dreams = Dreams(world.parts, DreamOptions(passes=OwnPasses().append(Wishful(lambda _: Proposal()))))
    assert dreams.pass_names == (*BUILT_IN, "wishful")
