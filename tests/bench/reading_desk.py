"""Has a model read the statements of `tests/data/statements` a second time, whoever plays it, through files.

    python -m tests.bench.guards --set verified --desk FOLDER           # writes the questions; later: how far they are
    python -m tests.bench.guards --set verified --desk FOLDER --keep    # keeps the readings beside the statements

A question stands in `FOLDER/HALF/0007-1f0c9a52b7e4.request.txt`, under the system's word in `system.txt`; its answer
belongs into `0007-1f0c9a52b7e4.answer.txt` beside it. Every statement is asked about, whatever words say of it, so
that the answers outlive the rules. A call whose reader accepted a canary or denied a control is asked once more, in
another order. What stands behind the handles is told in `FOLDER-keys`, which nobody who answers may see.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import orjson

from agentcore.llm.chat import estimate_tokens
from dream.domain.rounds import Answer
from dream.domain.verification import Assertion
from dream.options import VerificationMode
from dream.passes.second_reading import VerificationCall
from tests.bench.second_readings import READINGS, batches, context_of, digest, statements
from tests.bench.statement_set import HALVES, rows

_FIRST, _SECOND = 2, 3
"""Rounds of an exchange in which a statement is read."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question at the desk.

    Args:
        request: Its file.
        keys: What stands behind its handles.
    """

    request: Path
    keys: Mapping[str, Mapping[str, Any]]

    @property
    def answer(self) -> Answer | None:
        """The recorded answer; None if there is none yet."""
        path = self.request.with_name(self.request.name.replace(".request.", ".answer."))
        return as_object(path.read_text("utf-8")) if path.exists() else None

    @property
    def readings(self) -> dict[str, Mapping[str, Any]]:
        """What was said of each handle."""
        given = (self.answer or {}).get("readings")
        items = cast("list[Any]", given) if isinstance(given, list) else []
        return {one["id"]: one for one in items if isinstance(one, dict) and "id" in one}

    @property
    def is_void(self) -> bool:
        """Whether a canary was accepted, or a control denied."""
        said = {
            handle: one.get("reading") == "says" and not one.get("leftOut") for handle, one in self.readings.items()
        }
        return any(
            said.get(handle, behind["is"] == "canary") is not (behind["is"] == "control")
            for handle, behind in self.keys.items()
            if behind["is"] != "statement"
        )


@dataclass(frozen=True, slots=True)
class Desk:
    """The questions and answers about one half.

    Args:
        folder: Where they are.
        keys: Where it is told what stands behind the handles.
    """

    folder: Path
    keys: Path

    @classmethod
    def of(cls, root: Path, half: str) -> "Desk":
        """Return the desk of a half."""
        name = half.replace(" ", "-")
        return cls(root / name, root.with_name(f"{root.name}-keys") / name)

    def questions(self) -> Iterator[Question]:
        """Yield the questions in their order."""
        for path in sorted(self.folder.glob("*.request.txt")):
            keys = self.keys / path.name.replace(".request.txt", ".json")
            yield Question(path, orjson.loads(keys.read_bytes()))

    def ask(self, told: Sequence[Assertion], number: int) -> None:
        """Write a question down, unless it is."""
        call = VerificationCall.of(list(enumerate(told, 1)), number)
        system, user = (one.content for one in call.request(context_of(VerificationMode.VERIFIED)).messages)
        key = blake2b(user.encode(), digest_size=6).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys.mkdir(parents=True, exist_ok=True)
        if next(self.folder.glob(f"*-{key}.request.txt"), None) is None:
            name = f"{1 + len(list(self.folder.glob('*.request.txt'))):04}-{key}"
            kinds = {**dict.fromkeys(call.canaries, "canary"), **dict.fromkeys(call.controls, "control")}
            behind = {
                handle: {
                    "text": one.text,
                    "evidence": [line.text for line in one.evidence],
                    "is": kinds.get(one, "statement"),
                }
                for handle, one in call.handled
            }
            (self.keys / f"{name}.json").write_bytes(orjson.dumps(behind))
            (self.folder / "system.txt").write_text(system, "utf-8")
            (self.folder / f"{name}.request.txt").write_text(user, "utf-8")

    def ask_again(self, half: str) -> None:
        """Write down once more what was asked in vain."""
        asked = [_statements(one) for one in self.questions()]
        known = {_named(one.assertion): one.assertion for one in statements(half)}
        for question in list(self.questions()):
            told = _statements(question)
            if question.answer is not None and question.is_void and asked.count(told) == 1:
                self.ask([known[one] for one in sorted(told) if one in known], _SECOND)


def _named(one: Assertion) -> tuple[str, tuple[str, ...]]:
    return one.text, tuple(line.text for line in one.evidence)


def _statements(question: Question) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset(
        (one["text"], tuple(one["evidence"])) for one in question.keys.values() if one["is"] == "statement"
    )


def as_object(text: str) -> Answer:
    """Return the object that an answer holds; an empty one if it holds none."""
    try:
        found = orjson.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return {}
    return cast("Answer", found) if isinstance(found, dict) else {}


def at_desk(root: Path) -> str:
    """Write down what is to be asked, and tell how far it is answered."""
    lines = [
        "| half | questions | answered | void | canaries accepted | controls denied | tokens asked | tokens answered |",
        f"|{'---|' * 8}",
    ]
    for half in HALVES:
        desk = Desk.of(root, half)
        asked = frozenset(told for one in desk.questions() for told in _statements(one))
        for batch in batches(one for one in statements(half) if _named(one.assertion) not in asked):
            desk.ask([one.assertion for one in batch], _FIRST)
        desk.ask_again(half)
        asked = list(desk.questions())
        answered = [one for one in asked if one.answer is not None]
        system = estimate_tokens((desk.folder / "system.txt").read_text("utf-8"))
        spent = sum(system + estimate_tokens(one.request.read_text("utf-8")) for one in asked)
        told = sum(estimate_tokens(orjson.dumps(one.answer).decode()) for one in answered)
        checks = [_checks(one) for one in answered]
        void = sum(one.is_void for one in answered)
        wrong = " | ".join(str(sum(part)) for part in zip(*checks, strict=True)) if checks else "- | -"
        lines.append(f"| {half} | {len(asked)} | {len(answered)} | {void} | {wrong} | {spent:,} | {told:,} |")
    return "\n".join(lines)


def _checks(question: Question) -> tuple[int, int]:
    """Return how many canaries were accepted, and how many controls denied."""
    says = {
        handle for handle, one in question.readings.items() if one.get("reading") == "says" and not one.get("leftOut")
    }
    kinds = {handle: one["is"] for handle, one in question.keys.items()}
    accepted = sum(kind == "canary" and handle in says for handle, kind in kinds.items())
    return accepted, sum(kind == "control" and handle not in says for handle, kind in kinds.items())


def keep(root: Path) -> None:
    """Keep the readings of all calls that were not void beside the statements."""
    kept: list[bytes] = []
    for half in HALVES:
        places = {text: row["id"] for row in rows(half) for text in _texts(row)}
        for question in Desk.of(root, half).questions():
            if question.answer is None or question.is_void:
                continue
            for handle, behind in sorted(question.keys.items()):
                reading = question.readings.get(handle)
                if behind["is"] == "statement" and reading is not None:
                    told = {name: reading.get(name, []) for name in ("reading", "quotes", "leftOut")}
                    if told["reading"] != "says":
                        told["quotes"] = []  # which decide nothing then
                    text: str = behind["text"]
                    kept.append(orjson.dumps({"case": places[text], "statement": digest(text), **told}))
    READINGS.write_bytes(b"\n".join(sorted(kept)) + b"\n")


def _texts(row: Mapping[str, Any]) -> list[str]:
    return [*row["honest"], *(one["statement"] for one in row["faulty"])]
