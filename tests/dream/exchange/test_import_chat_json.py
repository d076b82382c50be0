"""Chat JSON: a whole talk becomes turns, whatever questions stand beside them."""

from datetime import UTC, datetime

import orjson
import pytest
from exchange_desk import Desk
from quizzes import TRIP

from agentcore.domain import RecordKind, Trust
from dream.errors import InvalidFileError
from dream.interfaces.exchange import Format, SkipReason


@pytest.mark.parametrize("indent", [0, orjson.OPT_INDENT_2])
async def test_a_talk_is_told_by_its_content_on_one_line_or_many(desk: Desk, indent: int):
    report = await desk.bring(desk.file("talk.json", orjson.dumps(TRIP, option=indent)))
    assert (report.format, report.added, report.sessions) == (Format.CHAT_JSON, {RecordKind.TURN: 3}, 2)
    booked, noted = await desk.session("trip:1")
    assert (booked.role, booked.speaker, booked.trust) == ("user", "Ines", Trust.STATED)
    assert booked.occurred_at == datetime(2024, 5, 8, 18, 5, tzinfo=UTC)
    assert (noted.role, noted.speaker, noted.trust) == ("assistant", "Assistant", Trust.INFERRED)


async def test_importing_a_talk_twice_adds_nothing(desk: Desk):
    path = desk.file("talk.json", orjson.dumps(TRIP))
    await desk.bring(path)
    assert (await desk.bring(path)).known == {RecordKind.TURN: 3}


async def test_a_talk_without_a_name_is_called_after_its_file_and_its_number_is_one(desk: Desk):
    turns = [{**TRIP["turns"][0], "session": None, "speaker": None}]
    await desk.bring(desk.file("monday.json", orjson.dumps({"turns": turns})))
    await desk.bring(desk.file("other.json", orjson.dumps({"chat": 7, "turns": turns})))
    assert [(await desk.session(name))[0].speaker for name in ("monday", "7")] == [None, None]


async def test_a_turn_without_text_is_skipped(desk: Desk):
    turns = [{**TRIP["turns"][0], "content": " "}, TRIP["turns"][1]]
    report = await desk.bring(desk.file("talk.json", orjson.dumps({**TRIP, "turns": turns})))
    assert report.skipped == {RecordKind.TURN: {SkipReason.NO_TEXT: 1}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"turns": [1]}', "turn 1: it is no object"),
        ('{"turns": [{"id": "1"}]}', "turn 1: role is missing"),
        ('{"turns": [{"id": "1", "role": "user"}]}', "turn 1: timestamp is missing"),
        ('{"turns": {}}', "its format cannot be told"),
        ('{"turns": [', "ends in the middle"),
    ],
)
async def test_a_file_that_is_no_talk_is_refused_in_a_sentence(desk: Desk, content: str, problem: str):
    with pytest.raises(InvalidFileError, match=problem):
        await desk.bring(desk.file("talk.json", content))


async def test_what_is_no_object_is_refused_as_chat_json(desk: Desk):
    for content in ("[]", '{"questions": []}', "{"):
        with pytest.raises(InvalidFileError, match=r"no chat JSON|is not JSON"):
            await desk.bring(desk.file("talk.json", content), file_format=Format.CHAT_JSON)
