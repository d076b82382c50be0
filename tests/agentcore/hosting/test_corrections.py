# ruff: noqa: RUF001 - punctuation of the languages it knows
"""A user who corrects the assistant leaves feedback, in whatever language."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host
from agentcore.domain import FeedbackKind
from agentcore.errors import InvalidOptionsError
from agentcore.hosting import is_correction
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "No, the other file.",
        "That's wrong.",
        "that\u2019s not right, it was Tuesday",
        "You were wrong about the date",
        "Actually, it was the left knee.",
        "That didn't work",
        "Please try again.",
        "I meant the second one",
        "Nein, das andere.",
        "Das ist falsch.",
        "Das stimmt so nicht",
        "Ich meinte Dienstag.",
        "Non, pas celui-là.",
        "C'est faux.",
        "Ce n'est pas ce que j'ai demandé",
        "No, el otro.",
        "Eso está mal.",
        "Te equivocas, fue el martes",
        "Não, o outro.",
        "Isso está errado.",
        "Na verdade não é isso que eu pedi",
        "No, l'altro.",
        "È sbagliato.",
        "Ti sbagli",
        "Nee, de andere.",
        "Dat klopt niet.",
        "Ik bedoelde dinsdag",
        "不对，是星期二。",
        "你说错了",
        "再試一次",
        "違います。火曜日です。",
        "それは間違っています",
        "Нет, другой файл.",
        "Это неверно",
        "아니요, 화요일이에요",
    ],
)
def test_a_correction_is_recognised(text: str):
    assert is_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No problem.",
        "No, thanks!",
        "No worries, take your time.",
        "Now do the next one.",
        "Norway is lovely.",
        "What is wrong with my car?",
        "Nein danke",
        "Nein, danke.",
        "Kannst du mir helfen?",
        "Non, merci.",
        "No, gracias.",
        "No sé qué hacer hoy",
        "Não, obrigada.",
        "No, grazie.",
        "Nee, dank je.",
        "Novembre est froid",
        "你好，今天天气不错。",
        "いいえ、結構です。",
        "今日は火曜日です。",
        "The book says: " + "blah " * 80 + "that's wrong",
    ],
)
def test_other_words_are_not(text: str):
    assert not is_correction(text)


def builder(corrections: Any = None) -> AgentHostBuilder:
    made = AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("id")).with_conversation_log()
    return made.with_feedback(corrections=corrections)


async def talk(host: Host, *words: str, **more: bool) -> list[str]:
    await host.conversation.append(session_id="s1", role="assistant", content="It is on Monday.")
    for text in words:
        await host.conversation.append(session_id="s1", role="user", content=text, **more)
    return [row.summary for row in await host.feedback.newest() if row.kind is FeedbackKind.CORRECTION]


async def test_what_a_user_corrects_is_feedback_of_its_session():
    async with builder().build() as host:
        assert await talk(host, "Thanks.", "No,  it is on\nTuesday.") == ["No, it is on Tuesday."]
        (row,) = await host.feedback.newest()
        assert (row.session_id, row.detail, row.occurred_at) == ("s1", "No,  it is on\nTuesday.", NOON)


async def test_nobody_is_corrected_who_said_nothing():
    async with builder().build() as host:
        await host.conversation.append(session_id="s2", role="user", content="No, it is on Tuesday.")
        await host.conversation.append(session_id="s2", role="assistant", content="No, that's wrong.")
        assert await host.feedback.count() == 0


async def test_generated_words_correct_nobody():
    async with builder().build() as host:
        assert await talk(host, "No, it is on Tuesday.", generated=True) == []


async def test_a_host_may_bring_its_own_detector():
    async with builder(lambda text: "ukukosa" in text).build() as host:
        assert await talk(host, "No, wrong.", "ukukosa!") == ["ukukosa!"]


async def test_a_host_may_switch_it_off():
    async with builder(lambda _: False).build() as host:
        assert await talk(host, "No, wrong.") == []


async def test_without_a_feedback_log_nothing_is_detected():
    made = AgentHostBuilder(None, clock=ManualClock(NOON)).with_conversation_log()
    async with made.build() as host:
        await host.conversation.append(session_id="s1", role="assistant", content="It is on Monday.")
        await host.conversation.append(session_id="s1", role="user", content="No, it is on Tuesday.")
        assert await host.storage.read(host.conversation.scope, lambda view: view.feedback.count()) == 0


def test_a_detector_that_cannot_be_called_is_refused():
    with pytest.raises(InvalidOptionsError, match="corrections"):
        builder("no function").build()
