"""The figures of recall: a table per sample, and the categories of all questions."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

from dream.interfaces.benchmark.recalling import BUDGETS, DEPTHS, GAIN_DEPTH, Recalled, RecallResult, Store
from dream.interfaces.cli.render.benchmark import question_count
from dream.interfaces.cli.render.line import Line, Lines, Tone, paragraph

_HEAD = (*(f"R@{depth}" for depth in DEPTHS), f"N@{GAIN_DEPTH}", *(f"{budget:,}" for budget in BUDGETS))
_LEGEND = (
    "Shares of the evidence in percent, means over the questions (n). R@k: what the best k items go back to; N@10: "
    "NDCG, where a record counts that goes back to evidence no better one did; then what the best records go back to "
    "that fit into so many tokens. turns: the conversation; notes: the entries; both: the two in one ranking."
)


def recall_benchmark_lines(results: Sequence[RecallResult], *, width: int) -> Lines:
    """Yield a table per sample, one of all questions by category, and what the columns mean."""
    for result in results:
        yield from paragraph(f"{result.name}: {question_count(result.questions, result.faults)}", width, rest="  ",
                             tone=Tone.TITLE)  # fmt: skip
        yield from _table({name: (store, store.answers) for name, store in result.stores.items()})
        yield Line()
    whole = reduce(add, results)
    questions = question_count(whole.questions, whole.faults)
    yield from paragraph(f"By category: {questions}", width, rest="  ", tone=Tone.TITLE)
    groups = next(iter(whole.stores.values())).groups()
    for group in groups:
        yield Line(group, Tone.TITLE)
        yield from _table({name: (store, store.groups()[group]) for name, store in whole.stores.items()})
    yield Line()
    yield from paragraph(_LEGEND, width, tone=Tone.FAINT)


def _table(rows: "dict[str, tuple[Store, Sequence[Recalled]]]") -> Iterator[Line]:
    yield Line(f"{'':<5}{'n':>6}{'items':>7}{'tokens':>8}" + "".join(f"{head:>6}" for head in _HEAD), Tone.FAINT)
    for name, (store, answers) in rows.items():
        cells = "".join(f"{100 * value:6.1f}" for value in _means(answers))
        yield Line(f"{name:<5}{len(answers):>6,}{store.records:>7,}{store.tokens:>8,}{cells}")


def _means(answers: Sequence[Recalled]) -> list[float]:
    rows = [(*one.at, one.gain, *one.within) for one in answers]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]
