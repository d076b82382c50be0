"""Thirty nights of hypotheses on conversations, and a blind sample of their pairs beside those of a list's order.

`python -m tests.bench.hypothesis_pairs LOCOMO.json FOLDER` writes `pairs.md`, a shuffled sample without a word of
where a pair comes from, and `pairs-key.md`, which tells it. The other half is made as Dense-Mem makes pairs: of the 60
newest records, sorted by id, each with those behind it.
"""

import asyncio
import random
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore import AgentHostBuilder, MemoryEntry, Scope
from agentcore.domain import Hypothesis, HypothesisState
from agentcore.ids import RandomIds
from agentcore.testing import ManualClock
from dream.interfaces.exchange.importer import import_file
from dream.options import DreamOptions

_START: Final = datetime(2024, 6, 1, 3, tzinfo=UTC)
_NIGHTS: Final = 30
_SAMPLE: Final = 60
_NEWEST: Final = 60
_SEED: Final = 22
_ALONE: Final = {"*": "off", "reflect": "apply", "re-evaluate": "apply", "hypotheses": "apply"}
Texts = tuple[str, str]


async def nights(sample: Path) -> tuple[list[Hypothesis], list[MemoryEntry], list[int]]:
    """Dream for thirty nights over one conversation; return hypotheses, entries, and how many came each night."""
    clock, scope = ManualClock(_START), Scope.default()
    builder = AgentHostBuilder(None, clock=clock).with_memory().with_conversation_log()
    found: list[Hypothesis] = []
    options = DreamOptions.model_validate({"modes": _ALONE})
    async with builder.with_dreaming(options, in_background=False).build() as host:
        await import_file(host.storage, scope, sample, clock=clock, ids=RandomIds())
        counts: list[int] = []
        for _ in range(_NIGHTS):
            await host.dreams.run()
            found = await host.storage.read(scope, lambda view: list(view.hypotheses.every()))
            counts.append(len(found))
            clock.advance(timedelta(days=1))
        entries = await host.storage.read(scope, lambda view: list(view.entries.every()))
    return found, entries, [now - before for before, now in zip([0, *counts], counts, strict=False)]


def in_list_order(entries: Iterable[MemoryEntry]) -> list[Texts]:
    """Return pairs as Dense-Mem's generator makes them of records whose predicates differ."""
    newest = sorted(entries, key=lambda one: (one.created_at, one.id), reverse=True)[:_NEWEST]
    ordered = sorted(newest, key=lambda one: one.id)
    return [(one.content, other.content) for one, other in islice(combinations(ordered, 2), _SAMPLE // 6)]


async def main(samples: list[Any], folder: Path) -> None:
    """Write the sample and print what the nights brought."""
    ours: list[Texts] = []
    theirs: list[Texts] = []
    with tempfile.TemporaryDirectory() as temporary:
        for sample in samples:
            path = Path(temporary) / "one.json"
            path.write_bytes(orjson.dumps([sample]))
            found, entries, new = await nights(path)
            by_id = {one.id: one.content for one in entries}
            pairs = [frozenset(ref.id for ref in one.source_refs) for one in found]
            stale = sum(one.state is HypothesisState.STALE for one in found)
            print(f"{sample['sample_id']}: {len(entries)} entries, {len(found)} hypotheses, ", end="")
            print(f"{len(pairs) - len(set(pairs))} pairs twice, {stale} expired, by night {new}", flush=True)
            ours += [(by_id[one.source_refs[0].id], by_id[one.source_refs[1].id]) for one in found]
            theirs += in_list_order(entries)
    _write(folder, ours, theirs)


def _write(folder: Path, ours: list[Texts], theirs: list[Texts]) -> None:
    chance = random.Random(_SEED)
    drawn = [("ours", pair) for pair in chance.sample(ours, _SAMPLE)] + [("list order", pair) for pair in theirs]
    chance.shuffle(drawn)
    lines: list[Any] = ["# Pairs of records", "", _ASKED, ""]
    for number, (_, (one, other)) in enumerate(drawn, 1):
        lines += [f"{number}. A: {one}", f"   B: {other}", ""]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.md").write_text("\n".join(lines), encoding="utf-8")
    key = [f"{number}. {origin}" for number, (origin, _) in enumerate(drawn, 1)]
    (folder / "pairs-key.md").write_text("\n".join(key) + "\n", encoding="utf-8")


_ASKED: Final = (
    "For each pair: do A and B truly bear on each other? That is, would somebody who knows A want to know B as well, "
    "to understand it, decide about it or follow up on it (a cause, a purpose, a step of the same plan, a change, a "
    "conflict, a piece of the same habit)? Two records that merely name the same person, or have a word in common, do "
    "not. Answer `yes` or `no` for each number. Add `restates` where B says nothing that A does not say."
)

if __name__ == "__main__":
    asyncio.run(main(orjson.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2])))
