"""Mutants: faults put into the code that tests must notice. `python -m tests.quality.mutants [NAME ...]`.

Each is put into a copy of the tree, and the tests named beside it are run there: they fail, so it is killed, or it
survives, and the exit code is 1. The place is found by its text: whoever moves the code moves the text here too.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_COPIED = ("agentcore", "directives", "docs", "dream", "tests", "pyproject.toml", "README.md")
_FAILED = 1
"""What pytest returns if tests failed; what else is not 0 means that they could not be run."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A fault.

    Args:
        name: What it breaks.
        file: Where.
        text: What stands there, once.
        fault: What is put in its place.
        tests: The files or folders of which at least one test fails.
    """

    name: str
    file: str
    text: str
    fault: str
    tests: tuple[str, ...]


_SKILLS = "tests/dream/passes/skill_library"
_GUESSES = ("tests/dream/laws/test_hypothesis_laws.py",)

MUTANTS = (
    Mutant(
        name="sparse-200",
        file="dream/options/pass_options.py",
        text="sparse_below: int = Field(default=200,",
        fault="sparse_below: int = Field(default=100,",
        tests=(_SKILLS,),
    ),
    Mutant(
        name="ten-pairs",
        file="dream/options/pass_options.py",
        text="co_used: int = Field(default=10,",
        fault="co_used: int = Field(default=11,",
        tests=(_SKILLS,),
    ),
    Mutant(
        name="three-casual",
        file="dream/options/pass_options.py",
        text="when_casual: int = Field(default=3,",
        fault="when_casual: int = Field(default=2,",
        tests=("tests/dream/passes/preferences",),
    ),
    Mutant(
        name="three-failures",
        file="dream/options/pass_options.py",
        text="min_failures: int = Field(default=3,",
        fault="min_failures: int = Field(default=4,",
        tests=("tests/dream/passes/wisp_failures",),
    ),
    Mutant(
        name="feedback-seven-days",
        file="dream/options/pass_options.py",
        text="feedback_window: timedelta = Field(default=timedelta(days=7),",
        fault="feedback_window: timedelta = Field(default=timedelta(days=14),",
        tests=("tests/dream/passes/memory_consolidation/test_consolidation_feedback.py",),
    ),
    Mutant(
        name="uses-thirty-days",
        file="dream/options/pass_options.py",
        text="use_window: timedelta = Field(default=timedelta(days=30),",
        fault="use_window: timedelta = Field(default=timedelta(days=60),",
        tests=(f"{_SKILLS}/test_skill_consolidation.py",),
    ),
    Mutant(
        name="delay-five-minutes",
        file="dream/options/triggers.py",
        text="initial_delay: timedelta = Field(default=timedelta(minutes=5),",
        fault="initial_delay: timedelta = Field(default=timedelta(minutes=6),",
        tests=("tests/dream/triggers", "tests/dream/scheduling"),
    ),
    Mutant(
        name="share-cap-day",
        file="dream/cycle/running/context.py",
        text="_DAY = timedelta(hours=24)",
        fault="_DAY = timedelta(hours=12)",
        tests=("tests/dream/cycle/test_share_cap.py",),
    ),
    Mutant(
        name="share-cap-longer-day",
        file="dream/cycle/running/context.py",
        text="_DAY = timedelta(hours=24)",
        fault="_DAY = timedelta(hours=25)",
        tests=("tests/dream/cycle/test_share_cap.py",),
    ),
    Mutant(
        name="undo-moved-cursor",
        file="dream/cycle/undo.py",
        text="if wholly and before == moved[-1].cursor_after:",
        fault="if wholly:",
        tests=("tests/dream/cycle/test_undo.py",),
    ),
    Mutant(
        name="budget-in-flight",
        file="dream/cycle/running/budget.py",
        text="self._aside + self.kept + cost",
        fault="self.kept + cost",
        tests=("tests/dream/cycle/test_model_calls.py",),
    ),
    Mutant(
        name="secret-shorter",
        file="agentcore/secrets/told_secrets.py",
        text="len(part.text) < 4 or",
        fault="len(part.text) < 3 or",
        tests=("tests/dream/guards/test_secrets.py",),
    ),
    Mutant(
        name="secret-longer",
        file="agentcore/secrets/told_secrets.py",
        text="len(part.text) < 4 or",
        fault="len(part.text) < 5 or",
        tests=("tests/dream/guards/test_secrets.py",),
    ),
    Mutant(
        name="guess-confirms-itself",
        file="dream/cycle/hypotheses.py",
        text="if says_nothing_of_its_own(words, hypothesis):",
        fault="if not words:",
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-in-fragment",
        file="dream/cycle/hypotheses.py",
        text="        content=words,",
        fault='        content=f"{hypothesis.hypothesis} {words}",',
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-as-source",
        file="dream/cycle/claims.py",
        text="    raise UnknownRecordError(kind=ref.kind.value, value=ref.id)",
        fault="    return view.hypotheses.get_many([ref.id])[0].hypothesis, Trust.STATED",
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-recalled",
        file="agentcore/recall/recall.py",
        text="return await self._search.search(scope, query, k=k, where=where)",
        fault="""hits = await self._search.search(scope, query, k=k, where=where)
        from dataclasses import replace
        beside = await self.hypotheses.beside(scope, query, [], limit=1)
        return [*hits, *(replace(hit, entry=replace(hit.entry, content=one.hypothesis.hypothesis))
                         for hit, one in zip(hits, beside))]""",
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-promoted",
        file="dream/passes/promotion/sweep.py",
        text="    return {entry.id: entry for entry in view.entries.get_many(ids) if entry.is_active}",
        fault="""    from dataclasses import replace
    from agentcore.domain.hypothesis import HypothesisState
    found = {entry.id: entry for entry in view.entries.get_many(ids) if entry.is_active}
    kept = view.hypotheses.in_states({HypothesisState.REINFORCED})
    return found | {one: replace(entry, content=told.hypothesis) for (one, entry), told in zip(found.items(), kept)}""",
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-due",
        file="agentcore/stores/sql/hypotheses.py",
        text='        return {"revision": self._transaction.change()}',
        fault="""        self._transaction.note_activity(explicit_entries=1)
        return {"revision": self._transaction.change()}""",
        tests=_GUESSES,
    ),
    Mutant(
        name="guess-counted-as-new",
        file="agentcore/stores/sql/entries.py",
        text="            _COUNT_WITHIN if within else _COUNT_PAST, after=after, **within\n        ).scalar_one()",
        fault="""            _COUNT_WITHIN if within else _COUNT_PAST, after=after, **within
        ).scalar_one()
        from agentcore.stores.sql.hypotheses import SqlHypothesisReader
        total += SqlHypothesisReader(self._transaction).visible_count()""",
        tests=_GUESSES,
    ),
)


class MisplacedMutantError(Exception):
    """The text that a mutant replaces does not stand once where the table says."""

    def __init__(self, mutant: Mutant, found: int | None) -> None:
        what = f"there is no {mutant.file}" if found is None else f"{mutant.file} holds {mutant.text!r} {found} times"
        super().__init__(f"{mutant.name}: {what}; say in {Path(__file__).name} where it stands now.")


def mutated(mutant: Mutant, root: Path) -> None:
    """Put the fault into the tree below *root*.

    Raises:
        MisplacedMutantError: its place is not found.
    """
    path = root / mutant.file
    if not path.exists():
        raise MisplacedMutantError(mutant, None)
    text = path.read_text("utf-8")
    if text.count(mutant.text) != 1:
        raise MisplacedMutantError(mutant, text.count(mutant.text))
    path.write_text(text.replace(mutant.text, mutant.fault), encoding="utf-8")


def is_killed(mutant: Mutant) -> bool:
    """Tell whether a test notices it.

    Raises:
        MisplacedMutantError: its place is not found.
        RuntimeError: the tests cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        root = Path(folder)
        for name in _COPIED:
            whole = _ROOT / name
            if whole.is_dir():
                shutil.copytree(whole, root / name, ignore=shutil.ignore_patterns("__pycache__", "frozen"))
            else:
                shutil.copy(whole, root / name)
        mutated(mutant, root)
        # `python -m` puts the copy before the tree that is installed.
        asked = [sys.executable, "-m", "pytest", "-n0", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests]
        done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in {0, _FAILED}:
        raise RuntimeError(f"{mutant.name}: the tests cannot be run.\n{done.stdout}{done.stderr}")
    return done.returncode == _FAILED


def main(argv: Sequence[str] | None = None) -> int:
    """Try the mutants, all or those named; 1 if one survives or is misplaced."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(one.name for one in MUTANTS))
    asked = parser.parse_args(argv).names
    lived = 0
    for mutant in MUTANTS:
        if asked and mutant.name not in asked:
            continue
        try:
            killed = is_killed(mutant)
        except MisplacedMutantError as error:
            killed = False
            print(error)
        lived += not killed
        print(f"{'killed' if killed else 'SURVIVED':8}  {mutant.name}", flush=True)
    return 1 if lived else 0


if __name__ == "__main__":
    sys.exit(main())
