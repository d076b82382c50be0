"""Has a model read the conclusions of `tests/data/conclusions` a second time, whoever plays it, through files.

    python -m tests.bench.guards --set conclusions --desk FOLDER   # asks, waits for the answers, and keeps the readings

The questions are those of a dream, with its directive and its checks of the reader; every conclusion is asked about,
whatever the host says of it, so that the answers outlive the rules. Whoever answers sees neither the labels nor this.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore.domain.evidence import SourceKind, SourceRef
from dream.domain.verification import Assertion, EvidenceLine, Reading, SecondReading
from dream.interfaces.benchmark.asking import AnswerFolder
from dream.options import VerificationMode
from dream.passes.second_reading import VerificationCall, counts, first_of, readings_by_handle
from tests.bench.reading_desk import as_object
from tests.bench.second_readings import context_of

READINGS: Final = Path(__file__).parents[1] / "data" / "conclusions" / "readings.jsonl"
_FOLLOWS: Final = "follows"
_ROUNDS: Final = (2, 3)
"""Rounds of an exchange in which a conclusion is read; the second one only where the first reader failed its checks."""


def assertion_of(row: Mapping[str, Any]) -> Assertion:
    """Return what a reader has to check of a row of the set."""
    shown = {one["handle"]: one for one in row["premises"]}
    sides = [(one, False) for one in row["cites"]] + [(one, True) for one in row["against"]]
    lines = [_line(row["id"], shown[handle], is_against=is_against) for handle, is_against in sides if handle in shown]
    return Assertion(text=row["statement"], evidence=tuple(lines), infers=True)


def _line(case: str, premise: Mapping[str, Any], *, is_against: bool) -> EvidenceLine:
    said_at = datetime.fromisoformat(premise["date"]).replace(tzinfo=UTC)
    source = SourceRef(SourceKind.ENTRY, f"{case}-{premise['handle']}")
    return EvidenceLine(text=premise["text"], said_at=said_at, is_beside=is_against, source=source)


def batches(given: Iterable[Mapping[str, Any]]) -> list[list[tuple[str, Assertion]]]:
    """Deal conclusions to calls: of one language, as many as a call holds."""
    kinds: defaultdict[str, list[tuple[str, Assertion]]] = defaultdict(list)
    for row in given:
        asked = assertion_of(row)
        if any(line.proves for line in asked.evidence):
            kinds[row["lang"]].append((row["id"], asked))
    dealt: list[list[tuple[str, Assertion]]] = []
    for language in sorted(kinds):
        left = kinds[language]
        while left:
            taken = first_of([(place, one) for place, (_, one) in enumerate(left)])
            dealt.append([left[place] for place, _ in taken])
            left = left[len(taken) :]
    return dealt


async def _read(folder: AnswerFolder, batch: Sequence[tuple[str, Assertion]]) -> list[bytes]:
    """Return what the reader said of each conclusion, once it passes its checks."""
    for number in _ROUNDS:
        call = VerificationCall.of([(place, one) for place, (_, one) in enumerate(batch)], number)
        completion = await folder.complete(call.request(context_of(VerificationMode.VERIFIED)))
        answer = as_object(completion.text)
        if call.read(answer) is not None:
            places = {one: place for place, one in call.statements}
            given = readings_by_handle(answer)
            told = [(batch[places[one]][0], given.get(handle)) for handle, one in call.handled if one in places]
            return [_kept(case, rows[0]) for case, rows in told if rows]
    return []


def _kept(case: str, row: Mapping[str, Any]) -> bytes:
    is_said = row["reading"] == _FOLLOWS
    return orjson.dumps({"case": case, "reading": row["reading"], "quotes": row.get("quotes", []) if is_said else []})


async def keep(path: Path, given: Iterable[Mapping[str, Any]]) -> str:
    """Ask about all conclusions, wait for the answers, and keep the readings beside the set."""
    folder = AnswerFolder(path)
    dealt = batches(given)
    found = await asyncio.gather(*(_read(folder, batch) for batch in dealt))
    kept = sorted(row for rows in found for row in rows)
    READINGS.write_bytes(b"\n".join(kept) + b"\n")
    void = sum(not rows for rows in found)
    return f"{len(dealt)} calls, {void} without a reading that counts; {len(kept)} readings kept"


def readings() -> dict[str, Mapping[str, Any]]:
    """Return the recorded readings by case; none where nobody read."""
    rows = map(orjson.loads, READINGS.read_bytes().splitlines()) if READINGS.exists() else ()
    return {row["case"]: row for row in rows}


def is_accepted(row: Mapping[str, Any], reading: Mapping[str, Any]) -> bool:
    """Tell whether a reading has a dream write a conclusion: it follows, and words of each premise show it."""
    said = SecondReading(reading=Reading.SAYS, quotes=tuple(reading["quotes"]))
    return reading["reading"] == _FOLLOWS and counts(assertion_of(row), said)
