"""Fills a data folder with everything that passes read: `python -m tests.bench.library FOLDER [LOCOMO]`."""

import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from agentcore import AgentHostBuilder, Scope
from agentcore.domain import (
    FailureCategory,
    Feedback,
    FeedbackKind,
    MemoryEntry,
    Rating,
    Skill,
    SkillUse,
    Turn,
    WispRun,
)
from agentcore.stores import UnitOfWork
from tests.bench.corpus import generated, words_of
from tests.bench.processes import answer

ENTRIES, SKILLS, TURNS, USES, FEEDBACK, WISPS = 5_000, 5_000, 20_000, 10_000, 10_000, 5_000

_SEED = 7
_SPREAD = timedelta(days=30)
_TURNS_OF_SESSION = 10
_SESSIONS = TURNS // _TURNS_OF_SESSION
_TOOLS = 400
_NEAR_COPIES = 0.05
_SPARSE = 0.05
_CHUNK = 2_000
_ASKED = ("summarize my mail", "plan the week", "check the backup", "draft the report", "book a table")


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes records from a seed.

    Args:
        rng: Where chance comes from.
        words: What texts are made of.
        now: The latest that anything happened.
    """

    rng: random.Random
    words: Sequence[str]
    now: datetime

    def skills(self) -> Iterator[Skill]:
        """Yield skills of 3 to 15 numbered steps under 400 prefixes; some say little, some nearly repeat another."""
        contents: list[str] = []
        for number in range(SKILLS):
            chance = self.rng.random()
            if contents and chance < _NEAR_COPIES:
                content = f"{self.rng.choice(contents)}\n- {self._text(8, 12)}"
            else:
                content = self._procedure(number, 1 if chance > 1 - _SPARSE else self.rng.randint(3, 15))
            contents.append(content)
            yield Skill(
                id=self._id(),
                scope=Scope.default(),
                name=f"tool{number % _TOOLS}/task{number}",
                summary=self._text(6, 10),
                content=content,
                created_at=self.now - _SPREAD - timedelta(days=10),
            )

    def turns(self) -> Iterator[Turn]:
        """Yield sessions of ten turns, users and assistants by turns; a third begins with one of five requests."""
        for number in range(TURNS):
            session, place = divmod(number, _TURNS_OF_SESSION)
            opening = f"Please {self.rng.choice(_ASKED)}. " if place == 0 and session % 3 == 0 else ""
            at = self.now - _SPREAD * (1 - session / _SESSIONS) + timedelta(minutes=place)
            yield Turn(
                id=self._id(),
                scope=Scope.default(),
                session_id=f"session{session}",
                role="user" if place % 2 == 0 else "assistant",
                speaker="Ana" if place % 2 == 0 else None,
                content=opening + self._text(10, 40),
                occurred_at=min(at, self.now),
                recorded_at=self.now,
            )

    def uses(self, names: Sequence[str]) -> Iterator[SkillUse]:
        """Yield uses, some skills used far more often than others."""
        for _ in range(USES):
            at = self._moment()
            place = int(len(names) * self.rng.random() ** 2)
            session = f"session{self.rng.randrange(_SESSIONS)}"
            yield SkillUse(
                id=self._id(),
                scope=Scope.default(),
                skill_name=names[place],
                session_id=session,
                occurred_at=at,
                recorded_at=at,
            )

    def feedback(self) -> Iterator[Feedback]:
        """Yield signals of every kind."""
        kinds, ratings = list(FeedbackKind), list(Rating)
        for number in range(FEEDBACK):
            at, kind = self._moment(), kinds[number % len(kinds)]
            yield Feedback(
                id=self._id(),
                scope=Scope.default(),
                session_id=f"session{self.rng.randrange(_SESSIONS)}",
                kind=kind,
                summary=self._text(8, 20),
                rating=self.rng.choice(ratings) if kind is FeedbackKind.SESSION_SUMMARY else None,
                occurred_at=at,
                recorded_at=at,
            )

    def wisps(self) -> Iterator[WispRun]:
        """Yield runs of wisps, a third of which failed."""
        categories = list(FailureCategory)
        for number in range(WISPS):
            at, failed = self._moment(), number % 3 == 0
            yield WispRun(
                id=self._id(),
                scope=Scope.default(),
                wisp_id=f"wisp{number % 500}",
                description=f"wisp number {number % 500}",
                definition_hash=f"hash{number % 500}",
                shape_hash=f"shape{number % 100}",
                succeeded=not failed,
                step_count=3,
                steps_completed=1 if failed else 3,
                failed_step_id="s2" if failed else None,
                failure_category=self.rng.choice(categories) if failed else None,
                error_message=self._text(8, 20) if failed else None,
                duration_ms=1_000,
                session_id=f"session{self.rng.randrange(_SESSIONS)}",
                occurred_at=at,
                recorded_at=at,
            )

    def _procedure(self, number: int, steps: int) -> str:
        lines = [f"{place}. {self._text(8, 14)}" for place in range(1, steps + 1)]
        return "\n".join([*lines, f"{steps + 1}. Run `tool{number % _TOOLS} --task {number}`."])

    def _text(self, least: int, most: int) -> str:
        return " ".join(self.rng.choices(self.words, k=self.rng.randint(least, most)))

    def _moment(self) -> datetime:
        return self.now - self.rng.random() * _SPREAD

    def _id(self) -> str:
        return f"{self.rng.getrandbits(128):032x}"


async def fill(folder: Path, locomo: Path | None) -> dict[str, Any]:
    """Write the records straight into the store."""
    builder = AgentHostBuilder(folder).with_memory().with_conversation_log().with_skills().with_feedback()
    async with builder.with_wisps().build() as host:
        now, words = host.clock.now(), words_of(locomo)
        writer = Writer(random.Random(_SEED), words, now)
        skills = list(writer.skills())
        records = iter(
            (
                *generated(words, ENTRIES, now=now),
                *skills,
                *writer.turns(),
                *writer.uses([skill.name for skill in skills]),
                *writer.feedback(),
                *writer.wisps(),
            )
        )
        while chunk := list(islice(records, _CHUNK)):
            await host.storage.write(Scope.default(), partial(_add, records=chunk))
        return {"skills": len(skills)}


def _add(unit: UnitOfWork, *, records: Iterable[Any]) -> None:
    kinds: dict[type[Any], list[Any]] = {}
    for record in records:
        kinds.setdefault(record.__class__, []).append(record)
    unit.entries.add(kinds.get(MemoryEntry, []))
    unit.turns.add(kinds.get(Turn, []))
    unit.skill_uses.append(kinds.get(SkillUse, []))
    unit.feedback.append(kinds.get(Feedback, []))
    unit.wisp_runs.append(kinds.get(WispRun, []))
    for skill in kinds.get(Skill, []):
        unit.skills.add(skill)


if __name__ == "__main__":
    answer(fill(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
