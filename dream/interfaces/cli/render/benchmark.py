"""Shows what benchmarks measured."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import add

from dream.interfaces.benchmark.qa import BUDGETS, DEPTHS, Stage
from dream.interfaces.benchmark.recalling import (
    BUDGETS as RECALL_BUDGETS,
    DEPTHS as RECALL_DEPTHS,
    GAIN_DEPTH,
    Recalled,
    RecallResult,
    Store,
)
from dream.interfaces.benchmark.result import ORDINARY, Cost, Figures, Result, answers_of, total
from dream.interfaces.benchmark.samples import CATEGORIES, Faults
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, one_line, paragraph

_HEAD = ("kept", "whole", *(f"R@{depth}" for depth in DEPTHS), *(f"{budget:,}" for budget in BUDGETS), "stale")
_WITH = "with the model {} and the passes that ask none"
_WITHOUT = "without a model: the passes that ask none"
_LEGEND = (
    "Shares of the evidence in percent, means over the questions. kept: what live entries go back to; whole: questions "
    f"whose evidence is kept whole; R@k: what the best k entries go back to, then what the best do that fit into so "
    f"many tokens; stale: how many of the best {DEPTHS[-1]} entries the dream replaces. turns: a memory of the turns "
    "as they were said, to compare with; before and after: the imported memory, before the dream and after."
)


def benchmark_lines(results: Sequence[Result], *, model: str | None, width: int) -> Lines:
    """Yield a table per sample, one of all questions, and what the columns mean."""
    yield from paragraph(f"A dream {_WITH.format(model) if model else _WITHOUT}", width, tone=Tone.TITLE)
    for result in results:
        yield from _sample_lines(result, width)
    if len(results) > 1:
        yield from _total_lines(total(results), len(results), width)
    yield Line()
    yield from paragraph(_LEGEND, width, tone=Tone.FAINT)


def _sample_lines(result: Result, width: int) -> Lines:
    yield Line()
    yield from paragraph(f"{result.name}: {_questions(result)}", width, rest="  ", tone=Tone.TITLE)
    yield from _table(result, CATEGORIES)
    yield from _dream_lines(result, width)


def _total_lines(whole: Result, samples: int, width: int) -> Lines:
    yield Line()
    yield from paragraph(f"All {samples} samples: {_questions(whole)}", width, rest="  ", tone=Tone.TITLE)
    yield from _table(whole, CATEGORIES)
    yield from _dream_lines(whole, width)
    ordinary = len(answers_of(whole.before, ORDINARY))
    if ordinary:
        yield Line()
        yield Line(f"Of these, the {counted(ordinary, 'question')} that are not adversarial", Tone.TITLE)
        yield from _table(whole, ORDINARY)


def question_count(questions: int, faults: Faults) -> str:
    """Return how many questions were asked, and what was wrong with the evidence of others."""
    parts = [
        counted(questions, "question"),
        f"{faults.left_out:,} left out for want of evidence" if faults.left_out else "",
        f"{counted(faults.repaired, 'id')} repaired" if faults.repaired else "",
        f"{faults.unreadable:,} unreadable" if faults.unreadable else "",
        f"{faults.unknown:,} unknown" if faults.unknown else "",
    ]
    return ", ".join(part for part in parts if part)


def _questions(result: Result) -> str:
    return question_count(len(result.before.answers), result.faults)


def _table(result: Result, categories: Collection[int]) -> Iterator[Line]:
    yield Line(f"{'':<7}{'entries':>7}{'tokens':>8}" + "".join(f"{head:>6}" for head in _HEAD), Tone.FAINT)
    for name, stage in result.stages.items():
        cells = "".join(f"{100 * value:6.1f}" for value in _row(stage, categories))
        yield Line(f"{name:<7}{stage.entries:>7,}{stage.tokens:>8,}{cells}")


def _row(stage: Stage, categories: Collection[int]) -> list[float]:
    found = Figures.of(answers_of(stage, categories))
    shares = [found.kept, *found.at.values(), *found.within.values()]
    return [shares[0].mean, shares[0].every, *(share.mean for share in shares[1:]), found.stale[DEPTHS[-1]]]


def _dream_lines(result: Result, width: int) -> Lines:
    cost = result.cost
    calls = f", {cost.input_tokens:,} + {cost.output_tokens:,} tokens" if cost.calls else ""
    did = [
        _changes(cost.changes) or "no record changed",
        f"{_amounts(cost.refused)} refused" if cost.refused else "",
        f"{counted(cost.calls, 'model call')}{calls}",
        f"{cost.backlog:,} left for later runs" if cost.backlog else "",
        f"{result.seconds['dream']:.2f} s",
    ]
    outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(cost.outcomes.items()))
    head = f"{cost.samples:,} dreams ({outcomes})" if cost.samples > 1 else f"dream {next(iter(cost.outcomes))}"
    yield from paragraph(f"{head}: {'; '.join(part for part in did if part)}", width, rest="  ")
    for failure in sorted(cost.failures):
        yield from paragraph(f"failed: {one_line(failure)}", width, first="  ", tone=Tone.REMOVED)
    yield from paragraph(_safety(cost), width, first="  ")


def _safety(cost: Cost) -> str:
    undo = "exact" if cost.is_undo_exact else f"exact for {cost.undone:,} of {cost.samples:,}"
    again = f"{counted(cost.replayed, 'change')}, {counted(cost.replay_calls, 'model call')}"
    unsupported = _amounts(cost.unsupported) or "none"
    return f"unsupported changes: {unsupported}; undo: {undo}; a second run: {again}"


def _changes(counts: Counter[str]) -> str:
    parts = [(*name.rsplit("_", 1), count) for name, count in sorted(counts.items())]
    return ", ".join(
        f"{counted(count, noun.replace('_', ' '), 'entries' if noun == 'entry' else None)} {what}"
        for noun, what, count in parts
    )


def _amounts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {one_line(name.replace('_', ' '))}" for name, count in sorted(counts.items()))


_RECALL_HEAD = (
    *(f"R@{depth}" for depth in RECALL_DEPTHS),
    f"N@{GAIN_DEPTH}",
    *(f"{budget:,}" for budget in RECALL_BUDGETS),
)
_RECALL_LEGEND = (
    "Shares of the evidence in percent, means over the questions (n). R@k: what the best k items go back to; N@10: "
    "NDCG, where an item counts that goes back to evidence no better one did; then what the best items go back to "
    "that fit into so many tokens. turns: the conversation; notes: the entries; both: the two in one ranking."
)


def recall_benchmark_lines(results: Sequence[RecallResult], *, width: int) -> Lines:
    """Yield a table per sample, one of all questions by category, and what the columns mean."""
    for result in results:
        yield from paragraph(f"{result.name}: {question_count(result.questions, result.faults)}", width, rest="  ",
                             tone=Tone.TITLE)  # fmt: skip
        yield from _recall_table({name: (store, store.answers) for name, store in result.stores.items()})
        yield Line()
    whole = reduce(add, results)
    questions = question_count(whole.questions, whole.faults)
    yield from paragraph(f"By category: {questions}", width, rest="  ", tone=Tone.TITLE)
    groups = next(iter(whole.stores.values())).groups()
    for group in groups:
        yield Line(group, Tone.TITLE)
        yield from _recall_table({name: (store, store.groups()[group]) for name, store in whole.stores.items()})
    yield Line()
    yield from paragraph(_RECALL_LEGEND, width, tone=Tone.FAINT)


def _recall_table(rows: "dict[str, tuple[Store, Sequence[Recalled]]]") -> Iterator[Line]:
    yield Line(f"{'':<5}{'n':>6}{'items':>7}{'tokens':>8}" + "".join(f"{head:>6}" for head in _RECALL_HEAD), Tone.FAINT)
    for name, (store, answers) in rows.items():
        cells = "".join(f"{100 * value:6.1f}" for value in _means(answers))
        yield Line(f"{name:<5}{len(answers):>6,}{store.records:>7,}{store.tokens:>8,}{cells}")


def _means(answers: Sequence[Recalled]) -> list[float]:
    rows = [(*one.at, one.gain, *one.within) for one in answers]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]
