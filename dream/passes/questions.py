"""Words what only a person can answer, as a pass puts it into its proposal."""

from collections.abc import Mapping

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.question import Question, QuestionCause, question_id
from dream.passes.protocol import DreamContext


def question_about(
    context: DreamContext,
    cause: QuestionCause,
    entries: Mapping[str, int],
    text: str,
    *,
    similarity: float | None = None,
) -> Question:
    """Return a question for `Proposal.questions`; the step writer leaves out what is asked or answered already.

    Args:
        context: The pass's.
        cause: What made it ask.
        entries: Versions of the entries that it is about, by id; two or more.
        text: The question in words; it must not quote an entry.
        similarity: How alike they are at most, where that is why it asks.
    """
    versions = [(SourceRef(SourceKind.ENTRY, entry_id), version) for entry_id, version in entries.items()]
    return Question(
        id=question_id(cause, versions),
        scope=context.scope,
        cause=cause,
        members=tuple(member for member, _ in versions),
        text=text,
        asked_at=context.as_of,
        asked_by=context.pass_name,
        similarity=similarity,
    )
