"""Asks the model to rewrite skills that fail or say too little."""

from collections.abc import Mapping, Sequence
from typing import Final

from agentcore.domain.signals import Feedback, ToolCall
from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.options import ModelOptions
from dream.passes.answers import answer_form, item_schema
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext
from dream.passes.skills.answers import Retirement, SkillDraft
from dream.passes.skills.lines import SPARSE, skill_line, tokens_of
from dream.passes.skills.optimization.outcomes import Retry
from dream.passes.skills.optimization.packing import RewriteCandidate

_FORM: Final = answer_form("skill_optimization", toDelete=item_schema(Retirement), toSave=item_schema(SkillDraft))
_CONTRACT: Final = f"""\
Improve the skills above. Answer with {{"toDelete": [], "toSave": [...]}}; an empty toSave is a good answer.
An item of toSave is {{"name", "summary", "content", "sourceNames", "seeAlso"}}: the name of one skill shown, which it
keeps, a summary of one line, its procedure in Markdown, whole, its handle alone as "sourceNames", and [] as "seeAlso".
For a skill with failures: find the step or the gap that likely caused them, and repair it. For a skill marked
{SPARSE}: expand it with concrete steps, examples and edge cases. What the skill says stays, in its order, unless a
failure says that it is wrong. Name nothing specific that neither the skill nor a failure gives. A skill whose text is
not to blame stands not in the list. Nothing is deleted here: toDelete stays empty."""

_SKILLS: Final = "Skills, each with what went wrong in sessions that used it:"
_LONGEST_FAILURE: Final = 500
_LONGEST_ARGUMENTS: Final = 200


def room_for_skills(options: ModelOptions) -> int:
    """Return the tokens that the lines of skills and failures may take."""
    return max(0, options.prompt_tokens - estimate_tokens(f"{_CONTRACT}\n{_SKILLS}") - 64)


def weigh(candidate: RewriteCandidate) -> int:
    """Return the tokens of the lines of a candidate."""
    told = "".join(f"{line}\n" for line in _told_of("s0000", candidate))
    return tokens_of(candidate.skill) + estimate_tokens(told)


def _told_of(handle: str, candidate: RewriteCandidate) -> list[str]:
    """Return the lines below a skill: what speaks against it, and what tools had to be called again for."""
    failures = [failure_line(handle, one) for one in candidate.failures]
    return failures + [retry_line(handle, one) for one in candidate.retries]


def retry_line(handle: str, retry: Retry) -> str:
    """Return calls of a tool as one line of data: those that failed, then the one that did."""
    return f"- retry beside {handle}: {retry_text(retry)}"


def retry_text(retry: Retry) -> str:
    """Return which calls of a tool failed, and which one did."""
    worked = retry.worked
    head = f"tool={quoted(worked.tool_name)} at={worked.occurred_at:%Y-%m-%d}"
    failed = [f"failed={_arguments(call)}" for call in retry.failed]
    return " ".join([head, *failed, f"worked={_arguments(worked)}"])


def _arguments(call: ToolCall) -> str:
    given = call.arguments or ""
    return quoted(given if len(given) <= _LONGEST_ARGUMENTS else f"{given[:_LONGEST_ARGUMENTS]}...")


def failure_line(handle: str, failure: Feedback) -> str:
    """Return a signal as one line of data."""
    rating = f" rating={failure.rating}" if failure.rating is not None else ""
    said = failure_text(failure)
    text = said if len(said) <= _LONGEST_FAILURE else f"{said[:_LONGEST_FAILURE]}..."
    return f"- failure of {handle}: kind={failure.kind} at={failure.occurred_at:%Y-%m-%d}{rating} {quoted(text)}"


def failure_text(failure: Feedback) -> str:
    """Return what a signal says."""
    return failure.summary if failure.detail is None else f"{failure.summary}\n{failure.detail}"


def question(
    context: ModelContext, candidates: Mapping[str, RewriteCandidate], directives: Sequence[str], purpose: str
) -> ChatRequest:
    """Return the question about candidates by handle."""
    lines: list[str] = []
    for handle, one in candidates.items():
        lines.append(skill_line(handle, one.skill, SPARSE if one.sparse else ""))
        lines += _told_of(handle, one)
    return build_request(
        context,
        directives=directives,
        blocks=[fenced(context.marker, _SKILLS, lines), _CONTRACT],
        answer=_FORM,
        purpose=purpose,
    )
