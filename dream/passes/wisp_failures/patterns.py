"""What recurs among wisp runs: failures that the host counts, and shapes that keep succeeding."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from agentcore.domain.signals import WispRun
from agentcore.domain.text import fold_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Failures of wisps that were for the same, or that were built the same.

    Args:
        key: Names it, whichever failures it has at the moment.
        description: What the newest of them was for.
        failures: The runs that failed, in the order of time.
        runs: All runs of that description or shape, successful ones included.
    """

    key: str
    description: str
    failures: tuple[WispRun, ...]
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A shape that keeps succeeding: a wisp worth storing.

    Args:
        shape: Hash of its steps without their literals.
        successes: The runs that came to their end, in the order of time.
        runs: All runs of the shape.
    """

    shape: str
    successes: tuple[WispRun, ...]
    runs: int

    @property
    def description(self) -> str:
        """What the newest success was for."""
        return self.successes[-1].description


def shape_of(run: WispRun) -> str:
    """Return what tells how a wisp is built; without a shape its exact definition does."""
    return run.shape_hash or run.definition_hash


def find_patterns(runs: Sequence[WispRun], *, least: int) -> list[Pattern]:
    """Return what failed *least* times or more; each failure is in one pattern at most, the most frequent first.

    Failures are grouped by what the wisps were for. Those whose description is too rare are grouped by shape: the same
    broken steps under ever new descriptions.
    """
    meant = {run.id: fold_key(run.description) for run in runs}
    failures = [run for run in runs if not run.succeeded]
    often, rare = _groups(failures, lambda run: meant[run.id], least)
    by_shape, _ = _groups([run for run in failures if run.id in rare], shape_of, least)
    of_meaning, of_shape = Counter(meant.values()), Counter(shape_of(run) for run in runs)
    patterns = [
        *(_pattern("description", key, found, of_meaning[key]) for key, found in often),
        *(_pattern("shape", key, found, of_shape[key]) for key, found in by_shape),
    ]
    return sorted(patterns, key=lambda pattern: (-len(pattern.failures), pattern.key))


def find_promotions(runs: Sequence[WispRun], *, least: int, share: float) -> list[Promotion]:
    """Return shapes with *least* successes or more that succeed in more than *share* of their runs."""
    shapes: defaultdict[str, list[WispRun]] = defaultdict(list)
    for run in runs:
        shapes[shape_of(run)].append(run)
    found = [
        Promotion(shape=shape, successes=tuple(run for run in mine if run.succeeded), runs=len(mine))
        for shape, mine in shapes.items()
    ]
    worthy = [one for one in found if len(one.successes) >= least and len(one.successes) > share * one.runs]
    return sorted(worthy, key=lambda one: (-len(one.successes), one.shape))


def _groups(
    runs: Iterable[WispRun], key_of: Callable[[WispRun], str], least: int
) -> tuple[list[tuple[str, list[WispRun]]], set[str]]:
    """Return the groups that are large enough, and the ids of the runs that are in none."""
    groups: defaultdict[str, list[WispRun]] = defaultdict(list)
    for run in runs:
        groups[key_of(run)].append(run)
    large = [(key, found) for key, found in groups.items() if len(found) >= least]
    return large, {run.id for found in groups.values() if len(found) < least for run in found}


def _pattern(by: str, key: str, failures: Sequence[WispRun], runs: int) -> Pattern:
    return Pattern(
        key=blake2b(f"{by}\x1f{key}".encode(), digest_size=8).hexdigest(),
        description=failures[-1].description,
        failures=tuple(failures),
        runs=runs,
    )
