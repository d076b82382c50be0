"""Thirty days of conversation, a dream each evening: tokens sent, against sending the whole store and log each time.

`python -m tests.bench.thirty_days FOLDER LOCOMO` measures in this process.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations, islice, repeat
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from agentcore import AgentHostBuilder, Host, MemoryEntry, Scope
from agentcore.domain import EntryFilter, Level, SourceKind, Status, Turn
from agentcore.llm import ChatRequest, estimate_tokens
from agentcore.stores import ReadView, UnitOfWork
from agentcore.testing import ManualClock, ScriptedChatClient
from dream.domain import PassOutcome
from dream.interfaces.benchmark import ALIKE, Record, scripted_answer
from dream.options import DreamOptions
from dream.passes import line
from dream.passes.prompts import entry_line, importance_at
from dream.stores import dream_stores
from tests.bench.corpus import generated, words_of
from tests.bench.figures import Figure
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

DAYS = 30
ENTRIES = 5_000
_CLEARED, _NOT_CLEARED = 1 / 5, 1 / 10
_READERS = ("fact-mining", "episodes", "skill-gaps", "preferences")
"""The passes that read the log; a cycle that sends everything sends it to each of them."""
_CONSOLIDATION = "memory-consolidation"
_START = datetime(2025, 6, 1, 8, tzinfo=UTC)
_BEFORE = _START - timedelta(days=30)


@dataclass(slots=True)
class Sent:
    """Tokens of the questions of one day."""

    directives: int = 0
    questions: int = 0

    def reply(self, request: ChatRequest) -> str:
        """Answer by rule, and count the question."""
        system, *rest = (estimate_tokens(message.content) for message in request.messages)
        self.directives += system
        self.questions += sum(rest)
        return scripted_answer("\n\n".join(message.content for message in request.messages))


@dataclass(slots=True)
class Days:
    """What each day took, in tokens.

    Args:
        questions: What our dreams asked, directives aside.
        directives: The directives sent with it.
        store: The whole store, as lines of a prompt.
        log: The lines of the day's turns.
    """

    questions: list[int] = field(default_factory=list[int])
    directives: list[int] = field(default_factory=list[int])
    store: list[int] = field(default_factory=list[int])
    log: list[int] = field(default_factory=list[int])

    @property
    def cleared(self) -> list[int]:
        """What a cycle would send that sends the store once, and the day's log to each pass that reads it."""
        return [store + len(_READERS) * log for store, log in zip(self.store, self.log, strict=True)]

    @property
    def not_cleared(self) -> list[int]:
        """What it would send if the log of the days before were still there."""
        so_far = [sum(self.log[: day + 1]) for day in range(len(self.log))]
        return [store + len(_READERS) * log for store, log in zip(self.store, so_far, strict=True)]


async def measure(folder: Path, locomo: Path) -> dict[str, Any]:
    """Replay the conversations and dream each evening; then again, with all consolidation on the last evening."""
    days = Days()
    daily, old = await _replay(folder / "daily", locomo, [_CONSOLIDATION, *_READERS], days)
    late, _ = await _replay(folder / "late", locomo, [_READERS[0]], Days(), last=_CONSOLIDATION)
    joined, in_one_run = _joined(daily, old), _joined(late, old)
    runs = {"late": len(in_one_run), "late_found": len(in_one_run & joined), "daily": len(joined)}
    return _told(days) | _merges(daily, old) | runs


async def _replay(
    folder: Path, locomo: Path, passes: Sequence[str], days: Days, *, last: str | None = None
) -> tuple[list[MemoryEntry], set[str]]:
    """Run *passes* each evening, and *last* once at the end; return all entries, and the ids of those of before."""
    clock, sent = ManualClock(_START), Sent()
    options = DreamOptions()
    options = options.replace(
        model=options.model.replace(tokens_per_run=None, tokens_per_day=None),
        consolidation=options.consolidation.replace(max_entries=ENTRIES),
    )
    builder = AgentHostBuilder(folder, clock=clock).with_memory().with_conversation_log().with_skills().with_feedback()
    builder = builder.with_llm(ScriptedChatClient(repeat(sent.reply))).with_dreaming(options)
    async with builder.build() as host:
        old = await _fill(host, locomo)
        for turns in _turns_by_day(locomo):
            await host.storage.write(Scope.default(), partial(_log, turns=turns))
            days.store.append(await host.storage.read(Scope.default(), _whole_store))
            days.log.append(_tokens([line(f"t{place}", turn, is_new=True) for place, turn in enumerate(turns, 1)]))
            clock.advance(timedelta(hours=14))
            sent.directives = sent.questions = 0
            await _dream(host, passes)
            days.questions.append(sent.questions)
            days.directives.append(sent.directives)
            clock.advance(timedelta(hours=10))
        if last is not None:
            await _dream(host, [last])
        entries = await host.storage.read(
            Scope.default(), lambda view: view.entries.select(EntryFilter(statuses=frozenset()))
        )
    return entries, old


async def _dream(host: Host, passes: Sequence[str]) -> None:
    report = await host.dreams.run(passes=passes)
    if any(done.outcome is PassOutcome.FAILED or done.backlog for done in report.passes):
        raise RuntimeError(f"it was not dreamed to the end: {report.passes}")


async def _fill(host: Host, locomo: Path) -> set[str]:
    """Fill the store with what earlier dreams have reviewed: the conversations' observations and generated entries."""
    observed = list(_observations(locomo))
    made = islice(generated(words_of(locomo), ENTRIES, now=_BEFORE), ENTRIES - len(observed))
    entries = [*observed, *made]

    def write(unit: UnitOfWork) -> None:
        unit.entries.add(entries)
        dream_stores(unit).cursors.move(_CONSOLIDATION, unit.entries.last_position())

    await host.storage.write(Scope.default(), write)
    return {entry.id for entry in entries}


def _observations(locomo: Path) -> Iterator[MemoryEntry]:
    told: set[str] = set()
    for sample in orjson.loads(locomo.read_bytes()):
        for session in sample["observation"].values():
            for speaker, facts in session.items():
                for text, *_ in facts:
                    if text not in told:
                        told.add(text)
                        yield MemoryEntry(
                            id=f"observed-{len(told)}",
                            scope=Scope.default(),
                            content=text,
                            category=f"people/{speaker}",
                            created_at=_BEFORE,
                            recorded_at=_BEFORE,
                            last_seen_at=_BEFORE,
                        )


def _turns_by_day(locomo: Path) -> list[list[Turn]]:
    """Return what is said each day: a thirtieth of the sessions of each conversation."""
    days: list[list[Turn]] = [[] for _ in range(DAYS)]
    for sample in orjson.loads(locomo.read_bytes()):
        talk = sample["conversation"]
        sessions = [talk[name] for name in talk if isinstance(talk[name], list)]
        for number, session in enumerate(sessions):
            day = number * DAYS // len(sessions)
            for place, turn in enumerate(session):
                at = _START + timedelta(days=day, minutes=place)
                days[day].append(
                    Turn(
                        id=f"{sample['sample_id']}-{turn['dia_id']}-{place}",
                        scope=Scope.default(),
                        session_id=f"{sample['sample_id']}:{number + 1}",
                        role="user",
                        content=turn["text"] or turn.get("blip_caption", "..."),
                        speaker=turn["speaker"],
                        occurred_at=at,
                        recorded_at=at,
                    )
                )
    return days


def _log(unit: UnitOfWork, *, turns: Sequence[Turn]) -> None:
    unit.turns.add(turns)


def _whole_store(view: ReadView) -> int:
    """Return the tokens of all active entries, rendered as our prompts render them."""
    importance = importance_at(view.decay, view.now)
    entries = view.entries.select(EntryFilter())
    return _tokens([entry_line(f"e{place}", entry, importance) for place, entry in enumerate(entries, 1)])


def _tokens(lines: Sequence[str]) -> int:
    return estimate_tokens("\n".join(lines))


def _told(days: Days) -> dict[str, Any]:
    asked = sum(days.questions)
    return {
        "questions": days.questions,
        "directives": days.directives,
        "cleared": days.cleared,
        "not_cleared": days.not_cleared,
        "store": days.store,
        "to_cleared": asked / sum(days.cleared),
        "to_not_cleared": asked / sum(days.not_cleared),
    }


def _merges(entries: Sequence[MemoryEntry], old: set[str]) -> dict[str, Any]:
    """Compare the merges with those that the same rule makes when it is shown everything at once.

    Everything is what was there before and every fact that was mined, in the order of arrival; the rule joins pairs of
    which at least one was mined. Such a merge was found by the daily dreams if both texts have ended in one entry.
    """
    by_id = {entry.id: entry for entry in entries}
    told = [entry for entry in entries if entry.id in old or _was_mined(entry)]
    told.sort(key=lambda entry: (entry.id not in old, entry.recorded_at, entry.id))
    at_once = list(_joined_at_once(told, old))
    found = sum(_heir(by_id, one) == _heir(by_id, other) for one, other in at_once)
    daily = sum(entry.status is Status.ARCHIVED for entry in told)
    return {"mined": len(told) - len(old), "at_once": len(at_once), "found": found, "merged_away": daily}


def _joined(entries: Sequence[MemoryEntry], old: set[str]) -> set[frozenset[str]]:
    """Return each pair of texts, one of them mined, that has ended in one entry."""
    by_id = {entry.id: entry for entry in entries}
    ended: defaultdict[str, list[MemoryEntry]] = defaultdict(list)
    for entry in entries:
        if entry.id in old or _was_mined(entry):
            ended[_heir(by_id, entry.id)].append(entry)
    return {
        frozenset({one.content, other.content})
        for group in ended.values()
        for one, other in combinations(group, 2)
        if not {one.id, other.id} <= old
    }


def _was_mined(entry: MemoryEntry) -> bool:
    # What is merged of facts cites their turns too; episodes stand in a category of their own, and rules find none.
    return entry.level is Level.EXPLICIT and any(source.kind is SourceKind.TURN for source in entry.sources)


def _joined_at_once(entries: Sequence[MemoryEntry], old: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs that the rule of `dream.interfaces.benchmark.scripted` joins, none in two of them."""
    words = [Record("e1", {}, entry.content).words for entry in entries]
    holders: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, entry in enumerate(entries):
        for word in words[place]:
            holders[entry.category, word].append(place)
    used: set[int] = set()
    for one, entry in enumerate(entries):
        shared: defaultdict[int, int] = defaultdict(int)
        for word in words[one]:
            for other in holders[entry.category, word]:
                if other > one and entries[other].id not in old:
                    shared[other] += 1
        for other in sorted(shared):
            both = shared[other]
            alike = both >= ALIKE * (len(words[one]) + len(words[other]) - both)
            if alike and used.isdisjoint({one, other}):
                used |= {one, other}
                yield entry.id, entries[other].id


def _heir(by_id: Mapping[str, MemoryEntry], entry_id: str) -> str:
    """Return the id of the entry that an entry has ended in."""
    seen: set[str] = set()
    while (successor := by_id[entry_id].successor) is not None and entry_id not in seen:
        seen.add(entry_id)
        entry_id = successor
    return entry_id


def figures(stores: Stores) -> list[Figure]:
    """Measure in a process of its own; needs a LoCoMo file."""
    if stores.locomo is None:
        print("thirty-days is left out: it replays a LoCoMo file, so name one with --data", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory(prefix="thirty-days-", dir=stores.folder) as folder:
        told = fresh("thirty_days", folder, stores.locomo.resolve())
    of_days = [
        ("questions of a day, median", "questions"),
        ("- directives sent with them", "directives"),
        ("- store and a log that is cleared each day, median", "cleared"),
        ("- store and a log that is not, median", "not_cleared"),
    ]
    return [
        *(
            Figure(f"thirty days: {what}" if place == 0 else what, median(told[name]), "tokens")
            for place, (what, name) in enumerate(of_days)
        ),
        Figure("- of thirty days, against a log that is cleared", told["to_cleared"], "x", most=_CLEARED),
        Figure("- of thirty days, against a log that is not", told["to_not_cleared"], "x", most=_NOT_CLEARED),
        Figure("- facts mined", told["mined"]),
        Figure("- entries that the daily dreams merged away", told["merged_away"]),
        Figure("- pairs of texts that they joined", told["daily"]),
        Figure("- pairs joined by one run over all thirty days", told["late"]),
        Figure("- of these joined by the daily dreams", told["late_found"]),
        Figure("- pairs joined by the same rule in one prompt that holds everything", told["at_once"]),
        Figure("- of these joined by the daily dreams", told["found"]),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1]), Path(sys.argv[2])))
