"""What second readings let in of `tests/data/statements`: `python -m tests.bench.guards --set verified`.

No pass and no store: each statement is judged by words, and what is undecided is read a second time in calls of the
product's own, by simulated readers, and by a model whose answers were recorded (`tests.bench.reading_desk`). A call
holds statements of one language, and never two about the same evidence; nothing is repaired.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.domain.rounds import Answer, AskedRound, Round
from dream.domain.step import Batch
from dream.domain.verification import VERIFY, VERIFY_INFERENCE, Assertion, EvidenceLine, Reading
from dream.guards.verdict import Verdict, judge
from dream.guards.wording import sentences_of
from dream.options import DreamOptions, VerificationMode
from dream.passes.exchange_state import Item
from dream.passes.protocol import ModelContext
from dream.passes.second_reading import VerificationCall, evidence_text, first_of
from dream.passes.verified_exchange import ExchangeOutcome, VerifiedExchange
from tests.bench.statement_set import FOLDER, HALVES, NATURAL, rows, wilson

READINGS: Final = FOLDER / "readings.jsonl"
MISSES: Final = (0.05, 0.15, 0.30, 1.0)
"""Shares of faults that simulated readers take for true; the last one agrees with everything."""
RESULTS: Final = ("accepted", "denied", "waiting", "for a person")
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the set.

    Args:
        half: Of its case.
        case: The id of its case.
        form: Of its case.
        language: Of its case.
        fault: The class of its fault; "" if it is true.
        assertion: It, with its evidence.
        verdict: What words alone say.
    """

    half: str
    case: str
    form: str
    language: str
    fault: str
    assertion: Assertion
    verdict: Verdict

    @property
    def kind(self) -> str:
        """In which row of the tables it is counted."""
        return "honest" if not self.fault else "natural error" if self.form == NATURAL else "fault"


@dataclass(slots=True)
class Spent:
    """What the readings cost: calls, and estimated tokens of questions and answers."""

    calls: int = 0
    asked: int = 0
    answered: int = 0
    void: int = 0


Reader = Callable[[VerificationCall, ChatRequest], Answer | None]
"""Answers a call; None if there is no answer."""


def statements(half: str) -> Iterator[Statement]:
    """Yield the statements of a half, judged by words."""
    for row in rows(half):
        whole = row["form"] not in {"fact", NATURAL}
        lines = tuple(_line(one, place, is_told=not whole) for place, one in enumerate(row["evidence"]))
        told = [(text, "") for text in row["honest"]] + [(one["statement"], one["class"]) for one in row["faulty"]]
        for text, fault in told:
            assertion = Assertion(text=text, evidence=lines, whole=whole)
            said = [evidence_text(line) for line in lines]
            verdict = judge(text, said, whole=whole).verdict
            yield Statement(half, row["id"], row["form"], row["language"], fault, assertion, verdict)


def digest(text: str) -> str:
    """Return what a statement's reading is found by."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _line(row: Mapping[str, Any], place: int, *, is_told: bool) -> EvidenceLine:
    at = datetime.fromisoformat(f"{row['date']}T09:00:00Z") + timedelta(minutes=place)
    is_person = row["role"] != "assistant"
    speaker = row["speaker"] if is_told and is_person else None
    return EvidenceLine(
        text=row["text"], speaker=speaker or None, role=row["role"], said_at=at, is_beside=not is_person
    )


def batches(given: Iterable[Statement]) -> list[list[Statement]]:
    """Deal statements to batches as large as a call: of one language, and no two of one case."""
    kinds: defaultdict[tuple[str, bool], list[Statement]] = defaultdict(list)
    for one in given:
        kinds[one.language, one.assertion.whole].append(one)
    dealt: list[list[Statement]] = []
    for kind in sorted(kinds):
        left: defaultdict[str, list[Statement]] = defaultdict(list)
        for one in sorted(kinds[kind], key=lambda one: blake2b(one.assertion.text.encode()).digest()):
            left[one.case].append(one)
        while left:
            fresh = [left[case][0] for case in sorted(left, key=lambda case: (-len(left[case]), case))]
            taken = [fresh[number] for number, _ in first_of([(i, one.assertion) for i, one in enumerate(fresh)])]
            dealt.append(taken)
            left = defaultdict(
                list,
                {case: more for case, known in left.items() if (more := [one for one in known if one not in taken])},
            )
    return dealt


def context_of(mode: VerificationMode) -> ModelContext:
    """Return what the questions are worded with: no store stands behind it."""
    folder = Path(__file__).parents[2] / "directives"
    nothing: Any = None
    return ModelContext(
        scope=nothing,
        run_id="bench",
        pass_name="bench",
        as_of=datetime.fromisoformat("2025-06-01T00:00:00Z"),
        options=DreamOptions(verification=mode),
        cursor=0,
        reopened=frozenset(),
        looked_at=0,
        log_readers=(),
        log_end=0,
        read=nothing,
        recall=nothing,
        directives={name: (folder / f"{name}.md").read_text("utf-8") for name in (VERIFY, VERIFY_INFERENCE)},
        marker="DATA",
        vocabulary=nothing,
        new_id=nothing,
        side_cursors={},
        has_model=True,
        reserved=(),
    )


async def read_batch(
    batch: Sequence[Statement], reader: Reader, mode: VerificationMode, spent: Spent
) -> ExchangeOutcome[Statement] | None:
    """Run the rounds of one batch, without a repair; None if an answer is missing."""
    items = [
        Item(
            number=number,
            value=one,
            verdict=one.verdict,
            assertion=one.assertion,
        )
        for number, one in enumerate(batch, 1)
    ]

    async def judged(_: Answer) -> tuple[list[Item[Statement]], list[Any]]:
        return items, []

    async def question(_: frozenset[str] | None) -> None:
        return None

    exchange = VerifiedExchange(
        context=context_of(mode),
        batch=Batch(number="1", kind="bench", members=()),
        name="items",
        question=question,
        judge=judged,
    )
    rounds = [Round({"items": [{} for _ in items]}, AskedRound(), "bench")]
    while (asked := await exchange.next_round(rounds)) is not None:
        call = await exchange.next_call(rounds)
        assert call is not None
        answer = reader(call, asked.request)
        if answer is None:
            return None
        spent.calls += 1
        spent.asked += sum(estimate_tokens(one.content) for one in asked.request.messages)
        spent.answered += estimate_tokens(orjson.dumps(dict(answer)).decode())
        spent.void += call.read(answer) is None
        rounds.append(Round(answer, asked.asked, "bench"))
    return await exchange.outcome(rounds)


@dataclass(frozen=True, slots=True)
class Missing:
    """A reader that knows what is false, but for a share that it misses; it never stops what is true.

    Args:
        share: What it takes for true though it is not, canaries among it.
        false: The statements with a fault.
    """

    share: float
    false: frozenset[tuple[str, tuple[EvidenceLine, ...]]]

    def __call__(self, call: VerificationCall, request: ChatRequest) -> Answer:
        """Answer a call; the same statement in another round is another throw of the dice."""
        del request
        told = []
        for handle, one in call.handled:
            is_false = one in call.canaries or (one.text, one.evidence) in self.false
            throw = random.Random(f"{_SEED}{self.share}{call.number}{one.text}").random()
            says = not is_false or throw < self.share
            quotes = [sentence for line in one.evidence for sentence in sentences_of(line.text)] if says else []
            reading = Reading.SAYS if says else Reading.NOT_SAID
            told.append({"id": handle, "reading": reading.value, "quotes": quotes, "leftOut": []})
        return {"readings": told}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Says what a model said when it was asked; it passes the checks, since readings of others are not kept.

    Args:
        readings: Its readings, by the digest of the statement: no two of the set are the same.
    """

    readings: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, path: Path) -> "Recorded":
        """Return the readings of a file."""
        return cls({one["statement"]: one for one in map(orjson.loads, path.read_bytes().splitlines())})

    def __call__(self, call: VerificationCall, request: ChatRequest) -> Answer | None:
        """Answer a call; what was never asked of the model is left out, and a call of nothing else has no answer."""
        del request
        if not any(digest(one.text) in self.readings for _, one in call.statements):
            return None
        checks = {**dict.fromkeys(call.canaries, "not_said"), **dict.fromkeys(call.controls, "says")}
        told = []
        for handle, one in call.handled:
            known = {"reading": checks[one]} if one in checks else self.readings.get(digest(one.text))
            if known is not None:
                told.append({"quotes": [], "leftOut": [], **known, "id": handle})
        return {"readings": told}


def tables() -> str:
    """Return what each reader lets in, per mode and half, and what it costs."""
    given = {half: list(statements(half)) for half in HALVES}
    false = frozenset(
        (one.assertion.text, one.assertion.evidence) for told in given.values() for one in told if one.fault
    )
    readers: dict[str, Reader] = {
        "always says so" if share == 1 else f"misses {share:.0%}": Missing(share, false) for share in MISSES
    }
    if READINGS.exists():
        readers["a model, recorded"] = Recorded.of(READINGS)
    modes = [
        *((VerificationMode.VERIFIED, name, reader) for name, reader in readers.items()),
        *((mode, "none", _nobody) for mode in (VerificationMode.STRICT, VerificationMode.OFF)),
    ]
    heads = [f"{column}, {half}" for half in HALVES for column in RESULTS]
    lines = [f"| mode | reader | | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 3)}"]
    costs = ["| reader | half | calls | void | tokens of questions | tokens of answers |", "|---|---|---|---|---|---|"]
    for mode, name, reader in modes:
        found = {half: _results(_known(told, reader), reader, mode) for half, told in given.items()}
        for kind in ("fault", "natural error", "honest"):
            cells = [_share(found[half][0][kind], column) for half in HALVES for column in RESULTS]
            lines.append(f"| {mode.value} | {name} | {kind} | {' | '.join(cells)} |")
        for half, (_, spent) in found.items():
            if spent.calls:
                costs.append(
                    f"| {name} | {half} | {spent.calls} | {spent.void} | {spent.asked:,} | {spent.answered:,} |"
                )
    return "\n".join([*lines, "", *costs])


def _known(told: Sequence[Statement], reader: Reader) -> Sequence[Statement]:
    """Return the statements that a reader knows: of a recording those that were read."""
    readings = reader.readings if isinstance(reader, Recorded) else None
    return told if readings is None else [one for one in told if digest(one.assertion.text) in readings]


def _nobody(call: VerificationCall, request: ChatRequest) -> Answer:
    del call, request
    return {}


def _results(
    told: Sequence[Statement], reader: Reader, mode: VerificationMode
) -> tuple[dict[str, Counter[str]], Spent]:
    """Return what became of the statements of a half, counted by their kind."""
    spent = Spent()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for batch in batches(told):
        outcome = asyncio.run(read_batch(batch, reader, mode, spent))
        if outcome is None:
            continue
        parts = (
            [one.value for one in outcome.settled],
            outcome.denied,
            outcome.undecided,
            [one.value for one in outcome.for_review],
        )
        for column, part in zip(RESULTS, parts, strict=True):
            for one in part:
                counts[one.kind][column] += 1
    return counts, spent


def _share(counts: Counter[str], column: str) -> str:
    total = counts.total()
    if not total:
        return "-"
    low, high = wilson(counts[column], total)
    return f"{counts[column]} of {total}, {counts[column] / total:.1%} ({100 * low:.1f} to {100 * high:.1f})"


__all__ = [
    "READINGS",
    "Recorded",
    "Spent",
    "Statement",
    "batches",
    "digest",
    "read_batch",
    "statements",
    "tables",
]
