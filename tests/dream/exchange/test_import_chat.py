"""Chat JSONL: messages become turns."""

from datetime import UTC, datetime, timedelta

import pytest
from exchange_desk import Desk

from agentcore.domain import RecordKind, Trust
from dream.errors import InvalidFileError
from dream.interfaces.exchange import SkipReason

AT = "2025-05-01T12:00:00+02:00"


def message(content: object = "Hi", role: str = "user", **more: object) -> dict[str, object]:
    return {"session": "s1", "timestamp": AT, "role": role, "content": content, **more}


async def test_a_message_becomes_a_turn_of_its_session(desk: Desk) -> None:
    report = await desk.bring(desk.lines("log.jsonl", message("Hello", name="ana"), message("Hi", "assistant")))
    hello, answer = await desk.session("s1")
    assert (hello.role, hello.content, hello.speaker, hello.trust) == ("user", "Hello", "ana", Trust.STATED)
    assert (answer.role, answer.content, answer.speaker, answer.trust) == ("assistant", "Hi", None, Trust.INFERRED)
    assert hello.occurred_at == datetime(2025, 5, 1, 10, tzinfo=UTC)
    assert (report.added, report.sessions) == ({RecordKind.TURN: 2}, 1)


@pytest.mark.parametrize(
    ("given", "stored", "trust"),
    [
        ("system", "system", Trust.STATED),
        ("developer", "system", Trust.STATED),
        ("tool", "tool", Trust.UNTRUSTED),
        ("function", "tool", Trust.UNTRUSTED),
    ],
)
async def test_a_role_says_how_far_its_text_is_trusted(desk: Desk, given: str, stored: str, trust: Trust) -> None:
    await desk.bring(desk.lines("log.jsonl", message(role=given)))
    (turn,) = await desk.session("s1")
    assert (turn.role, turn.trust) == (stored, trust)


async def test_a_line_without_a_session_belongs_to_one_named_after_the_file(desk: Desk) -> None:
    await desk.bring(desk.lines("monday.jsonl", {"role": "user", "content": "Hi"}))
    assert [turn.content for turn in await desk.session("monday")] == ["Hi"]


async def test_a_line_without_a_timestamp_was_said_with_the_line_before_it(desk: Desk) -> None:
    path = desk.lines(
        "log.jsonl", message("a"), message("b", timestamp=None), message("c", session="new", timestamp=None)
    )
    await desk.bring(path)
    first, second = await desk.session("s1")
    assert (first.content, second.content) == ("a", "b")
    assert first.occurred_at == second.occurred_at
    assert [turn.occurred_at for turn in await desk.session("new")] == [desk.clock.now()]


async def test_the_order_of_lines_without_timestamps_is_kept(desk: Desk) -> None:
    await desk.bring(desk.lines("log.jsonl", *(message(str(n), timestamp=None) for n in range(50))))
    assert [turn.content for turn in await desk.session("s1")] == [str(n) for n in range(50)]


async def test_a_timestamp_can_be_seconds_since_1970(desk: Desk) -> None:
    await desk.bring(
        desk.lines("log.jsonl", message("a", timestamp=1_746_093_600), message("b", timestamp=1_746_093_600.5))
    )
    first, second = await desk.session("s1")
    assert first.occurred_at == datetime(2025, 5, 1, 10, tzinfo=UTC)
    assert second.occurred_at - first.occurred_at == timedelta(milliseconds=500)


async def test_of_content_in_parts_the_texts_are_taken(desk: Desk) -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}, "here"]
    await desk.bring(desk.lines("log.jsonl", message(parts)))
    assert [turn.content for turn in await desk.session("s1")] == ["Look\n\nhere"]


async def test_messages_without_text_or_with_too_much_are_counted_and_left_out(desk: Desk) -> None:
    path = desk.lines(
        "log.jsonl", message(None, "assistant"), message(" "), message([]), message("x" * 6_000_001), message()
    )
    report = await desk.bring(path)
    assert report.skipped == {RecordKind.TURN: {SkipReason.NO_TEXT: 3, SkipReason.TOO_LONG: 1}}
    assert report.added == {RecordKind.TURN: 1}


async def test_equal_messages_all_come_in_and_none_comes_twice(desk: Desk) -> None:
    path = desk.lines("log.jsonl", message("ok"), message("ok"), message("ok"))
    assert (await desk.bring(path)).added == {RecordKind.TURN: 3}
    assert (await desk.bring(path)).known == {RecordKind.TURN: 3}
    longer = desk.lines("log.jsonl", *[message("ok")] * 4)
    assert (await desk.bring(longer)).added == {RecordKind.TURN: 1}


async def test_a_longer_version_of_a_file_adds_its_new_lines_only(desk: Desk) -> None:
    await desk.bring(desk.lines("log.jsonl", message("a")))
    report = await desk.bring(desk.lines("log.jsonl", message("a"), message("b")))
    assert (report.added, report.known) == ({RecordKind.TURN: 1}, {RecordKind.TURN: 1})


async def test_line_ends_of_windows_a_byte_order_mark_and_blank_lines_do_no_harm(desk: Desk) -> None:
    path = desk.file("log.jsonl", b'\xef\xbb\xbf{"role":"user","content":"a"}\r\n\r\n  \n{"role":"user","content":"b"}')
    await desk.bring(path)
    assert [turn.content for turn in await desk.session("log")] == ["a", "b"]


@pytest.mark.parametrize(
    ("faulty", "problem"),
    [
        ({"content": "a"}, "role is missing"),
        (message(role="robot"), "role should be one of user, assistant"),
        (message({"a": 1}), "content should be a text"),
        (message(timestamp="yesterday"), "'yesterday' is no instant"),
        (message(timestamp="2025-05-01T10:00:00"), "has no time zone"),
        (message(timestamp=1e18), "timestamp should be seconds"),
        (message(timestamp=True), "timestamp should be an instant"),
        (message(session=7), "session should be a text"),
        (message(session="x" * 300), "session should be 1 to 256"),
        (message("a\0b"), "NUL"),
        ([1], "no JSON object"),
    ],
)
async def test_a_faulty_line_is_named_by_its_number_and_nothing_is_written(
    desk: Desk, faulty: object, problem: str
) -> None:
    path = desk.lines("log.jsonl", message(), faulty)
    with pytest.raises(InvalidFileError, match=rf"log\.jsonl, line 2: .*{problem}"):
        await desk.bring(path)
    assert await desk.session("s1") == []
