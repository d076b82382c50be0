"""Asks the model to rewrite skills that fail or say too little."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
_SECTIONS: Final = "A section of a skill, with what went wrong in sessions that used the skill:"
_SECTION_RULE: Final = """\
The skill is too long to be shown whole: this is one section of it. The others are reviewed by themselves and stay
beside it. "content" is this section alone, whole; what a failure says of another section is left to that one."""
_SHARE_ANSWERED: Final = 0.6
"""A section takes so much of an answer at most: rewritten, it is longer."""
_LONGEST_FAILURE: Final = 500
_LONGEST_ARGUMENTS: Final = 200


def room_for_section(candidate: RewriteCandidate, options: ModelOptions) -> int:
    """Return the tokens of the text that a section of a skill may have, in a prompt and in an answer."""
    frame = weigh(replace(candidate, skill=replace(candidate.skill, content="")))
    shown = room_for_skills(options) - estimate_tokens(f"{_SECTIONS}\n{_SECTION_RULE}") - frame
    return min(shown, int(_SHARE_ANSWERED * options.answer_tokens))


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
    context: ModelContext,
    candidates: Mapping[str, RewriteCandidate],
    directives: Sequence[str],
    purpose: str,
    *,
    sections: int = 1,
) -> ChatRequest:
    """Return the question about candidates by handle, or about one of the sections of a skill."""
    lines: list[str] = []
    for handle, one in candidates.items():
        mark = f"section={handle[1:]}/{sections}" if sections > 1 else SPARSE if one.sparse else ""
        lines.append(skill_line(handle, one.skill, mark))
        lines += _told_of(handle, one)
    asked = [_SECTIONS, _CONTRACT, _SECTION_RULE] if sections > 1 else [_SKILLS, _CONTRACT]
    return build_request(
        context,
        directives=directives,
        blocks=[fenced(context.marker, asked[0], lines), *asked[1:]],
        answer=_FORM,
        purpose=purpose,
    )
