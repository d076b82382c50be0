"""What hypotheses cost: a night over a large scope with 500 new entries, and the lane beside recall.

`python -m tests.bench.hypothesis_cost [ENTRIES] [HYPOTHESES]` prints the seconds of the first look at the new entries
and the milliseconds of a recall with and without the lane, by the wall clock and of the processor.
"""

import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import Hypothesis, HypothesisSource
from agentcore.stores import UnitOfWork
from agentcore.stores.storage import Origin
from agentcore.testing import ManualClock
from dream.domain.guessing_passes import HYPOTHESES
from dream.options import DreamOptions
from dream.stores import dream_stores
from tests.bench.corpus import generated, words_of

_START: Final = datetime(2025, 6, 1, 3, tzinfo=UTC)
_NEW: Final = 500
_AT_ONCE: Final = 2_000
_ROUNDS: Final = 200
_SCOPE: Final = Scope.default()


async def main(size: int, guesses: int) -> None:
    """Measure and print."""
    clock = ManualClock(_START)
    options = DreamOptions.model_validate({"modes": {"*": "off", HYPOTHESES.name: "apply"}})
    with tempfile.TemporaryDirectory() as folder:
        builder = AgentHostBuilder(Path(folder), clock=clock).with_memory().with_dreaming(options, in_background=False)
        async with builder.build() as host:
            plain = generated(words_of(), size + _NEW, now=_START - timedelta(days=30))
            # A word that twenty records hold, so that each new one has partners to be paired with.
            topics = max(1, size // 20)
            made = (replace(one, content=f"{one.content} topic{n % topics:05}x") for n, one in enumerate(plain))
            for start in range(0, size, _AT_ONCE):
                some = list(islice(made, min(_AT_ONCE, size - start)))
                await host.storage.write(_SCOPE, lambda unit, some=some: unit.entries.add(some), origin=Origin.HOST)
            await host.storage.write(_SCOPE, _read_all)
            await host.memory.recall("warm the index up")
            await host.dreams.run()
            fresh = list(islice(made, _NEW))
            await host.storage.write(_SCOPE, lambda unit: unit.entries.add(fresh), origin=Origin.HOST)
            await host.memory.recall("follow the feed")
            began, busy = time.perf_counter(), time.process_time()
            report = await host.dreams.run()
            took, busy = time.perf_counter() - began, time.process_time() - busy
            (told,) = (one for one in report.passes if one.name == HYPOTHESES.name)
            seconds = f"{took:.2f} s, of them {busy:.2f} s of the processor"
            print(f"{size:,} entries, {_NEW} new: {seconds}, {dict(told.notes)}", flush=True)
            await _lane(host, guesses, [one.id for one in fresh], words_of())


async def _lane(host: Host, guesses: int, entry_ids: list[str], words: list[str]) -> None:
    made = [_guess(place, entry_ids, words) for place in range(guesses)]
    for start in range(0, guesses, _AT_ONCE):
        some = made[start : start + _AT_ONCE]
        await host.storage.write(_SCOPE, lambda unit, some=some: unit.hypotheses.apply([(None, one) for one in some]))
    began = time.perf_counter()
    await host.memory.recall("first", related_dreams=3)
    print(f"{guesses:,} hypotheses: index built in {time.perf_counter() - began:.2f} s", flush=True)
    timed = {0: list[tuple[float, float]](), 3: list[tuple[float, float]]()}
    for place in range(_ROUNDS):
        query = " ".join(words[(place * 7 + step) % len(words)] for step in range(6))
        # The second of two equal queries finds parts of it at hand, so each comes first in turn.
        for related in (0, 3) if place % 2 else (3, 0):
            began, busy = time.perf_counter(), time.process_time()
            await host.memory.recall(query, related_dreams=related)
            timed[related].append((time.perf_counter() - began, time.process_time() - busy))
    for at, name in enumerate(("wall clock", "processor")):
        bare, beside = (1_000 * median(pair[at] for pair in timed[related]) for related in (0, 3))
        more = 100 * (beside / bare - 1)
        print(f"recall by {name}: {bare:.2f} ms, with the lane {beside:.2f} ms ({more:+.0f} %), medians of {_ROUNDS}")


def _read_all(unit: UnitOfWork) -> None:
    dream_stores(unit).cursors.move(HYPOTHESES.name, unit.entries.last_position())


def _guess(place: int, entry_ids: list[str], words: list[str]) -> Hypothesis:
    said = " ".join(words[(place * 13 + step * 17) % len(words)] for step in range(12))
    one, other = entry_ids[place % len(entry_ids)], entry_ids[(place * 3 + 1) % len(entry_ids)]
    if one == other:
        other = f"{other}x"
    return Hypothesis(
        id=f"h{place:06}",
        scope=_SCOPE,
        hypothesis=said,
        what_if=f"What if {said}?",
        possible_outcome="",
        rationale="made",
        question="?",
        likelihood=0.5,
        confidence=0.5,
        source_refs=(HypothesisSource.parse(f"entry:{one}"), HypothesisSource.parse(f"entry:{other}")),
        created_at=_START,
        created_by="bench",
        expires_at=_START + timedelta(days=30),
    )


if __name__ == "__main__":
    asyncio.run(main(*(int(one.replace("_", "")) for one in (*sys.argv[1:], "100000", "10000")[:2])))
