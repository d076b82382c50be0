"""What people write and ask: languages, scripts, code, and what is hardly a text."""
# ruff: noqa: RUF001 - the letters of other scripts are the subject

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from agentcore.domain import MemoryEntry, Scope
from agentcore.recall import Recall
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
SCOPE = Scope.default()

SENTENCES = {
    "zh-move": "林晓去年秋天从上海搬到了成都,现在住在锦江区的一套小公寓里。",
    "zh-cat": "她的猫叫年糕,每天早上六点准时叫她起床。",
    "zh-work": "她在一家做医疗影像软件的公司当测试工程师。",
    "ja-trip": "先週の土曜日、家族と一緒に京都の嵐山へ紅葉を見に行きました。",
    "ja-allergy": "息子はそばアレルギーがあるので、外食のときは必ず店員に確認します。",
    "ja-book": "寝る前に村上春樹の小説を少しずつ読んでいます。",
    "ko-trip": "지난달 서울 여행 때 지하철에서 지갑을 잃어버렸다.",
    "th-move": "เธอย้ายไปอยู่เชียงใหม่เมื่อปีที่แล้วเพราะอากาศดีกว่า",
    "ar-move": "انتقلت مريم من الإسكندرية إلى القاهرة في شهر مايو الماضي.",
    "ar-coffee": "يشرب والدها القهوة بدون سكر كل صباح.",
    "ar-school": "تدرس ابنتها الهندسة المعمارية في جامعة بيروت.",
    "de-dentist": "Frau Weiß hat am Donnerstag um halb neun einen Termin beim Zahnarzt in der Königstraße.",
    "de-peanuts": "Ihr jüngster Sohn verträgt keine Erdnüsse und trägt immer ein Notfallset bei sich.",
    "de-garden": "Im Frühling möchten sie hinter dem Haus ein Gewächshaus für Tomaten bauen.",
    "pt-meeting": "A Joana marcou a reunião de orçamento para segunda-feira às nove em São Paulo.",
    "pt-dog": "O cachorro dela se chama Pipoca e tem medo de trovão.",
    "pt-exam": "O João vai fazer a prova de direção de novo em março, porque reprovou na baliza.",
    "he-music": "מרים מנגנת בכינור בתזמורת של חיפה מאז שנת 2015.",
    "fa-want": "او می\u200cخواهد سال آینده به شیراز برود.",
    "code-retry": "The deploy failed because fetchUserProfile() swallows the timeout of http_client.get_json.",
    "code-flag": "Set MAX_RETRY_COUNT to 5 in config/settings_prod.yaml before the release.",
    "code-c": "The parser in src/lexer.c leaks when parse_token returns NULL.",
    "mixed": "Nächste Woche besucht Ana das 東京 office und zeigt die デモ auf Python 3.13.",
    "emoji": "Ben answered 🎉🎉 that the family 👩‍👩‍👧 flies to Lisbon ✈️ on the 3rd.",
    "stop": "To be, or not to be.",
}


def entry(name: str, content: str) -> MemoryEntry:
    return MemoryEntry(id=name, scope=SCOPE, content=content, created_at=NOON, recorded_at=NOON, last_seen_at=NOON)


@asynccontextmanager
async def opened(path: Path | None = None) -> AsyncIterator[tuple[SqlStorage, Recall]]:
    async with AsyncExitStack() as stack:
        storage = SqlStorage(path, clock=ManualClock(NOON))
        await storage.start()
        stack.push_async_callback(storage.stop)
        recall = Recall(storage)
        await recall.start()
        stack.push_async_callback(recall.stop)
        yield storage, recall


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recall() -> AsyncIterator[Recall]:
    async with opened() as (storage, recall):
        entries = [entry(name, text) for name, text in SENTENCES.items()]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        yield recall


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def found(recall: Recall, query: str, k: int = 10) -> list[str]:
    return [hit.entry.id for hit in await recall.search(SCOPE, query, k=k)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("林晓现在住在哪里?成都吗?", "zh-move"),
        ("她的猫几点叫她起床", "zh-cat"),
        ("谁是测试工程师", "zh-work"),
        ("京都へ行ったのはいつですか", "ja-trip"),
        ("アレルギーがあるのは誰?", "ja-allergy"),
        ("どんな小説を読んでいますか", "ja-book"),
        ("서울 여행에서 잃어버린 것", "ko-trip"),
        ("ใครอยู่เชียงใหม่", "th-move"),
    ],
)
async def test_a_question_in_chinese_japanese_korean_or_thai_finds_its_sentence_first(
    recall: Recall, query: str, name: str
):
    assert (await found(recall, query))[0] == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("متى انتقلت مريم إلى القاهرة؟", "ar-move"),
        ("هل يشرب والدها القهوة مع سكر؟", "ar-coffee"),
        ("ماذا تدرس ابنتها في الجامعة؟ الهندسة؟", "ar-school"),
        ("اِنْتَقَلَتْ مَرْيَمُ", "ar-move"),
        ("الهـــندسة", "ar-school"),
        ("قهوه بلا سكر", "ar-coffee"),
        ("هندسة معمارية", "ar-school"),
        ("من الاسكندرية للقاهرة", "ar-move"),
        ("באיזו תזמורת מרים מנגנת?", "he-music"),
        ("מִרְיָם", "he-music"),
        ("او چه می\u200cخواهد؟", "fa-want"),
    ],
)
async def test_a_question_written_from_right_to_left_finds_its_sentence_first(recall: Recall, query: str, name: str):
    assert (await found(recall, query))[0] == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Wann hat Frau WEISS den Termin beim Zahnarzt?", "de-dentist"),
        ("Wer verträgt keine Erdnüsse?", "de-peanuts"),
        ("Was möchten sie im Frühling bauen?", "de-garden"),
        ("KÖNIGSTRASSE", "de-dentist"),
        ("wer vertragt keine Erdnuss", "de-peanuts"),
        ("Gewachshaus im Fruhling", "de-garden"),
    ],
)
async def test_a_german_question_finds_its_sentence_first(recall: Recall, query: str, name: str):
    assert (await found(recall, query))[0] == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Quando é a reunião da Joana?", "pt-meeting"),
        ("como se chama o cachorro?", "pt-dog"),
        ("Por que o João reprovou na prova de direção?", "pt-exam"),
        ("SA\u0303O PAULO", "pt-meeting"),
        ("reuniao de orcamento", "pt-meeting"),
        ("o cao tem medo de trovao", "pt-dog"),
        ("quando o joao faz a prova de direcao", "pt-exam"),
    ],
)
async def test_a_portuguese_question_finds_its_sentence_first(recall: Recall, query: str, name: str):
    assert (await found(recall, query))[0] == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("why does fetchUserProfile fail?", "code-retry"),
        ("user profile timeout", "code-retry"),
        ("http_client", "code-retry"),
        ("get json", "code-retry"),
        ("max_retry_count", "code-flag"),
        ("maxRetryCount", "code-flag"),
        ("settings_prod.yaml", "code-flag"),
        ("config/settings_prod", "code-flag"),
        ("src/lexer.c", "code-c"),
        ("HTTPClient", "code-retry"),
        ("parse token returns null", "code-c"),
    ],
)
async def test_an_identifier_is_found_by_its_spelling_and_by_its_parts(recall: Recall, query: str, name: str):
    assert (await found(recall, query))[0] == name


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", []),
        (" \t\n\u2003", []),
        ("?!… — «»", []),
        ("\x00\x01\x1b[31m\x7f", []),
        ("\u200d\u200c\u200b\ufeff\u202e\u2066", []),
        ("👩‍👩‍👧 🎉 ✈️", []),
        ("🎉🎉 Lisbon\x00 👩‍👩‍👧", ["emoji"]),
        ("Lis\u00adbon", ["emoji"]),
        ("\u202eLisbon\u202c", ["emoji"]),
        ("東京 デモ Python", ["mixed"]),
        ("the and of it", []),
        ("to be or not to be", ["stop"]),
        ("nosuchword", []),
        ("\ud800 lisbon", ["emoji"]),
        ("'; DROP TABLE entries; -- OR 1=1 NEAR/2 \"*", []),
    ],
)
async def test_any_query_is_answered(recall: Recall, query: str, names: list[str]):
    assert await found(recall, query) == names


@pytest.mark.parametrize(
    "query",
    [
        "lisbon " * 150_000,
        "x" * 1_000_000,
        "猫" * 340_000,
        "\u0301" * 500_000,
        "🎉\u200d" * 150_000,
        "Lisbon" + "\n" * 10**6,
    ],
    ids=["words", "one word", "han", "marks", "emoji", "blank"],
)
async def test_a_query_of_a_megabyte_is_answered(recall: Recall, query: str):
    names = await found(recall, query)
    assert names == (["emoji"] if "isbon" in query else [])


@pytest.mark.parametrize("k", [1, 10, 10_001, 2**31, 2**63, 2**80])
async def test_however_many_are_asked_for_those_that_match_come(recall: Recall, k: int):
    assert (
        await found(recall, "mag das Haus in Lisbon oder São Paulo", k)
        == (await found(recall, "mag das Haus in Lisbon oder São Paulo", 1_000))[:k]
    )


_OTHER_PROCESS = """
import asyncio, sys
from datetime import datetime, timezone
from pathlib import Path
from agentcore import AgentHostBuilder

async def main():
    async with AgentHostBuilder(Path(sys.argv[1])).with_memory().build() as host:
        for line in sys.stdin:
            word, _, rest = line.strip().partition(" ")
            if word == "remember":
                print((await host.memory.remember(rest)).id, flush=True)
            elif word == "forget":
                await host.memory.forget(rest)
                print("done", flush=True)
            else:
                print(*(hit.entry.content for hit in await host.memory.recall(rest)), sep="|", flush=True)

asyncio.run(main())
"""


async def test_a_write_in_one_process_is_found_by_the_next_query_of_the_other(tmp_path: Path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OTHER_PROCESS, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(2)
    ]

    def ask(process: "subprocess.Popen[str]", line: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    one, other = processes
    try:
        assert (ask(one, "recall Lisbon"), ask(other, "recall Lisbon")) == ("", "")
        for number, (writer, reader) in enumerate([(one, other), (other, one)]):
            name = ask(writer, f"remember Visit {number} to Lisbon")
            assert ask(reader, f"recall visit {number}").split("|")[0] == f"Visit {number} to Lisbon"
            ask(reader, f"forget {name}")
            assert ask(writer, f"recall visit {number}") == ""
    finally:
        for process in processes:
            process.communicate(timeout=30)
    assert [process.returncode for process in processes] == [0, 0]
