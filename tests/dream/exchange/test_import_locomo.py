"""LoCoMo: turns to the log, observations to the memory, each down to its source."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from exchange_desk import Desk

from agentcore.domain import Level, RecordKind, SourceKind, Trust
from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.exchange import Note

DATE = "1:56 pm on 8 May, 2023"


def turn(dialogue_id: str, text: str = "Hi", speaker: str = "Ana", **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "dia_id": dialogue_id, "text": text, **more}


def sample(name: str = "conv-1", **parts: Any) -> dict[str, Any]:
    conversation = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": DATE,
        "session_1": [
            turn("D1:1", "I adopted a dog."),
            turn("D1:2", "Lovely!", "Ben"),
            turn("D1:3", "He is called Rex."),
        ],
    }
    observation = {
        "session_1_observation": {"Ana": [["Ana has a dog.", "D1:1"], ["The dog is Rex.", ["D1:1", "D1:3"]]]}
    }
    return {"sample_id": name, "conversation": conversation, "observation": observation, **parts}


def observing(*observations: Any) -> dict[str, Any]:
    return sample(observation={"session_1_observation": {"Ana": list(observations)}})


def written(*samples: Any) -> bytes:
    return orjson.dumps(list(samples))


async def test_turns_keep_their_order_session_and_speaker(desk: Desk) -> None:
    report = await desk.bring(desk.file("locomo.json", written(sample())))
    turns = await desk.session("conv-1:1")
    assert [(one.speaker, one.role, one.content) for one in turns] == [
        ("Ana", "user", "I adopted a dog."),
        ("Ben", "user", "Lovely!"),
        ("Ana", "user", "He is called Rex."),
    ]
    assert [one.occurred_at for one in turns] == [
        datetime(2023, 5, 8, 13, 56, second, tzinfo=UTC) for second in range(3)
    ]
    assert {one.recorded_at for one in turns} == {desk.clock.now()}
    assert report.sessions == 1


async def test_the_caption_of_a_photo_stands_behind_the_text_that_shares_it(desk: Desk) -> None:
    conversation = {"session_1_date_time": DATE, "session_1": [turn("D1:1", "Look!", blip_caption="a dog on a sofa")]}
    await desk.bring(desk.file("locomo.json", written(sample(conversation=conversation, observation={}))))
    (shown,) = await desk.session("conv-1:1")
    assert shown.content == "Look! [photo: a dog on a sofa]"


async def test_observations_become_entries_with_date_subject_and_sources(desk: Desk) -> None:
    report = await desk.bring(desk.file("locomo.json", written(sample())))
    first, second = await desk.entries()
    assert (first.content, first.category, first.metadata) == ("Ana has a dog.", "people/Ana", {"subject": "Ana"})
    assert (first.created_at, first.last_seen_at) == (datetime(2023, 5, 8, 13, 56, tzinfo=UTC),) * 2
    assert (first.level, first.trust, first.recorded_at) == (Level.EXPLICIT, Trust.STATED, desk.clock.now())
    turns = {one.id: one.content for one in await desk.session("conv-1:1")}
    assert {source.kind for source in second.sources} == {SourceKind.TURN}
    assert {turns[source.id] for source in second.sources} == {"I adopted a dog.", "He is called Rex."}
    assert report.added == {RecordKind.TURN: 3, RecordKind.ENTRY: 2}
    assert report.notes == {}


@pytest.mark.parametrize(
    ("cited", "found", "notes"),
    [
        ("D1:1; D1:3", 2, {Note.MALFORMED_SOURCE: 1}),
        ("D1:1, D1:2, D1:3", 3, {Note.MALFORMED_SOURCE: 1}),
        ("D:1:2", 1, {Note.MALFORMED_SOURCE: 1}),
        ("D1:02", 1, {Note.MALFORMED_SOURCE: 1}),
        ("somewhere", 0, {Note.MALFORMED_SOURCE: 1}),
        (["D1:1", "D1:1"], 1, {}),
        (["D1:1", "D9:9"], 1, {Note.UNKNOWN_SOURCE: 1}),
        ([], 0, {}),
        (None, 0, {Note.MALFORMED_SOURCE: 1}),
    ],
)
async def test_odd_dialogue_ids_are_read_as_far_as_possible_and_counted(
    desk: Desk, cited: object, found: Any, notes: dict[Note, int]
) -> None:
    report = await desk.bring(desk.file("locomo.json", written(observing(["Ana has a dog.", cited]))))
    (entry,) = await desk.entries()
    assert len(entry.sources) == found
    assert report.notes == notes


async def test_one_sample_can_be_taken_and_the_others_later(desk: Desk) -> None:
    path = desk.file("locomo.json", written(sample("conv-1"), sample("conv-2")))
    first = await desk.bring(path, sample="conv-2")
    assert first.added == {RecordKind.TURN: 3, RecordKind.ENTRY: 2}
    assert await desk.session("conv-1:1") == []
    second = await desk.bring(path)
    assert second.added == second.known == {RecordKind.TURN: 3, RecordKind.ENTRY: 2}


async def test_an_unknown_sample_is_answered_with_the_known_ones(desk: Desk) -> None:
    path = desk.file("locomo.json", written(sample("conv-1"), sample("conv-2")))
    with pytest.raises(UnknownSampleError, match=r"no sample 'conv-3'; choose among conv-1, conv-2\."):
        await desk.bring(path, sample="conv-3")


async def test_importing_the_same_file_again_adds_nothing(desk: Desk) -> None:
    path = desk.file("locomo.json", written(sample()))
    await desk.bring(path)
    before = await desk.dump()
    report = await desk.bring(path)
    assert report.added == {}
    assert await desk.dump() == before


async def test_an_observation_that_comes_later_still_cites_the_turns_of_before(desk: Desk) -> None:
    await desk.bring(desk.file("locomo.json", written(sample(observation={}))))
    report = await desk.bring(desk.file("locomo.json", written(observing(["Rex is a dog.", "D1:3"]))))
    (entry,) = await desk.entries()
    (cited,) = [one for one in await desk.session("conv-1:1") if one.content == "He is called Rex."]
    assert [source.id for source in entry.sources] == [cited.id]
    assert report.known == {RecordKind.TURN: 3}


async def test_a_source_that_retention_dropped_is_left_open_and_counted(desk: Desk) -> None:
    await desk.bring(desk.file("locomo.json", written(sample(observation={}))))
    gone = [one.id for one in await desk.session("conv-1:1")]
    await desk.storage.write(desk.scope, lambda unit: unit.turns.delete(gone))
    report = await desk.bring(desk.file("locomo.json", written(observing(["Rex is a dog.", "D1:3"]))))
    assert [entry.sources for entry in await desk.entries()] == [()]
    assert report.notes == {Note.UNKNOWN_SOURCE: 1}


async def test_equal_observations_of_one_session_all_come_in(desk: Desk) -> None:
    path = desk.file("locomo.json", written(observing(["Ana has a dog.", "D1:1"], ["Ana has a dog.", "D1:1"])))
    await desk.bring(path)
    assert await desk.contents() == ["Ana has a dog."] * 2
    assert (await desk.bring(path)).known[RecordKind.ENTRY] == 2


@pytest.mark.parametrize(
    ("said", "hour"),
    [("12:05 am on 1 June, 2023", 0), ("12:05 pm on 1 June, 2023", 12), ("1:05 PM on 1 JUNE 2023", 13)],
)
async def test_hours_are_read_from_the_half_of_the_day(desk: Desk, said: str, hour: int) -> None:
    conversation = {"session_1_date_time": said, "session_1": [turn("D1:1")]}
    await desk.bring(desk.file("locomo.json", written(sample(conversation=conversation, observation={}))))
    (one,) = await desk.session("conv-1:1")
    assert one.occurred_at == datetime(2023, 6, 1, hour, 5, tzinfo=UTC)


SESSION = {"session_1_date_time": DATE}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[", "not JSON"),
        (b"[]", "no LoCoMo file"),
        (b'[{"sample_id": "a"}]', "no LoCoMo file"),
        (b"[1]", "no LoCoMo file"),
        (b'[{"conversation": {}}]', "no LoCoMo file"),
        (written(sample("a"), sample("a")), "two samples are called 'a'"),
        (written(sample(conversation=[])), "sample conv-1: its conversation is no object"),
        (written(sample(conversation={"session_1": []})), "session_1_date_time should be written like"),
        (written(sample(conversation={"session_1": [], "session_1_date_time": "8 May"})), "session_1_date_time"),
        (written(sample(conversation={"session_1": [], "session_1_date_time": "1:00 pm on 31 June, 2023"})), "like"),
        (written(sample(conversation={"session_1": [], "session_1_date_time": "13:00 pm on 1 June, 2023"})), "like"),
        (written(sample(conversation={"session_1": {}, **SESSION})), "session_1 is no list"),
        (written(sample(conversation={"session_1": [{"text": "a"}], **SESSION})), "lacks speaker, dia_id or text"),
        (written(sample(conversation={"session_1": [turn("D1:1", " ")], **SESSION})), "blank"),
        (written(sample(observation={"session_9_observation": {}})), "session_9_observation belongs to no session"),
        (written(observing(["alone"])), "not a text with its dialogue ids"),
        (written(observing([3, "D1:1"])), "not a text with its dialogue ids"),
        (written(observing("text")), "session_1_observation is no list"),
    ],
)
async def test_a_faulty_file_is_refused_by_sample_and_writes_nothing(desk: Desk, content: bytes, problem: str) -> None:
    path = desk.file("locomo.json", content)
    with pytest.raises(InvalidFileError, match=problem):
        await desk.bring(path)
    assert (await desk.dump()).count(b"\n") == 2
