"""Whatever a model server does wrong: the run says so, no memory changes, and nothing is lost for the next run."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import World, codes
from hostile import Line, marker_of, parted, read_line, read_lines
from rereading import is_second_reading, reread

from agentcore.domain import EvidenceVerdict, Status, Turn
from agentcore.llm import ChatOptions, OpenAIChatClient
from agentcore.testing import ChatServer, ServedRequest, ServerReply, chat_replies as replies
from dream.domain import Outcome, PassOutcome, RunReport
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation

TEA, GREEN = "Ana likes tea.", "Ana likes green tea best."
BOTH = f"{TEA} {GREEN}"
OTHERS = ("Rui works at Norte.", "The deployment costs 1250 euros.", "Marta has 2 cats.")
SAID = ("I moved to Lisbon in 2019.", "My bicycle is blue.")
FACT = "Ana moved to Lisbon in 2019."

Handles = Mapping[str, str]
"""The handle of each text of a question."""
Bad = ServerReply | str | Callable[[Handles], Any]

FAILED, UNCHANGED = PassOutcome.FAILED, PassOutcome.UNCHANGED
RUN_FAILED, RUN_UNCHANGED = Outcome.FAILED, Outcome.UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fault, and what is told of it.

    Args:
        mining: What the server says when it is asked for facts.
        consolidation: What it says when it is asked about entries; the same by default.
        codes: Reason codes of the pass of each name.
        reason: A part of why the passes failed; None where they do not.
        settles: Passes for which the matter is closed: asking again would end the same way, or the answer was read.
        is_absent: Whether nothing listens at the address.
        is_late: Whether no whole answer comes in time.
    """

    mining: Bad
    consolidation: Bad | None = None
    codes: tuple[str, str] = ("", "")
    reason: str | None = None
    settles: frozenset[str] = frozenset()
    is_absent: bool = False
    is_late: bool = False


BOTH_PASSES = frozenset({"fact-mining", "memory-consolidation"})
CONSOLIDATION = frozenset({"memory-consolidation"})


def failing(reply: ServerReply, reason: str, **more: Any) -> Case:
    """A fault that befalls every call: the passes fail."""
    return Case(mining=reply, reason=reason, **more)


def refusing(bad: Bad, code: str) -> Case:
    """A fault of one answer, which is asked for again by the next run."""
    return Case(mining=bad, codes=(code, code))


def facts(*items: Any) -> Callable[[Handles], Any]:
    """An answer with these facts; a text among the sources becomes its handle."""
    return lambda handles: {"facts": [_with(item, "sourceTurns", handles) for item in items]}


def edits(*, delete: Any = (), save: Any = ()) -> Callable[[Handles], Any]:
    def answer(handles: Handles) -> Any:
        gone = [handles.get(one, one) if isinstance(one, str) else one for one in delete]
        return {"toDelete": gone, "toSave": [_with(item, "sourceIds", handles) for item in save]}

    return answer


def _with(item: Any, name: str, handles: Handles) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get(name), list):
        return item
    return item | {name: [handles.get(one, one) if isinstance(one, str) else one for one in item[name]]}


def a_fact(content: Any, *turns: Any, quote: Any = "I moved to Lisbon", **fields: Any) -> dict[str, Any]:
    usual = {"content": content, "category": "general", "tags": [], "sourceTurns": list(turns), "quote": quote}
    return usual | fields


def a_save(content: Any, *sources: Any, **fields: Any) -> dict[str, Any]:
    usual = {"content": content, "category": None, "tags": [], "importance": None, "sourceIds": list(sources)}
    return usual | fields


def reading(mining: Bad, consolidation: Bad, *codes: str, settles: frozenset[str] = BOTH_PASSES) -> Case:
    """Answers that can be read and say what must not be done."""
    return Case(mining=mining, consolidation=consolidation, codes=(codes[0], codes[-1]), settles=settles)


def nested(depth: int) -> str:
    return '{"facts": ' + "[" * depth + "]" * depth + ', "toSave": ' + "[" * depth + "]" * depth + "}"


CASES: dict[str, Case] = {
    "absent": Case(mining="", reason="cannot be reached", is_absent=True),
    "slow": failing(replies.slow(replies.answer("{}"), timedelta(seconds=5)), "no whole answer within", is_late=True),
    "401": failing(replies.key_refused(), "refused the key"),
    "403": failing(replies.key_refused(403), "refused the key"),
    "unknown model": failing(replies.model_missing(), "no model"),
    "429": failing(replies.rate_limited(), "takes no more calls"),
    "429, again at once": failing(replies.rate_limited("0"), "takes no more calls"),
    "429, in an hour": failing(replies.rate_limited("3600"), "try again in 3600 s"),
    "429, used up": failing(replies.refused(429, code="insufficient_quota"), "quota is used up"),
    "500": failing(replies.server_error(), "failed with status 500"),
    "503": failing(replies.server_error(503), "failed with status 503"),
    "hangs up": failing(replies.hangs_up(), "closed the connection"),
    "closes mid-body": failing(replies.closes_mid_body(), "closed the connection"),
    "streams forever": failing(replies.never_ends(), "no whole answer within", is_late=True),
    "400": refusing(replies.refused(400, code="bad_request"), "call_failed"),
    "garbage": failing(replies.garbage(), "is no completion"),
    "no choices": failing(replies.no_choices(), "is no completion"),
    "10 MB": refusing(replies.huge(), "call_failed"),
    "empty": refusing(replies.answer(""), "answer_unreadable"),
    "null": refusing(replies.answer(None), "answer_unreadable"),
    "prose": refusing("I would rather keep everything as it is.", "answer_unreadable"),
    "another language": refusing("Я предпочитаю ничего не менять.", "answer_unreadable"),
    "other words": refusing('{"hechos": [], "guardar": [], "borrar": ["e1"]}', "broken_answer"),
    "a tool call": refusing(replies.tool_call("delete_everything"), "answer_tool_call"),
    "withheld": refusing(replies.filtered(), "answer_filtered"),
    "two answers": refusing('{"facts": [], "toSave": []} {"facts": [1], "toDelete": ["e1"]}', "answer_unreadable"),
    "a name twice": refusing('{"facts": [], "facts": [], "toSave": [], "toSave": []}', "answer_unreadable"),
    "a list": refusing('["e1", "e2"]', "answer_unreadable"),
    "nested 101 deep": refusing(nested(101), "answer_unreadable"),
    "nested 90 deep": Case(
        mining=nested(90), codes=("invalid_content", "broken_answer"), settles=frozenset({"fact-mining"})
    ),
    "a number of 400 digits": refusing(
        '{"facts": [], "toSave": [], "importance": 1' + "0" * 400 + "}", "answer_unreadable"
    ),
    "1e999": refusing('{"facts": [1e999], "toSave": [1e999]}', "answer_unreadable"),
    "NaN": refusing('{"facts": [NaN], "toSave": [NaN]}', "answer_unreadable"),
    "always cut off": Case(
        mining=replies.cut_off('{"facts": [{"content": "Ana mo'),
        codes=("answer_cut_off", "answer_cut_off"),
        settles=BOTH_PASSES,
    ),
    "always too long": Case(
        mining=replies.context_too_long(),
        consolidation=replies.cut_off('{"toDelete": ['),
        codes=("prompt_too_long", "answer_cut_off"),
        settles=BOTH_PASSES,
    ),
    "text for lists": refusing('{"facts": "none", "toDelete": "*", "toSave": "*"}', "broken_answer"),
    "a flood": refusing(
        orjson.dumps({"facts": [1] * 300, "toDelete": ["e1"] * 300}).decode(),
        "broken_answer",
    ),
    "wrong types": reading(
        facts(a_fact(7, SAID[0]), a_fact(FACT, SAID[0], quote=7), [], None, a_fact(FACT, 4)),
        edits(delete=[7]),
        "invalid_content",
        "broken_answer",
        settles=frozenset({"fact-mining"}),
    ),
    "nulls": reading(
        '{"facts": null}', '{"toDelete": null, "toSave": null}', "broken_answer", "", settles=CONSOLIDATION
    ),
    "unknown handles": reading(
        facts(a_fact(FACT, "t99"), a_fact(FACT, "e1"), a_fact(FACT, "*")),
        edits(delete=["e99", "*"], save=[a_save(BOTH, TEA, "e98")]),
        "unknown_handle",
    ),
    "handles of another batch": reading(
        facts(a_fact(FACT, "t5000")), edits(save=[a_save(BOTH, "e41", "e42")]), "unknown_handle"
    ),
    "one handle twice": reading(
        facts(),
        edits(delete=[{"id": TEA, "supersededBy": None}], save=[a_save(TEA, GREEN), a_save(GREEN, GREEN)]),
        "",
        "handle_reused",
    ),
    "everything to delete": reading(
        facts(), edits(delete=[TEA, GREEN, *OTHERS]), "", "over_eager", settles=BOTH_PASSES
    ),
    "no source": reading(facts(a_fact(FACT)), edits(save=[a_save(BOTH)]), "no_sources"),
    "empty text": reading(
        facts(a_fact("  ", SAID[0])), edits(save=[a_save("", TEA, GREEN)]), "invalid_content"
    ),
    "half a surrogate": refusing('{"facts": ["\\ud800"], "toSave": ["\\ud800"]}', "answer_unreadable"),
    "invented": reading(
        facts(),
        edits(save=[a_save("Ana likes tea, green tea best, says Mallory.", TEA, GREEN)]),
        "",
        "invented_detail",
    ),
    "lost": reading(
        facts(a_fact(FACT, SAID[1])),
        edits(save=[a_save("The deployment is dear.", OTHERS[1])]),
        "quote_not_found",
        "lost_detail",
    ),
    "protected category": reading(
        facts(a_fact(FACT, SAID[0], category="active-plans")),
        edits(save=[a_save(BOTH, TEA, GREEN, category="Active-Plans/x")]),
        "protected_category",
    ),
    "an index that is none": reading(
        facts(), edits(delete=[{"id": TEA, "reason": "", "supersededBy": 7}]), "", "no_successor"
    ),
}  # fmt: skip


@dataclass(slots=True)
class Model:
    """A server's mind: bad, until it is made honest."""

    case: Case
    is_honest: bool = False

    def __call__(self, request: ServedRequest) -> ServerReply | str:
        contents = [message["content"] for message in request.body["messages"]]
        inside = parted(contents[1], marker_of(contents)).inside
        lines = records(inside)
        handles = {line.text: line.handle for line in lines}
        is_mining = lines[0].handle.startswith("t")
        if self.is_honest:
            said = facts(a_fact(FACT, SAID[0])) if is_mining else edits(save=[a_save(BOTH, TEA, GREEN)])
            return _json(said(handles)) if is_mining or {TEA, GREEN} <= handles.keys() else '{"toDelete": []}'
        bad = self.case.mining if is_mining or self.case.consolidation is None else self.case.consolidation
        return _json(bad(handles)) if callable(bad) else bad


def records(inside: Sequence[str]) -> list[Line]:
    """The records among lines, without headings of sessions and items to be put right."""
    return [read_line(line) for line in inside if line.startswith("[") and not line[1:2].isdecimal()]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


async def dreamt(world: World, url: str, *, patience: timedelta = timedelta(minutes=1)) -> RunReport:
    """Dream with this server; who waits for less than a loaded machine needs asks again, and that is a call more."""
    options = ChatOptions(
        model="m",
        base_url=url,
        timeout=patience,
        retries=1,
        retry_wait=timedelta(),
        max_retry_wait=timedelta(seconds=1),
        api_key="sk-of-a-test",
    )
    async with OpenAIChatClient(options) as client:
        return await replace(world, chat=client).run_passes(FactMining(), MemoryConsolidation())


async def brought(world: World) -> None:
    """Something to mine, and something to merge."""
    await world.add(TEA, GREEN, *OTHERS)
    now = world.clock.now()
    turns = [
        Turn(
            id=world.ids.new(),
            scope=world.scope,
            session_id="s",
            role="user",
            speaker="Ana",
            content=text,
            occurred_at=now + timedelta(minutes=place),
            recorded_at=now,
        )
        for place, text in enumerate(SAID)
    ]
    await world.write(lambda unit: unit.turns.add(turns))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_bad_answer_is_told_changes_nothing_and_loses_nothing(world: World, case: Case):
    await brought(world)
    before = await world.entries(*Status)
    model = Model(case)
    async with ChatServer(itertools.repeat(model)) as server:
        url = "http://127.0.0.1:1/v1" if case.is_absent else server.base_url
        report = await dreamt(world, url, patience=timedelta(milliseconds=250 if case.is_late else 60_000))
        assert await world.entries(*Status) == before
        _is_told(report, case)
        model.is_honest = True
        again = await dreamt(world, server.base_url)
    mining, consolidation = again.passes
    assert {mining.outcome, consolidation.outcome}.isdisjoint({FAILED})
    expected = {TEA, GREEN, *OTHERS}
    if "fact-mining" not in case.settles:
        expected.add(FACT)
    if "memory-consolidation" not in case.settles:
        expected = expected - {TEA, GREEN} | {BOTH}
    assert {entry.content for entry in await world.active()} == expected
    assert (mining.backlog, consolidation.backlog) == (0, 0)
    assert mining.calls == ("fact-mining" not in case.settles)
    assert consolidation.calls == (case.settles != BOTH_PASSES)  # a fact that was mined is new to it


def _is_told(report: RunReport, case: Case) -> None:
    assert "sk-of-a-test" not in str(report)
    if case.reason is not None:
        assert report.outcome is RUN_FAILED
        assert [one.outcome for one in report.passes] == [FAILED, FAILED]
        for one in report.passes:
            assert case.reason in str(one.reason)
            assert str(one.reason).count("\n") == 0
        return
    assert report.outcome is not RUN_FAILED
    for one, code in zip(report.passes, case.codes, strict=True):
        assert one.outcome is UNCHANGED
        assert (code in codes(one)) if code else codes(one) == []
        assert one.calls >= 1
        assert bool(one.backlog) == (one.name not in case.settles)


@pytest.mark.parametrize(
    "fault", [replies.cut_off('{"facts": [{'), replies.context_too_long()], ids=["answer", "prompt"]
)
async def test_what_is_too_long_at_once_is_done_in_halves(world: World, fault: ServerReply):
    await brought(world)
    asked: list[int] = []

    def reply(request: ServedRequest) -> ServerReply | str:
        contents = [message["content"] for message in request.body["messages"]]
        lines = read_lines(contents[1], marker_of(contents))
        asked.append(sum(line.is_bare for line in lines))
        return Model(CASES["empty"], is_honest=True)(request) if len(lines) < 5 else fault

    async with ChatServer(itertools.repeat(reply)) as server:
        report = await dreamt(world, server.base_url)
    assert [codes(one) for one in report.passes] == [[], []]
    assert {entry.content for entry in await world.active()} == {BOTH, FACT, *OTHERS}
    assert sorted(asked) == [2, 3, 3, 6]


SAID_SO = f'Ana, 2025-06-14: "{SAID[0]}"'
"""What a person said, kept word for word."""


@dataclass(slots=True)
class Liar:
    """A server's mind that writes what nobody said, and may read well what it wrote.

    Args:
        lie: What it writes.
        reads: Whether it can read a second time; if it does, it denies the lie.
        is_sorry: Whether it writes what was said when it is asked to put the lie right.
    """

    lie: str
    reads: bool = False
    is_sorry: bool = False

    def __call__(self, request: ServedRequest) -> str:
        contents = [message["content"] for message in request.body["messages"]]
        if is_second_reading(contents[1]):
            return reread(contents[1], lambda text, _: text == self.lie) if self.reads else "It is all true."
        parts = parted(contents[1], marker_of(contents))
        lines = records(parts.inside)
        if not lines[0].handle.startswith("t"):
            return _json({"toDelete": [], "toSave": []})
        is_repair = "Refused items:" in contents[1]
        told = FACT if is_repair and self.is_sorry else self.lie
        return _json(facts(a_fact(told, SAID[0], SAID[0]))({line.text: line.handle for line in lines}))


@pytest.mark.parametrize("is_sorry", [True, False], ids=["put right", "said again"])
@pytest.mark.parametrize("lie", ["Ana moved to Lisbon in 2021.", "Mallory moved to Lisbon."])
async def test_a_lie_waits_for_a_reader_and_then_what_was_said_is_kept(world: World, lie: str, is_sorry: bool):
    await brought(world)
    before = await world.entries(*Status)
    model = Liar(lie, is_sorry=is_sorry)
    async with ChatServer(itertools.repeat(model)) as server:
        waiting = (await dreamt(world, server.base_url)).passes[0]
        assert (waiting.outcome, codes(waiting), waiting.backlog) == (UNCHANGED, ["verifier_unreliable"], 1)
        assert await world.entries(*Status) == before
        model.reads = True
        mined = (await dreamt(world, server.base_url)).passes[0]
        (kept,) = [entry for entry in await world.entries(*Status) if entry not in before]
        assert (mined.backlog, codes(mined)) == (0, [] if is_sorry else ["denied"])
        assert (kept.content, kept.is_active) == (FACT if is_sorry else SAID_SO, True)
        assert kept.verdict is (EvidenceVerdict.PROVEN if is_sorry else EvidenceVerdict.VERBATIM)
        assert [one.sentence for one in kept.evidence] == [SAID[0]]
        assert (await dreamt(world, server.base_url)).passes[0].calls == 0
