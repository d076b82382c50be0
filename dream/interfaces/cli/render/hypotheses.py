"""Shows hypotheses, claims, and what is unwell in a memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentcore.domain.claim import Claim
from agentcore.domain.hypothesis import Hypothesis, level_of
from agentcore.recall.results import RelatedHypothesis
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, one_line, paragraph, when
from dream.interfaces.cli.session import CommandSession

if TYPE_CHECKING:
    from dream.cycle.hypotheses import Resolution
    from dream.passes.claim_changes import PromotionStep
    from dream.stores.memory_health import MemoryHealth

_FAINT = Tone.FAINT


def hypothesis_lines(found: Sequence[Hypothesis], width: int, *, whole: bool = False) -> Lines:
    """Yield hypotheses, each with how far it has come; with *whole* all that is known of each."""
    if not found:
        yield Line("Nothing was guessed.", Tone.TITLE)
        return
    for one in found:
        yield from paragraph(one_line(one.what_if if whole else one.hypothesis), width, first=f"{one.id[:8]}  ")
        rank = f"likelihood {level_of(one.likelihood).value}, confidence {level_of(one.confidence).value}"
        yield Line(f"  {one.state.value}, {rank}, unproven; {when(one.created_at)} by {one.created_by}", _FAINT)
        if whole:
            yield from _whole(one, width)
    yield Line(f"{counted(len(found), 'hypothesis', 'hypotheses')}.", _FAINT)


def related_lines(found: Sequence[RelatedHypothesis], width: int) -> Lines:
    """Yield the hypotheses beside an answer, apart from it."""
    if found:
        yield Line("Related guesses, unproven:", Tone.TITLE)
    for one in found:
        told = one.hypothesis
        yield from paragraph(one_line(told.hypothesis), width, first=f"{told.id[:8]}  ")
        yield Line(f"  {told.state.value}; all of it: dream hypotheses show {told.id[:8]}", _FAINT)


def _whole(one: Hypothesis, width: int) -> Lines:
    told = {"guess": one.hypothesis, "if so": one.possible_outcome, "why": one.rationale, "ask": one.question}
    for name, text in told.items():
        yield from paragraph(one_line(text), width, first=f"  {name}: ")
    factors = ", ".join(map(str, one.factors))
    yield from paragraph(f"likelihood {one.likelihood}, confidence {one.confidence}: {factors}", width, first="  ")
    for ref in one.source_refs:
        yield Line(f"  from {ref}", _FAINT)
    for piece in one.weighed:
        if piece.quote:
            read = f"{piece.bearing.value}{'' if piece.counts else ', not counted'}"
            yield from paragraph(
                f"{piece.entry_id[:8]} {read}: {one_line(piece.quote)}", width, first="  ", tone=_FAINT
            )
    if one.state_reason:
        yield from paragraph(f"{one.state.value}: {one_line(one.state_reason)}", width, first="  ", tone=_FAINT)
    for logged in one.decisions:
        said = f"{logged.decision.value} by {logged.by}, {when(logged.at)}: {one_line(logged.feedback)}"
        yield from paragraph(said, width, first="  ", tone=_FAINT)


def resolution_lines(session: CommandSession, done: "Resolution") -> Lines:
    """Yield what came of a decision, and how to take it back."""
    if done.is_unchanged:
        yield Line(f"It is {done.hypothesis.state.value} already: nothing was changed.")
        return
    yield Line(f"{done.hypothesis.id[:8]} is {done.hypothesis.state.value}.")
    if done.fragment is not None:
        yield from paragraph(one_line(done.fragment.content), session.screen.width, first="  remembered: ")
    for step in done.claims:
        yield from paragraph(gate_line(step), session.screen.width, first="  ")
    yield Line(f"Take that back: {session.command('undo', done.report.run_id)}", _FAINT)


def gate_line(step: "PromotionStep") -> str:
    """Return what a gate said of a claim."""
    asked = f"; asked: {step.question.id[:8]}" if step.question is not None else ""
    return f"claim {step.claim.id[:8]} {step.claim}: {step.verdict.outcome.value}, {step.verdict.reason}{asked}"


def claim_lines(found: Sequence[Claim], width: int) -> Lines:
    """Yield claims, each with its words and how far it has come."""
    if not found:
        yield Line("There are no claims.", Tone.TITLE)
    for one in found:
        yield from paragraph(f"{one}", width, first=f"{one.id[:8]}  ")
        read = f"; its words: {one.entailment.value}" if one.entailment is not None else ""
        why = f": {one_line(one.state_reason)}" if one.state_reason else ""
        yield from paragraph(f"{one.state.value}{why}{read}", width, first="  ", tone=_FAINT)
        yield from paragraph(one_line(one.quote), width, first="  said: ", tone=_FAINT)


def health_lines(health: "MemoryHealth") -> Lines:
    """Yield how much of each is unwell, with the first ids."""
    for name, count in health.counts().items():
        ids = " ".join(one[:8] for one in getattr(health, name)[:5])
        yield Line(f"{count:>5}  {name.replace('_', ' ')}  {ids}".rstrip())
