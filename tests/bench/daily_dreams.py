"""A dream a day, by what is new: tokens of an agent with much to do, and of a quiet one, with answers by rule.

`python -m tests.bench.daily_dreams DAYS BASE ENTRIES TURNS` prints one row; `BASE` entries are there and reviewed, and
`ENTRIES` and `TURNS` come each day. The tokens of questions are those of the prompts; answers are as long as the rules
write them: a fact for each turn in which somebody tells of themselves.
"""

import asyncio
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from statistics import median
from typing import Any

from agentcore import AgentHostBuilder, Host, MemoryEntry, Scope
from agentcore.domain import EntryFilter, Turn
from agentcore.llm import ChatRequest
from agentcore.stores import ReadView, UnitOfWork
from agentcore.stores.storage import Origin
from agentcore.testing import ManualClock, ScriptedChatClient
from dream.interfaces.benchmark import scripted_answer
from dream.options import DreamOptions
from dream.passes.prompts import entry_line, importance_at, said_line
from dream.stores import dream_stores
from tests.bench.corpus import generated, words_of

_START = datetime(2025, 6, 1, 8, tzinfo=UTC)
_DAY = timedelta(days=1)
_SESSION = 10
"""Turns of a session; of a quiet day one of two."""
_TOLD = ("I moved to {}.", "We bought a {} for my sister.", "My brother likes {} a lot.", "I am learning about {} now.")


def by_rule(request: ChatRequest) -> str:
    """Answer by the rules of a benchmark."""
    return scripted_answer("\n\n".join(message.content for message in request.messages))


async def measure(folder: Path, days: int, base: int, entries: int, turns: int) -> dict[str, Any]:
    """Dream once a day and return what each day cost, in tokens."""
    clock, words = ManualClock(_START), words_of()
    options = DreamOptions()
    options = options.replace(model=options.model.replace(tokens_per_run=None, tokens_per_day=None))
    builder = AgentHostBuilder(folder, clock=clock).with_memory().with_conversation_log().with_skills().with_feedback()
    builder = builder.with_llm(ScriptedChatClient(repeat(by_rule))).with_dreaming(options, in_background=False)
    made = generated(words, base + days * entries, now=_START - _DAY)
    chance, given, got, all_sent = random.Random(7), list[int](), list[int](), list[int]()
    async with builder.build() as host:
        await _store(host, list(islice(made, base)), [], is_reviewed=True)
        before = _size(folder)
        for day in range(days):
            said = _talk(chance, words, day, turns, clock.now())
            await _store(host, list(islice(made, entries)), said)
            all_sent.append(await host.storage.read(Scope.default(), partial(_all, said=said)))
            report = await host.dreams.run()
            given.append(sum(one.input_tokens for one in report.passes))
            got.append(sum(one.output_tokens for one in report.passes))
            clock.advance(_DAY)
        grown = (_size(folder) - before) / days
    return {"questions": given, "answers": got, "store and log": all_sent, "grown": grown}


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*.db*"))


async def _store(host: Host, entries: list[MemoryEntry], turns: list[Turn], *, is_reviewed: bool = False) -> None:
    def write(unit: UnitOfWork) -> None:
        unit.entries.add(entries)
        unit.turns.add(turns)
        if is_reviewed:
            for name in ("memory-consolidation", "near-duplicates", "exact-fold"):
                dream_stores(unit).cursors.move(name, unit.entries.last_position())

    await host.storage.write(Scope.default(), write, origin=Origin.HOST)


def _talk(chance: random.Random, words: list[str], day: int, turns: int, at: datetime) -> list[Turn]:
    """Return what is said on a day: people and an assistant in turn, of 10 to 40 words."""
    found: list[Turn] = []
    for place in range(turns):
        text = " ".join(chance.choices(words, k=chance.randint(10, 40)))
        is_person = place % 2 == 0
        said = f"{chance.choice(_TOLD).format(chance.choice(words))} {text}." if is_person else f"{text}."
        found.append(
            Turn(
                id=f"d{day}-{place}",
                scope=Scope.default(),
                session_id=f"d{day}-{place // _SESSION}",
                role="user" if is_person else "assistant",
                speaker="Ana" if is_person else None,
                content=said,
                occurred_at=at + timedelta(minutes=place),
                recorded_at=at + timedelta(minutes=place),
            )
        )
    return found


def _all(view: ReadView, *, said: list[Turn]) -> int:
    """Return the tokens of the whole store, sent once, and of the day's log, sent to four readers."""
    importance = importance_at(view.decay, view.now)
    store = sum(len(entry_line("e9999", one, importance).encode()) + 1 for one in view.entries.select(EntryFilter()))
    log = sum(len(said_line("t9999", one, is_new=True).encode()) + 1 for one in said)
    return (store + 4 * log) // 4


def main() -> None:
    """Measure and print one row."""
    days, base, entries, turns = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="daily-dreams-") as folder:
        told = asyncio.run(measure(Path(folder), days, base, entries, turns))
    spent = [one + other for one, other in zip(told["questions"], told["answers"], strict=True)]
    asked, sent = sum(told["questions"]), sum(told["store and log"])
    print(
        f"| {base:,} + {entries:,} entries, {turns:,} turns a day, {days} days | {median(told['questions']):,.0f} "
        f"| {median(spent):,.0f} | {asked:,} | {sum(spent):,} | {sent:,} | {sum(spent) / sent:.3f} "
        f"| {told['grown'] / 1e6:.2f} |"
    )


if __name__ == "__main__":
    main()
