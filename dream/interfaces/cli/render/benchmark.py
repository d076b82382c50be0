"""Shows what benchmarks measured."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add

from dream.interfaces.benchmark.qa import BUDGETS
from dream.interfaces.benchmark.recalling import DEPTHS, GAIN_DEPTH, GivenFigures, QuestionOutcome, RecallResult, Store
from dream.interfaces.benchmark.result import RESAMPLES, Compared, Cost, Figures, Result, total
from dream.interfaces.benchmark.samples import Faults
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, one_line, paragraph

_WITH = "with the model {} and the passes that ask none"
_WITHOUT = "without a model: the passes that ask none"
_LEGEND = (
    "What a turn is given of the memory and the conversations within so many tokens (host.context.for_turn, its "
    "defaults), by a host that never dreams (without) and by one after its dreams (after). Shares of the evidence in "
    "percent, means over the questions (n). found: evidence shown where what is shown tells the answer; only questions "
    "count whose evidence tells it by the same rule. evidence: evidence shown, whatever of it is shown. difference: "
    f"after less without, with its 95 % interval (paired bootstrap over questions, {RESAMPLES:,} draws)."
)


def benchmark_lines(results: Sequence[Result], *, model: str | None, width: int) -> Lines:
    """Yield a table per sample, one of all questions and of each category, and what the columns mean."""
    yield from paragraph(f"Dreams {_WITH.format(model) if model else _WITHOUT}", width, tone=Tone.TITLE)
    for result in results:
        yield Line()
        yield from _result_lines(result.name, result, width)
    whole = total(results)
    if len(results) > 1:
        yield Line()
        yield from _result_lines(f"All {len(results)} samples", whole, width)
    for name, figures in list(whole.groups().items())[1:]:
        yield Line()
        yield Line(f"{name}: {_judged(figures)}", Tone.TITLE)
        yield from _table(figures)
    yield Line()
    yield from paragraph(_LEGEND, width, tone=Tone.FAINT)


def _result_lines(name: str, result: Result, width: int) -> Lines:
    figures = result.groups()["all"]
    questions = question_count(result.questions, result.faults)
    yield from paragraph(f"{name}: {questions}; {_judged(figures)}", width, rest="  ", tone=Tone.TITLE)
    yield from _table(figures)
    yield from _dream_lines(result, width)


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


def _judged(figures: Figures) -> str:
    reasons = f" ({_amounts(figures.unjudged)})" if figures.unjudged else ""
    return f"{figures.judged:,} of {figures.questions:,} can be judged{reasons}"


def _table(figures: Figures) -> Iterator[Line]:
    yield Line(f"{'tokens':<12}{'n':>5}{'':>11}" + "".join(f"{budget:>8,}" for budget in BUDGETS), Tone.FAINT)
    for name, judged, compared in (
        ("found", figures.judged, figures.found),
        ("evidence", figures.questions, figures.evidence),
    ):
        for number, (label, cells) in enumerate(_rows(list(compared.values()))):
            head = f"{name:<12}{judged:>5,}" if number == 0 else f"{'':<17}"
            yield Line(f"{head} {label:<10}{cells}")
    for number, label in enumerate(("without", "after")):
        head = "tokens used" if number == 0 else ""
        yield Line(f"{head:<17} {label:<10}" + "".join(f"{pair[number]:>8,.0f}" for pair in figures.tokens.values()))


def _rows(compared: Sequence[Compared]) -> Iterator[tuple[str, str]]:
    if compared:
        yield "without", "".join(f"{100 * one.first.mean:8.1f}" for one in compared)
        yield "after", "".join(f"{100 * one.second.mean:8.1f}" for one in compared)
        yield "difference", "".join(f"{100 * one.difference:+8.1f}" for one in compared)
        yield "  from", "".join(f"{100 * one.least:+8.1f}" for one in compared)
        yield "  to", "".join(f"{100 * one.most:+8.1f}" for one in compared)


def _dream_lines(result: Result, width: int) -> Lines:
    cost = result.cost
    memory = ", ".join(
        f"{name} {counted(side.entries, 'entry', 'entries')} of {side.tokens:,} tokens"
        for name, side in result.sides.items()
    )
    yield from paragraph(f"memory: {memory}", width, rest="  ")
    calls = f", {cost.input_tokens:,} + {cost.output_tokens:,} tokens" if cost.calls else ""
    did = [
        _changes(cost.changes) or "no record changed",
        f"{_amounts(cost.refused)} refused" if cost.refused else "",
        f"{counted(cost.calls, 'model call')}{calls}",
        f"{cost.backlog:,} left for later runs" if cost.backlog else "",
        f"{result.seconds['dream']:.2f} s",
    ]
    outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(cost.outcomes.items()))
    head = f"{counted(cost.outcomes.total(), 'dream')} ({outcomes})"
    yield from paragraph(f"{head}: {'; '.join(part for part in did if part)}", width, rest="  ")
    if cost.calls and cost.told_tokens:
        yield from paragraph(_spending(cost), width, rest="  ")
    for failure in sorted(cost.failures):
        yield from paragraph(f"failed: {one_line(failure)}", width, first="  ", tone=Tone.REMOVED)
    yield from paragraph(_safety(cost), width, first="  ")


def _spending(cost: Cost) -> str:
    """Return what a turn cost, what it went to, and how much of that is cheaper where prompts are cached."""
    whole = cost.input_tokens + cost.output_tokens
    shares = ", ".join(f"{name} {100 * spent / whole:.0f} %" for name, spent in cost.tokens_for.most_common())
    return (
        f"tokens: {whole / cost.turns:,.0f} a turn, {whole / cost.told_tokens:.1f} times the text of the "
        f"{counted(cost.turns, 'turn')}; {shares}; {cost.cached_tokens:,} of them begin a prompt as an earlier one did "
        "(cached prefix)"
    )


def _safety(cost: Cost) -> str:
    undo = "exact" if cost.is_undo_exact else f"exact for {cost.undone:,} of {cost.samples:,}"
    again = f"{counted(cost.replayed, 'change')}, {counted(cost.replay_calls, 'model call')}"
    unsupported = _amounts(cost.unsupported) or "none"
    return f"unsupported changes: {unsupported}; undo: {undo}; a further run: {again}"


def _changes(counts: Counter[str]) -> str:
    parts = [(*name.rsplit("_", 1), count) for name, count in sorted(counts.items())]
    return ", ".join(
        f"{counted(count, noun.replace('_', ' '), 'entries' if noun == 'entry' else None)} {what}"
        for noun, what, count in parts
    )


def _amounts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {one_line(name.replace('_', ' '))}" for name, count in sorted(counts.items()))


_RECALL_HEAD = (
    *(f"R@{depth}" for depth in DEPTHS),
    f"N@{GAIN_DEPTH}",
    *(f"{budget:,}" for budget in BUDGETS),
)
_RECALL_LEGEND = (
    "Shares of the evidence in percent, means over the questions (n). R@k: what the best k items go back to; N@10: "
    "NDCG, where an item counts that goes back to evidence no better one did; then what the best items go back to "
    "that fit into so many tokens. turns: the conversation; notes: the entries; both: the two in one ranking; given: "
    "what a turn is given of both within so many tokens (host.context.for_turn, its defaults), and of these used."
)


def recall_benchmark_lines(results: Sequence[RecallResult], *, width: int) -> Lines:
    """Yield a table per sample, one of all questions by category, and what the columns mean."""
    for result in results:
        yield from paragraph(f"{result.name}: {question_count(result.questions, result.faults)}", width, rest="  ",
                             tone=Tone.TITLE)  # fmt: skip
        yield from _recall_table(
            {name: (store, store.answers) for name, store in result.stores.items()}, result.given_groups()["all"]
        )
        yield Line()
    whole = reduce(add, results)
    questions = question_count(whole.questions, whole.faults)
    yield from paragraph(f"By category: {questions}", width, rest="  ", tone=Tone.TITLE)
    given = whole.given_groups()
    groups = {name: store.groups() for name, store in whole.stores.items()}
    for group, answers in groups["both"].items():
        yield Line(f"{group}: {counted(len(answers), 'question')}", Tone.TITLE)
        rows = {name: (store, groups[name][group]) for name, store in whole.stores.items()}
        yield from _recall_table(rows, given[group])
    yield Line()
    yield from paragraph(_RECALL_LEGEND, width, tone=Tone.FAINT)


def _recall_table(rows: Mapping[str, tuple[Store, Sequence[QuestionOutcome]]], given: GivenFigures) -> Iterator[Line]:
    heads = "".join(f"{head:>{_wide(head)}}" for head in _RECALL_HEAD)
    yield Line(f"{'':<5}{'items':>6}{heads}", Tone.FAINT)
    for name, (store, answers) in rows.items():
        cells = "".join(
            f"{100 * value:{_wide(head)}.1f}" for head, value in zip(_RECALL_HEAD, _means(answers), strict=True)
        )
        yield Line(f"{name:<5}{store.records:>6,}{cells}")
    blank = " " * (11 + sum(map(_wide, _RECALL_HEAD[: -len(BUDGETS)])))
    heads = _RECALL_HEAD[-len(BUDGETS) :]
    shares = "".join(
        f"{100 * share.mean:{_wide(head)}.1f}" for head, share in zip(heads, given.evidence.values(), strict=True)
    )
    used = "".join(f"{tokens:{_wide(head)},.0f}" for head, tokens in zip(heads, given.tokens.values(), strict=True))
    yield Line(f"{'given':<{len(blank)}}{shares}")
    yield Line(f"{'- used':<{len(blank)}}{used}", Tone.FAINT)


def _wide(head: str) -> int:
    return 6 if len(head) <= 4 else 7


def _means(answers: Sequence[QuestionOutcome]) -> list[float]:
    rows = [(*one.at, one.gain, *one.within) for one in answers]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]
