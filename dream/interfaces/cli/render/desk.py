"""Shows questions with the texts that they are about, and what a person changed by hand."""

from collections.abc import Sequence

from agentcore.domain.question import QuestionCause
from dream.domain.asked_question import AskedQuestion
from dream.domain.change import JournalRow
from dream.domain.report import RunReport
from dream.interfaces.cli.render.changes import change_set_lines
from dream.interfaces.cli.render.clusters import alike
from dream.interfaces.cli.render.entries import entry_lines
from dream.interfaces.cli.render.hypotheses import claim_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, paragraph, when
from dream.interfaces.cli.session import CommandSession

_CAUSES = {
    QuestionCause.NEAR_DUPLICATE: "alike",
    QuestionCause.CLOSE_CALL: "only one can hold",
    QuestionCause.CONTRADICTION: "a contradiction",
}


def question_lines(session: CommandSession, found: Sequence[AskedQuestion], none: str) -> Lines:
    """Yield questions with their members, and how to answer."""
    width = session.screen.width
    if not found:
        yield from paragraph(none, width)
        return
    for one in found:
        yield from asked_lines(one, width)
        yield Line()
    yield Line(f"{counted(len(found), 'question')}.", Tone.FAINT)
    first = found[0]
    if first.question.is_open and first.members:
        kept = [("keep", one.id[:8]) for one in (first.members[0], *first.claims)]
        ways = (*kept, *(() if first.claims else (("distinct",),)), ("dismiss",))
        for way in ways:
            yield Line(f"  {session.command('answer', first.question.id[:8], *way)}", Tone.FAINT)


def asked_lines(one: AskedQuestion, width: int) -> Lines:
    """Yield one question with its members."""
    question = one.question
    yield from paragraph(one.text, width, first=f"{question.id[:8]}  ", tone=Tone.TITLE)
    yield from paragraph(_told(one), width, first="  ", tone=Tone.FAINT)
    for entry in one.members:
        yield from entry_lines(entry, width, prefix="  ")
    if one.claims:
        yield from claim_lines(one.claims, width)


def _told(one: AskedQuestion) -> str:
    question = one.question
    texts = [entry.content for entry in one.members]
    cause = _CAUSES[question.cause] if question.similarity is None else alike(question.similarity, texts)
    asked = f"{cause}; asked by {question.asked_by}, {when(question.asked_at)}"
    if question.is_open:
        return asked
    why = f": {question.reason}" if question.reason else ""
    result = f" {question.result.id}" if question.result else ""
    said = f"{question.verdict or question.state}{result} by {question.answered_by}, {when(question.answered_at)}"
    return f"{asked}; {said}{why}"


def done_lines(session: CommandSession, report: RunReport, rows: Sequence[JournalRow]) -> Lines:
    """Yield what a person changed, and how to take it back."""
    width = session.screen.width
    if not report.run_id:
        yield from paragraph("It is so already: nothing was changed.", width)
        return
    yield from change_set_lines(rows, width)
    yield Line(f"Take that back: {session.command('undo', report.run_id)}", Tone.FAINT)
