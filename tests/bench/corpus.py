"""Entries from a seed: words of real turns, mixed."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from agentcore.domain import MemoryEntry, Scope

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "conversation.jsonl"

_SEED = 20_260_101
_EXACT_COPIES = 0.01
_NEAR_COPIES = 0.05
_SPREAD = timedelta(days=365)
_CATEGORIES = ("people/ana", "people/ben", "people/lin", "work/depot", "work/clinic", "home", "travel", "general")


def words_of(locomo: Path | None = None) -> list[str]:
    """Return every word of every turn, as often as it was said: common words stay common.

    Args:
        locomo: A LoCoMo file; the project's example conversation if there is none.
    """
    if locomo is None:
        texts = [orjson.loads(line)["content"] for line in EXAMPLES.read_bytes().splitlines()]
    else:
        samples: list[dict[str, Any]] = orjson.loads(locomo.read_bytes())
        sessions = [part for sample in samples for part in sample["conversation"].values() if isinstance(part, list)]
        texts = [turn["text"] for session in sessions for turn in session]
    return [word for text in texts for word in text.split()]


def generated(words: list[str], size: int, *, now: datetime) -> Iterator[MemoryEntry]:
    """Yield *size* entries of 10 to 40 words, last seen within the year before *now*.

    One in a hundred repeats an earlier text; one in twenty repeats it but for two words.
    """
    rng = random.Random(_SEED)
    said: list[tuple[str, str]] = []
    scope = Scope.default()
    for number in range(size):
        text, category = _text(rng, words, said)
        said.append((text, category))
        seen = now - rng.random() * _SPREAD
        yield MemoryEntry(
            id=f"{rng.getrandbits(128):032x}",
            scope=scope,
            content=text,
            category=category,
            tags=("seeded",) if number % 10 == 0 else (),
            base=round(rng.random(), 2),
            created_at=seen,
            recorded_at=now,
            last_seen_at=seen,
        )


def _text(rng: random.Random, words: list[str], said: list[tuple[str, str]]) -> tuple[str, str]:
    kind = rng.random()
    if not said or kind >= _EXACT_COPIES + _NEAR_COPIES:
        return " ".join(rng.choices(words, k=rng.randint(10, 40))), rng.choice(_CATEGORIES)
    text, category = rng.choice(said)
    if kind < _EXACT_COPIES:
        return text, category
    pieces = text.split(" ")
    for place in rng.sample(range(len(pieces)), k=2):
        pieces[place] = rng.choice(words)
    return " ".join(pieces), category
