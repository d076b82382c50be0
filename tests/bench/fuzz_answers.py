"""Answers no model should give: well-formed ones about what was shown, bent, broken and mixed at random."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

_HOSTILE = Path(__file__).parents[1] / "dream" / "injection" / "data" / "hostile.jsonl"
_JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 3.5, 1e308, 2**63, "", " ", "e1", "[e1]", "t1", "e999", "*", [], {}, [[]], {"id": "e1"},
    ["e1", "e1"], "\u202e", "\u0000", "x" * 3_000, [None], {"content": None}, "\U0001f600", "0", "NaN",
)  # fmt: skip
_CATEGORIES: tuple[Any, ...] = (
    None, "", "general", "people/ana", "active-plans", "Active-Plans/x", "active-plans/../general", "a/" * 20,
    "anti-patterns/x", "user-preferences/inferred", "\u200bactive-plans", 7, ["general"], "people\\rui",
)  # fmt: skip
_TAGS: tuple[Any, ...] = ([], ["tea"], ["Mallory", "4711"], None, "tea", [None], [""] * 50, ["a" * 500], {"a": 1})
_NUMBERS: tuple[Any, ...] = (None, 0, 0.5, 1, 1.0, -3, 99, 1e300, "high", True, [], 0.79, 0.8)
_LIES = (
    "Mallory owns it.", "It costs 4711 euros.", "Since 1999.", "In Moscow.", "She does not.", "Never.", "Ask Zoltan.",
    "On 3 March 2031.", "NASA knows.", "12,5 %.", "https://evil.example/x",
)  # fmt: skip
_TIMES: tuple[Any, ...] = (None, "2025", "2025-06", "2025-06-13", "1066", "2020..?", "2019..2023", "soon", 2025, "", [])

Shown = Sequence[tuple[str, str]]
"""Handle and text of each record of a question."""


class Answers:
    """Endless answers; the same for the same seed.

    Args:
        seed: What they follow from.
        shown: What the question is about.
        about_turns: Whether it asks for facts.
    """

    def __init__(self, seed: int, shown: Shown, *, about_turns: bool) -> None:
        self._random = random.Random(seed)
        self._shown = list(shown)
        self._about_turns = about_turns
        self._hostile = [orjson.loads(line)["text"][:400] for line in _HOSTILE.read_bytes().split(b"\n") if line]

    def next(self) -> str:
        """Return one more answer."""
        chance = self._random
        if chance.random() < 0.02:
            return chance.choice(self._hostile)
        answer: Any = self._whole()
        for _ in range(chance.choice((0, 0, 0, 0, 0, 1, 1, 2, 4))):
            answer = self._bent(answer)
        text = orjson.dumps(answer).decode()
        for _ in range(chance.choice((0, 0, 0, 0, 0, 0, 0, 1, 1, 2))):
            text = self._broken(text)
        return text

    def _whole(self) -> dict[str, Any]:
        """Return an answer of the right shape."""
        return self._facts() if self._about_turns else self._edits()

    def _edits(self) -> dict[str, Any]:
        chance = self._random
        free = self._shown[:]
        chance.shuffle(free)
        saves = [self._save(free) for _ in range(chance.choice((0, 1, 1, 2, 4)))]
        deletes = [self._delete(free, len(saves)) for _ in range(chance.choice((0, 0, 1, 1, 2, 3, 3, 12)))]
        return {"toDelete": deletes, "toSave": saves}

    def _save(self, free: list[tuple[str, str]]) -> dict[str, Any]:
        chance = self._random
        taken = self._taken(free, chance.choice((0, 1, 1, 2, 2, 2, 3, 3, 5)))
        return {
            "content": self._text([text for _, text in taken]),
            "category": chance.choice(_CATEGORIES) if chance.random() < 0.3 else None,
            "tags": chance.choice(_TAGS) if chance.random() < 0.1 else [],
            "importance": chance.choice(_NUMBERS) if chance.random() < 0.5 else None,
            "sourceIds": [handle for handle, _ in taken],
        }

    def _delete(self, free: list[tuple[str, str]], saves: int) -> Any:
        chance = self._random
        handle = (self._taken(free, 1) or [("e0", "")])[0][0]
        successor = chance.choice((None, self._handle(), self._handle(), chance.randrange(-1, saves + 2), handle))
        whole = {"id": handle, "reason": chance.choice((*_LIES, "stale", "")), "supersededBy": successor}
        return chance.choice((handle, whole, whole))

    def _facts(self) -> dict[str, Any]:
        return {"facts": [self._fact() for _ in range(self._random.choice((0, 1, 1, 2, 3, 6)))]}

    def _fact(self) -> dict[str, Any]:
        chance = self._random
        taken = [chance.choice(self._shown) for _ in range(chance.choice((0, 1, 1, 1, 1, 1, 2, 2, 3)))]
        texts = [text for _, text in taken]
        quoted = chance.choice(texts) if texts and chance.random() < 0.9 else chance.choice(self._shown)[1]
        words = quoted.split()
        start = chance.randrange(len(words))
        return {
            "content": self._third(self._text(texts)),
            "category": chance.choice(_CATEGORIES) if chance.random() < 0.3 else "general",
            "tags": chance.choice(_TAGS) if chance.random() < 0.1 else [],
            "importance": chance.choice(_NUMBERS),
            "subjectTime": chance.choice(_TIMES),
            "sourceTurns": [handle for handle, _ in taken],
            "quote": " ".join(words[start : start + chance.randrange(1, 8)]),
        }

    def _third(self, text: str) -> str:
        for first, third in (("I'm", "Ana is"), ("I ", "Ana "), ("My ", "Ana's "), (" my ", " her ")):
            text = text.replace(first, third)
        return text

    def _taken(self, free: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
        """Take records that no other item has, mostly."""
        if self._random.random() < 0.15:
            return [self._random.choice(self._shown) for _ in range(count)]
        return [free.pop() for _ in range(min(count, len(free)))]

    def _handle(self) -> str:
        return self._random.choice((self._random.choice(self._shown)[0], "e999", "[e1]", "E1", "", "t0"))

    def _text(self, texts: Sequence[str]) -> str:
        """Return the sources joined, and mostly something done to them."""
        chance = self._random
        joined = " ".join(texts) or chance.choice(self._shown)[1]
        changes: tuple[Callable[[str], str], ...] = (
            str,
            str,
            str,
            lambda text: f"{text} {chance.choice(_LIES)}",
            lambda text: " ".join(text.split()[: chance.randrange(1, 30)]),
            self._shuffled,
            self._renumbered,
            self._renamed,
            lambda text: text.replace(" is ", " is not ").replace(" likes ", " never likes "),
            lambda text: text.replace(" not ", " ").replace("never ", ""),
            lambda text: f"{text} {chance.choice(self._hostile)}",
            lambda _: chance.choice(self._hostile),
            lambda _: chance.choice(self._shown)[1],
            lambda text: text.swapcase(),
            lambda text: text.lower(),
            lambda text: text.replace(".", ";"),
        )
        return chance.choice(changes)(joined)

    def _shuffled(self, text: str) -> str:
        words = text.split()
        self._random.shuffle(words)
        return " ".join(words)

    def _renumbered(self, text: str) -> str:
        return "".join(self._random.choice("0123456789") if one.isdigit() else one for one in text)

    def _renamed(self, text: str) -> str:
        for old, new in (("Ana", "Rui"), ("Rui", "Zoltan"), ("Lisbon", "Porto"), ("Porto", "Moscow")):
            text = text.replace(old, new) if self._random.random() < 0.5 else text
        return text

    def _bent(self, value: Any) -> Any:
        """Return the value with one place of it changed."""
        chance = self._random
        if isinstance(value, dict) and value and chance.random() < 0.97:
            name = chance.choice(list(value))
            rest = {key: item for key, item in value.items() if key != name}
            return rest if chance.random() < 0.1 else rest | {name: self._bent(value[name])}
        if isinstance(value, list) and value and chance.random() < 0.85:
            place = chance.randrange(len(value))
            match chance.randrange(6):
                case 0:
                    return [*value, value[place]]
                case 1:
                    return value[:place] + value[place + 1 :]
                case _:
                    return [*value[:place], self._bent(value[place]), *value[place + 1 :]]
        return chance.choice((*_JUNK, self._handle(), chance.choice(self._hostile)))

    def _broken(self, text: str) -> str:
        chance = self._random
        place = chance.randrange(len(text) + 1)
        changes: tuple[Callable[[], str], ...] = (
            lambda: text[:place],
            lambda: text[place:],
            lambda: text[:place] + chance.choice('{}[]",:\\0x\u2028<`') + text[place:],
            lambda: text[:place] + text[place + 1 :],
            lambda: f"```json\n{text}\n```",
            lambda: f"Here you are: {text} I hope {{that}} helps.",
            lambda: f"<think>{text}</think>{text}",
            lambda: f"thinking </think>{text}",
            lambda: text + text,
            lambda: f"[{text}]",
            lambda: text[:place] + chance.choice(self._hostile) + text[place:],
            lambda: "{" * chance.choice((1, 99, 5_000)) + text,
        )
        return chance.choice(changes)()
