"""Strategies: small memories full of copies that nearly are none, and what may happen to them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dreaming import NOW, World
from hypothesis import HealthCheck, settings, strategies as st

from agentcore.domain import Level, MemoryEntry, Status, Trust
from agentcore.testing.contracts.samples import some_evidence
from dream.options import DreamOptions, NearDuplicateOptions

TEXTS = ("Ana likes tea", "ana likes TEA.", " Ana  likes tea", "Ana likes tea?", "Ben bakes rye", "ben bakes rye")
CATEGORIES = ("general", "people/ana", "People/Ana", "active-plans")
TIMES = (None, None, "2019", "2019-06", "2020", "2018..2019")


def laboratory(share: float) -> settings:
    """Settings that try *share* of the examples which the profile in force gives; a world serves them all."""
    given = settings.default
    assert given is not None
    return settings(
        max_examples=round(share * given.max_examples),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@dataclass(frozen=True)
class Spec:
    """An entry, but for its id and its scope."""

    text: str
    category: str
    time: str | None
    trust: Trust
    base: float
    own_count: int
    pinned: bool
    level: Level
    status: Status
    minutes: int
    tags: tuple[str, ...]
    said: tuple[str, ...]

    def entry(self, world: World, entry_id: str) -> MemoryEntry:
        said = NOW - timedelta(days=10) + timedelta(minutes=self.minutes)
        retired: dict[str, Any] = {}
        if self.status is not Status.ACTIVE:
            retired = {"status": self.status, "status_reason": "set aside", "status_at": NOW}
        return world.entry(
            self.text,
            id=entry_id,
            category=self.category,
            subject_time=self.time,
            trust=self.trust,
            base=self.base,
            own_count=self.own_count,
            pinned=self.pinned,
            level=self.level,
            tags=self.tags,
            evidence=tuple(some_evidence(sentence, said_at=said) for sentence in self.said),
            created_at=said,
            recorded_at=NOW,
            **retired,
        )


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from((*[usual] * 3, *others))


specs = st.builds(
    Spec,
    text=st.sampled_from(TEXTS),
    category=mostly(*CATEGORIES),
    time=st.sampled_from(TIMES),
    trust=mostly(Trust.STATED, Trust.UNTRUSTED, Trust.CONFIRMED),
    base=st.sampled_from((0.05, 0.3, 0.5, 0.9)),
    own_count=st.integers(1, 6),
    pinned=mostly(*(False, True)),
    level=mostly(Level.EXPLICIT, Level.DERIVED),
    status=mostly(Status.ACTIVE, Status.ARCHIVED),
    minutes=st.integers(0, 5),
    tags=st.sampled_from(((), ("a",), ("a", "b"))),
    said=st.sampled_from(((), ("I like tea.",), ("I like tea.", "Rye it is."))),
)
memories = st.lists(specs, min_size=2, max_size=9)
options = st.builds(
    lambda size, bound: DreamOptions(step_size=size, near_duplicates=NearDuplicateOptions(max_entries=bound)),
    st.integers(2, 6),
    st.integers(1, 9),
)


async def fill(world: World, memory: list[Spec], *, prefix: str = "e") -> list[MemoryEntry]:
    return await world.add(*(spec.entry(world, f"{prefix}{place:02}") for place, spec in enumerate(memory)))
