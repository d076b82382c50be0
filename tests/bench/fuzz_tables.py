"""What fuzzed answers are about: batches frozen once, answers applied by the real step writer and taken back."""

import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import orjson

from agentcore.domain import Decay, EntryFilter, Feedback, FeedbackKind, MemoryEntry, Status, Trust, Turn, fold_key
from agentcore.llm import Unreadable, extract_object
from agentcore.recall import Recall
from agentcore.stores import Lease, Origin, UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from dream.cycle import ContextFactory, StepWriter
from dream.directives import DirectiveLibrary
from dream.domain import Answer, Batch, Outcome, Round, RoundKind, RunReport, StepDraft
from dream.guards import builtin_vocabulary
from dream.passes import ModelContext, ModelPass
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.stores import dream_stores
from tests.bench.fuzz_answers import Answers, Shown
from tests.dream.dreaming import DAY, NOW, World
from tests.dream.rereading import Denial, reread
from tests.dream.unsupported import Scene, made_up, unsupported
from tests.dream.unsupported_skills import lost

_KNOWN = (
    "Ana likes tea.", "Ana likes green tea best.", "Ana lives in Lisbon.", "Ana moved to Lisbon in 2019.",
    "Rui works at Norte.", "Rui has worked at Norte since 2019.", "Ana does not eat nuts.", "Ana is allergic to nuts.",
    "The deployment takes 12 minutes.", "The deployment took 15 minutes on 3 May 2025.", "Marta has two cats.",
    "Marta's cats are called Mio and Lua.", "The order 4711 costs 120.50 euros.", "Ana never works on Fridays.",
    "Ana wohnt seit 2019 in Lissabon.", "Die Rechnung 88 ist nicht bezahlt.", "Ana habite \u00e0 Lisbonne.",
    "\u0410\u043d\u0430 \u0436\u0438\u0432\u0451\u0442 \u0432 \u041b\u0438\u0441\u0441\u0430\u0431\u043e\u043d\u0435.",
    "\u5b89\u5a1c\u4f4f\u5728\u91cc\u65af\u672c\u3002", "The API of Norte answers on port 8080.",
    "Ana's flight TP1234 leaves at 9:30.", "Rui and Marta married on 14 June 2020.", "Ana's bicycle is blue.",
    "ana likes walking by the river", "Use `ruff format` before each commit.",
    "See https://norte.example/v2 for prices.",
)  # fmt: skip
_SAID: tuple[tuple[str, str, str], ...] = (
    ("user", "I moved to Lisbon in 2019.", ""),
    ("user", "I like green tea, not coffee.", ""),
    ("assistant", "Your flight is TP1234, at 9:30, right?", ""),
    ("user", "Yes, exactly.", ""),
    ("user", "I saw the dentist yesterday.", "13 June 2025 Friday 06"),
    ("user", "My sister Marta has two cats, Mio and Lua.", ""),
    ("assistant", "You could fly to Paris for 99 euros.", ""),
    ("user", "No, I never fly.", ""),
    ("user", "I started at Norte two years ago.", "2023 June 14 06"),
    ("user", "Die Rechnung 88 ist nicht bezahlt.", ""),
    ("user", "Remember that I'm allergic to nuts.", ""),
    ("tool", "Mallory paid 4711 euros.", ""),
)
_FELT = (
    (FeedbackKind.CORRECTION, "You sent the mail to Rui instead of Marta.", "Ask before sending."),
    (FeedbackKind.CORRECTION, "The price was 120, not 210.", None),
    (FeedbackKind.THUMBS_UP, "Good summary.", None),
)
_EVERYTHING = EntryFilter(statuses=frozenset(Status))
_SPEAKER = re.compile(r'^\[r\d+\] (?:\w+ )?"(\w+)": "', re.MULTILINE)
_WHOLE = re.compile(r'^\[[s-z]\d+\] [r\d ()]* whole[^":]*: ("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_TIMES = (None, None, None, "2019", "2025-05", "2020..?")


class _TakenBackError(Exception):
    """Ends a transaction without a trace."""


@dataclass(slots=True)
class Findings:
    """What became of answers."""

    answers: int = 0
    read: int = 0
    applied: int = 0
    changes: int = 0
    codes: Counter[str] = field(default_factory=Counter[str])
    unsupported: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One batch, and everything to judge answers about it; lives as long as its store."""

    world: World
    model_pass: ModelPass
    context: ModelContext
    batch: Batch
    lease: Lease
    entries: Mapping[str, MemoryEntry]
    turns: Mapping[str, Turn]
    feedback: Mapping[str, Feedback]
    computed: Mapping[str, str]

    @property
    def shown(self) -> Shown:
        """Handle and text of each record."""
        letter = {"turns": "t", "feedback": "f"}.get(self.batch.kind, "e")
        records: Mapping[str, Any] = {**self.entries, **self.turns, **self.feedback}
        texts = [getattr(records[one], "content", None) or records[one].summary for one in self.batch.record_ids]
        return [(f"{letter}{place}", text) for place, text in enumerate(texts, 1)]

    def answers(self, seed: int) -> Answers:
        """Answers about this batch."""
        return Answers(seed, self.shown, about_turns=self.batch.kind == "turns")

    async def judge(self, text: str, findings: Findings) -> None:
        """Take one answer through extraction, interpretation and application, and count what became of it."""
        findings.answers += 1
        try:
            await self._judge(text, findings)
        except Exception as error:  # noqa: BLE001 - finding these is what this is for
            findings.errors.append(f"{type(error).__name__}: {error} <- {text[:300]!r}")

    async def _judge(self, text: str, findings: Findings) -> None:
        answer = extract_object(text)
        if isinstance(answer, Unreadable):
            findings.codes[f"answer_unreadable: {answer.reason}"] += 1
            return
        findings.read += 1
        proposal = await self.model_pass.interpret(self.context, self.batch, await self._read_again(answer))
        findings.codes.update(str(one.code) for one in proposal.refused)
        if not proposal.change_sets:
            return
        findings.applied += 1
        after: dict[str, Any] = {}
        refused: list[str] = []

        def apply(unit: UnitOfWork) -> None:
            writer = StepWriter(
                run_id=self.context.run_id,
                pass_name=self.model_pass.name,
                as_of=self.context.as_of,
                lease=self.lease,
                options=self.context.options,
                new_id=self.context.new_id,
                dream_pass=self.model_pass,
            )
            step, _ = writer.commit(unit, StepDraft(proposal=replace(proposal, refused=())))
            refused.extend(refusal.code for refusal in step.report.refused)
            after.update(self.seen(unit))
            raise _TakenBackError

        with suppress(_TakenBackError):
            await self.world.storage.write(self.world.scope, apply, origin=Origin.DREAM)
        findings.codes.update(refused)
        before = self.before
        findings.changes += sum(before.get(record_id) != record for record_id, record in after.items())
        findings.unsupported += [f"{fault} <- {text[:1_500]!r}" for fault in self.faults(after, answer)]

    async def _read_again(self, answer: Answer) -> list[Round]:
        """Return the rounds about an answer: what its words leave undecided is read a second time."""
        rounds = [Round(answer)]
        while (asked := await self.model_pass.ask(self.context, self.batch, rounds)) is not None:
            if asked.kind is not RoundKind.VERIFICATION:
                break
            question = asked.request.messages[-1].content
            rounds.append(Round(orjson.loads(reread(question, _honest(question))), asked.asked, "fuzz"))
        return rounds

    @property
    def before(self) -> Mapping[str, Any]:
        """What an answer can change, as it was, by id."""
        return self.entries

    def seen(self, unit: UnitOfWork) -> Mapping[str, Any]:
        """Return what an answer can change, as it is, by id."""
        return {entry.id: entry for entry in unit.entries.select(_EVERYTHING)}

    def faults(self, after: Mapping[str, Any], _answer: Mapping[str, Any]) -> list[str]:
        """Return the changes that nothing supports."""
        return unsupported(self.scene(after))

    def scene(self, after: Mapping[str, MemoryEntry]) -> Scene:
        return Scene(
            before=self.entries,
            after=after,
            shown=frozenset(self.batch.member_ids),
            turns=self.turns,
            feedback=self.feedback,
            computed=self.computed,
            options=self.context.options,
        )


Prepare = Callable[[World, random.Random], Awaitable[Table]]


@asynccontextmanager
async def tables(seed: int, number: int, prepares: Sequence[Prepare] = ()) -> AsyncIterator[list[Table]]:
    """Lend batches of all kinds, made of records drawn at random; the same for the same seed."""
    kinds = prepares or (_remembering, _talking, _remembering, _talking, _learning)
    clock = ManualClock(NOW)
    storage = SqlStorage(None, clock=clock)
    await storage.start()
    recall = Recall(storage)
    await recall.start()
    world = World(storage, recall, clock)
    chance = random.Random(seed)
    try:
        yield [await kinds[place % len(kinds)](world.elsewhere(), chance) for place in range(number)]
    finally:
        await recall.stop()
        await storage.stop()


async def _remembering(world: World, chance: random.Random) -> Table:
    await world.add(*_entries(world, chance, chance.sample(_KNOWN, 16)))
    return await _table(world, MemoryConsolidation())


async def _talking(world: World, chance: random.Random) -> Table:
    known = [world.entry(text) for text in ("Ana moved to Lisbon in 2019.", "Ana likes green tea, not coffee.")]
    await world.add(*known)
    computed = await said(world, chance)
    stored = await world.storage.read(world.scope, lambda view: view.turns.get_many(computed))
    turns = {turn.id: turn for turn in stored}
    return await _table(world, FactMining(), turns=[turns[one] for one in computed], computed=computed)


async def said(world: World, chance: random.Random) -> dict[str, str]:
    """Log a conversation; return, by turn, the words that follow from when it was said."""
    turns = [
        Turn(
            id=world.ids.new(),
            scope=world.scope,
            session_id=chance.choice(("s1", "s1", "s1", "s2")),
            role=role,
            content=text,
            speaker="Ana" if role == "user" else None,
            occurred_at=NOW + timedelta(minutes=place),
            recorded_at=NOW,
            trust=Trust.INFERRED if role == "assistant" else chance.choice((Trust.STATED, Trust.UNTRUSTED)),
            generated=chance.random() < 0.1,
        )
        for place, (role, text, _) in enumerate(_SAID)
    ]
    await world.write(lambda unit: unit.turns.add(turns))
    return {turn.id: words for turn, (_, _, words) in zip(turns, _SAID, strict=True)}


async def _learning(world: World, chance: random.Random) -> Table:
    signals = [
        Feedback(
            id=world.ids.new(),
            scope=world.scope,
            session_id="s",
            kind=kind,
            summary=summary,
            detail=detail,
            occurred_at=NOW - DAY,
            recorded_at=NOW,
        )
        for kind, summary, detail in _FELT
    ]
    await world.write(lambda unit: unit.feedback.append(signals))
    return await _table(world, MemoryConsolidation(), feedback=signals)


def _honest(question: str) -> Denial:
    """Return a second reader who denies what makes up a number or a name, or loses one that it must tell."""
    speakers = set(_SPEAKER.findall(question))
    whole = {orjson.loads(text) for text in _WHOLE.findall(question)}

    def denies(text: str, told: str) -> bool:
        is_short = text in whole and bool(made_up(told, [text]) or lost(told, text))
        return is_short or bool(made_up(text, [told, *speakers]))

    return denies


def _entries(world: World, chance: random.Random, texts: Iterable[str]) -> list[MemoryEntry]:
    entries = [
        world.entry(
            text,
            category=chance.choice(("general", "people/ana", "people/rui", "work")),
            base=chance.choice((0.1, 0.3, 0.5, 0.5, 0.7, 0.85)),
            trust=chance.choice((Trust.UNTRUSTED, Trust.INFERRED, Trust.STATED, Trust.STATED, Trust.CONFIRMED)),
            pinned=chance.random() < 0.1,
            own_count=chance.choice((1, 1, 1, 2, 6)),
            subject_time=chance.choice(_TIMES),
            created_at=NOW - chance.randrange(1, 60) * DAY,
        )
        for text in texts
    ]
    plan = world.entry("The offer for Norte goes out on 1 July.", category="active-plans/norte")
    old = world.entry("Ana drank coffee.", status=Status.ARCHIVED, status_reason="stale", status_at=NOW)
    return [*entries, plan, old]


async def _table(
    world: World,
    model_pass: ModelPass,
    *,
    turns: Sequence[Turn] = (),
    feedback: Sequence[Feedback] = (),
    computed: Mapping[str, str] | None = None,
) -> Table:
    run_id = world.ids.new()
    terms = world.options.consolidation.replace(repairs=1_000_000)
    options = world.options.replace(consolidation=terms)
    contexts = ContextFactory(
        parts=world.parts, scope=world.scope, options=options, pass_name=model_pass.name, run_id=run_id, as_of=NOW
    )
    sent = DirectiveLibrary(None, {}).read(model_pass.directives)
    texts = {name: directive.text for name, directive in sent.items()}
    context = await contexts.with_model(0, directives=texts, vocabulary=builtin_vocabulary())
    batch = (await model_pass.pack(context)).batches[0]
    lease = await world.write(lambda unit: begun(unit, world, run_id))
    stored = {entry.id: entry for entry in await world.entries(*Status)}
    said, felt = {turn.id: turn for turn in turns}, {signal.id: signal for signal in feedback}
    frozen = _frozen(context, stored, said, felt)
    return Table(
        world=world,
        model_pass=model_pass,
        context=frozen,
        batch=batch,
        lease=lease,
        entries=stored,
        turns=said,
        feedback=felt,
        computed=computed or {},
    )


def begun(unit: UnitOfWork, world: World, run_id: str) -> Lease:
    """Open a run, and take its lease."""
    lease = unit.leases.acquire("dream", holder=run_id, duration=timedelta(hours=1))
    assert lease is not None
    report = RunReport(run_id=run_id, scope=world.scope, outcome=Outcome.PARTIAL, started_at=NOW, as_of=NOW)
    dream_stores(unit).runs.open(report, {})
    return lease


def _frozen(
    context: ModelContext,
    entries: Mapping[str, MemoryEntry],
    turns: Mapping[str, Turn],
    feedback: Mapping[str, Feedback],
) -> ModelContext:
    """The context with its views in memory: what a thread per read costs would be most of the time."""
    by_key: dict[str, list[MemoryEntry]] = {}
    for entry in entries.values():
        if entry.is_active:
            by_key.setdefault(fold_key(entry.content), []).append(entry)
    view: Any = SimpleNamespace(
        decay=Decay(),
        entries=SimpleNamespace(
            select=lambda *_, **__: [],
            get_many=lambda ids: [entries[one] for one in ids if one in entries],
            with_fold_keys=lambda keys: [entry for key in keys for entry in by_key.get(key, [])],
            derived_from=lambda _kind, *_ids: [],
            material=lambda **_: [],
            last_position=lambda: 0,
        ),
        turns=SimpleNamespace(get_many=lambda ids: [turns[one] for one in ids if one in turns]),
        feedback=SimpleNamespace(
            newest=lambda **_: list(feedback.values()),
            get_many=lambda ids: [feedback[one] for one in ids if one in feedback],
        ),
        forgotten=SimpleNamespace(contains=lambda _keys: set(), since=lambda _keys: {}),
        books=SimpleNamespace(
            decisions=SimpleNamespace(declined=lambda _: set(), withheld=lambda _: {}),
            clusters=SimpleNamespace(all=lambda _: []),
        ),
    )
    numbers = count(1)

    async def read(work: Callable[[Any], Any]) -> Any:
        return work(view)

    async def nothing(*_: Any, **__: Any) -> Any:
        return {}

    recall: Any = SimpleNamespace(similar=nothing, alike=nothing, count_documents=nothing)

    return replace(
        context,
        read=read,
        recall=recall,
        new_id=lambda: f"new-{next(numbers)}",
    )
