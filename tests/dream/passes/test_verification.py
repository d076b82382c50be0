"""Entries that are stored and unverified, judged by what their sources still say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from dreaming import World, codes
from interrupting import Killed, WatchedStorage
from talking import talk

from agentcore.domain import EvidenceVerdict, Level, MemoryEntry, RecallHit, SourceKind, SourceRef, Status, Trust
from agentcore.llm import ChatRequest, Completion, FinishReason, Usage
from dream.cycle.running.prompt_limits import estimated_prompt
from dream.domain import Outcome, PassReport, RunReport
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.options import ModelOptions

LISBON = "I moved to Lisbon in May, and my sister followed in June."
TEA = "I have given up coffee. Green tea is what I drink now."
ROOF = "If the bank agrees, we have the roof done."


RECORD = re.compile(r'^\[(r\d+)\].* ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
STATEMENT = re.compile(r'^\[([s-z]\d+)\] ((?:r\d+ ?)+)[^"]*: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
CHECKS = orjson.loads((Path(__file__).parents[3] / "directives" / "verify-checks.json").read_bytes())


@dataclass
class Reader:
    """A model that finds statements by the words that say each, and knows the host's examples; nothing else."""

    found: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])
    agrees: bool = False

    async def complete(self, request: ChatRequest) -> Completion:
        shown = request.messages[-1].content
        self.asked.append(shown)
        records = {handle: orjson.loads(text) for handle, text in RECORD.findall(shown)}
        read = [
            self.read(handle, orjson.loads(text), [records[one] for one in named.split()])
            for handle, named, text in STATEMENT.findall(shown)
        ]
        answer = orjson.dumps({"readings": read}).decode()
        usage = Usage(input_tokens=estimated_prompt(request), output_tokens=len(answer) // 4)
        return Completion(text=answer, finish_reason=FinishReason.STOP, usage=usage, model="reader")

    def read(self, handle: str, statement: str, evidence: list[str]) -> dict[str, Any]:
        known = self.found | {row["true"]: row["said"] for row in CHECKS}
        words = known.get(statement, "nothing of the kind")
        said = re.fullmatch(r'.*?said: "(.*)"', statement)
        stands = any(words in text or (said is not None and said[1] in text) for text in evidence)
        reading = "says" if stands or self.agrees else "not_said"
        return {"id": handle, "reading": reading, "quotes": evidence if stands else [], "leftOut": []}


async def said(world: World, *texts: str) -> list[SourceRef]:
    """Have each said in a conversation of its own."""
    turns = [await talk(world, text, session=f"s{place}") for place, text in enumerate(texts)]
    return [SourceRef(SourceKind.TURN, turn.id) for (turn,) in turns]


async def lamps(world: World) -> Reader:
    """Eighty entries that a second reading finds."""
    for number, turn in enumerate(await said(world, *(f"I own {number} lamps, in the hall." for number in range(80)))):
        await remembered(world, f"Ana has {number} lamps.", turn)
    return Reader({f"Ana has {number} lamps.": f"I own {number} lamps" for number in range(80)})


async def remembered(world: World, content: str, *sources: SourceRef, **fields: Any) -> MemoryEntry:
    (entry,) = await world.add(content, sources=tuple(sources), level=Level.EXPLICIT, **fields)
    return entry


async def recalled(world: World, entry: MemoryEntry) -> None:
    hit = RecallHit(entry_id=entry.id, query="lamps", score=1.0, rank=1, recalled_at=world.clock.now())
    await world.write(lambda unit: unit.recall_hits.append([hit]))


async def verify(world: World, reader: Reader | None = None, **asked: Any) -> RunReport:
    return await replace(world, chat=reader).dreams.verify_existing(**asked)


def of(report: RunReport) -> PassReport:
    (only,) = report.passes
    return only


async def test_what_its_turn_says_word_for_word_is_proven_without_a_model(world: World):
    (turn,) = await said(world, TEA)
    entry = await remembered(world, "Green tea is what I drink now.", turn)
    done = of(await verify(world))
    (evidence,) = (await world.get(entry)).evidence
    assert (evidence.verdict, evidence.verified_by, evidence.source) == (EvidenceVerdict.PROVEN, "host", turn)
    assert (done.notes["proven"], done.calls) == (1, 0)


async def test_what_a_second_reading_finds_keeps_the_sentence_that_says_it(world: World):
    (turn,) = await said(world, LISBON)
    entry = await remembered(world, "Ana lives in Lisbon.", turn)
    done = of(await verify(world, Reader({"Ana lives in Lisbon.": LISBON})))
    stored = await world.get(entry)
    assert (stored.verdict, stored.content) == (EvidenceVerdict.VERIFIED, entry.content)
    assert stored.evidence[0].sentence in LISBON
    assert (done.calls, done.notes["verified"]) == (1, 1)


async def test_what_the_evidence_does_not_say_is_archived_and_undo_brings_it_back(world: World):
    (turn,) = await said(world, ROOF)
    entry = await remembered(world, "Ana has had the roof done.", turn)
    before = await world.export()
    done = await verify(world, Reader())
    gone = await world.get(entry)
    assert (gone.status, codes(of(done))) == (Status.ARCHIVED, ["denied"])
    assert "second reading" in (gone.status_reason or "")
    await world.dreams.undo(done.run_id)
    assert await world.export() == before


async def test_what_the_hosts_verifier_denies_is_archived_and_the_model_reads_the_rest(world: World):
    class NoRoofs:
        async def read(self, assertions: Sequence[Assertion], /) -> list[SecondReading]:
            denied = SecondReading(reading=Reading.NOT_SAID)
            return [denied if "roof" in one.text else SecondReading(reading=Reading.SAYS) for one in assertions]

    roof, move = await said(world, ROOF, LISBON)
    gone = await remembered(world, "Ana has had the roof done.", roof)
    kept = await remembered(world, "Ana lives in Lisbon.", move)
    pinned = await remembered(world, "Ana has a roof.", roof, pinned=True)
    world = replace(world, options=world.options.replace(verifier=NoRoofs()))
    reader = Reader({"Ana lives in Lisbon.": LISBON})
    done = await verify(world, reader)
    assert [(await world.get(one)).status for one in (gone, pinned)] == [Status.ARCHIVED, Status.ACTIVE]
    assert (await world.get(kept)).verdict is EvidenceVerdict.VERIFIED
    assert "Ana has had the roof done." not in reader.asked[0]
    await world.dreams.undo(done.run_id)
    assert (await world.get(gone)).status is Status.ACTIVE


async def test_what_a_person_brought_back_is_not_read_again(world: World):
    (turn,) = await said(world, ROOF)
    await remembered(world, "Ana has had the roof done.", turn)
    done = await verify(world, Reader())
    await world.dreams.undo(done.run_id)
    reader = Reader()
    await verify(world, reader)
    assert reader.asked == []


@pytest.mark.parametrize(
    "fields",
    [{"pinned": True}, {"trust": Trust.CONFIRMED}, {"base": 0.9}, {"own_count": 7}, {"category": "active-plans"}],
    ids=["pinned", "confirmed", "important", "often_seen", "protected_category"],
)
async def test_what_people_keep_is_only_listed_and_read_once(world: World, fields: dict[str, Any]):
    (turn,) = await said(world, ROOF)
    entry = await remembered(world, "Ana has had the roof done.", turn, **fields)
    reader = Reader()
    done = of(await verify(world, reader))
    assert (await world.get(entry)).is_active
    assert done.notes["listed"] == [[entry.id, "not_said"]]
    await verify(world, reader)
    assert len(reader.asked) == 1


async def test_what_has_no_living_evidence_is_left_as_it_is(world: World):
    entry = await remembered(world, "Ana likes rye.", SourceRef(SourceKind.TURN, "long-gone"))
    own = await remembered(world, "Ana likes oats.")
    reader = Reader()
    done = of(await verify(world, reader))
    assert await world.by_id([entry.id, own.id]) == sorted([entry, own], key=lambda one: one.id)
    assert (done.notes["without_evidence"], reader.asked) == (1, [])


async def test_a_merge_is_judged_by_what_was_said_and_not_by_the_texts_it_was_made_of(world: World):
    (turn,) = await said(world, LISBON)
    (part,) = await world.add("Ana lives in Porto.", sources=(turn,), status=Status.ARCHIVED, status_reason="merged")
    merge = await remembered(world, "Ana lives in Lisbon.", SourceRef(SourceKind.ENTRY, part.id))
    await world.change(merge, level=Level.DERIVED)
    reader = Reader({"Ana lives in Lisbon.": LISBON})
    await verify(world, reader)
    assert (await world.get(merge)).verdict is EvidenceVerdict.VERIFIED
    assert "Porto" not in "".join(reader.asked)


async def test_the_most_recalled_are_judged_first_and_the_budget_ends_it(world: World):
    reader = await lamps(world)
    wanted = (await world.active())[-1]
    await recalled(world, wanted)
    done = await verify(world, reader, budget=9_000)
    assert (done.outcome, of(done).calls, of(done).backlog) == (Outcome.PARTIAL, 1, 20)
    assert of(done).input_tokens + of(done).output_tokens <= 9_000
    assert (await world.get(wanted)).verdict is EvidenceVerdict.VERIFIED
    rest = await verify(world, reader)
    assert (of(rest).calls, of(rest).backlog) == (1, 0)


async def test_a_reader_that_agrees_with_everything_changes_nothing(world: World):
    (turn,) = await said(world, ROOF)
    entry = await remembered(world, "Ana has had the roof done.", turn)
    reader = Reader(agrees=True)
    done = of(await verify(world, reader))
    assert (await world.get(entry), codes(done)) == (entry, ["verifier_unreliable"])
    assert (len(reader.asked), done.notes["unread"]) == (2, 1)


async def test_a_call_reads_no_more_than_sixty_statements_and_their_checks(world: World):
    reader = await lamps(world)
    await verify(world, reader)
    assert [len(STATEMENT.findall(prompt)) for prompt in reader.asked] == [63, 23]
    assert all(one.verdict is EvidenceVerdict.VERIFIED for one in await world.active())


@pytest.mark.parametrize("at", range(10))
async def test_killed_anywhere_it_pays_for_each_question_once(world: World, at: int):
    reader = await lamps(world)
    # What is in flight when the process dies has no stored answer and is asked again: one call at most.
    world = replace(world, options=world.options.replace(model=ModelOptions(calls_in_flight=1)))

    def die(number: int) -> None:
        if number == at:
            storage.is_dead = True
            raise Killed

    storage = WatchedStorage(world.storage, after=die)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a dead process, alone or in a group
        await verify(replace(world, storage=storage), reader)
    told = [call for run in await world.dreams.runs() for call in await world.dreams.calls(run.run_id)]
    in_flight = len(reader.asked) - len([call for call in told if not call.failed])
    assert in_flight in {0, 1}
    world.clock.advance(world.options.lease)
    await world.dreams.run(passes=["exact-fold"])
    await verify(world, reader)
    assert len(reader.asked) == 2 + in_flight
    assert all(one.verdict is EvidenceVerdict.VERIFIED for one in await world.active())


async def test_the_forecast_tells_calls_and_tokens_and_asks_nobody(world: World):
    reader = await lamps(world)
    foreseen = await replace(world, chat=reader).dreams.forecast_verification()
    assert (foreseen.calls, reader.asked) == (2, [])
    done = of(await verify(world, reader))
    assert done.calls == foreseen.calls
    assert done.input_tokens <= foreseen.directive_tokens + foreseen.data_tokens
