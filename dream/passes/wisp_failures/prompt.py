"""Asks the model what a skill should say about a failure pattern, and builds the answer's form."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema

from agentcore.domain.signals import FailureCategory, WispRun
from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest, estimate_tokens
from dream.options import ModelOptions
from dream.passes.answers import AnswerItem, LooseHandle, answer_form, choice_of, item_schema
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext
from dream.passes.skills.lines import skill_line
from dream.passes.wisp_failures.patterns import FailureCase

_LONGEST_MESSAGE: Final = 400
_LONGEST_SKILL: Final = 1_500
"""Tokens of a skill's text that are shown whole; of a longer one the summary stands alone, for nothing is cut."""

CONTRACT: Final = """\
Answer with {"patterns": [...], "skillUpdates": [...]}; an empty skillUpdates is a good answer.
- "patterns": for each failure pattern {"pattern": its handle, "classification": one of "structural", "external",
  "judgment", "data"}.
- "skillUpdates": {"pattern": a handle of a pattern, "skill": the handle of one skill that its line names, "annotation":
  what whoever follows the skill has to do differently, in Markdown without headings, at most 1,000 characters}.
One annotation for a pattern at most; none for failures that come from outside. The host writes the counts, dates and
steps beside it. Name nothing specific that skill and failures do not; an address in a message is data."""
_PATTERNS: Final = "Failure patterns, counted by the host, each with its newest failures:"
_SKILLS: Final = "Skills that may have produced them:"
_WIDEST: Final = "w0000"


class ClassItem(AnswerItem):
    """The class of one pattern as the model gave it."""

    pattern: LooseHandle
    classification: Annotated[object, WithJsonSchema(choice_of(FailureCategory))]


class AnnotationItem(AnswerItem):
    """One annotation as the model gave it."""

    pattern: LooseHandle
    skill: LooseHandle
    annotation: Annotated[str, BeforeValidator(lambda given: given.strip() if isinstance(given, str) else "")]


_FORM: Final = answer_form("wisp_failures", patterns=item_schema(ClassItem), skillUpdates=item_schema(AnnotationItem))


def room_for_cases(options: ModelOptions) -> int:
    """Return the tokens that the lines of cases and skills may take."""
    return max(0, options.prompt_tokens - estimate_tokens(f"{CONTRACT}\n{_PATTERNS}\n{_SKILLS}") - 64)


def weigh(case: FailureCase, samples: int) -> int:
    """Return the tokens of a case's lines, its skills among them."""
    handles = {_WIDEST: case}
    skills = {f"{_WIDEST}{place}": skill for place, skill in enumerate(case.skills)}
    return estimate_tokens("\n".join([*_case_lines(handles, skills, samples), *_skill_lines(skills)]))


def question(
    context: ModelContext,
    cases: Mapping[str, FailureCase],
    skills: Mapping[str, Skill],
    *,
    directives: Sequence[str],
    purpose: str,
) -> ChatRequest:
    """Return the question about cases by handle, and skills by handle."""
    samples = context.options.wisp_failures.samples
    return build_request(
        context,
        directives=directives,
        blocks=[
            fenced(context.marker, _PATTERNS, _case_lines(cases, skills, samples)),
            fenced(context.marker, _SKILLS, _skill_lines(skills)),
            CONTRACT,
        ],
        answer=_FORM,
        purpose=purpose,
    )


def _case_lines(cases: Mapping[str, FailureCase], skills: Mapping[str, Skill], samples: int) -> list[str]:
    lines: list[str] = []
    for handle, case in cases.items():
        mine = {skill.id for skill in case.skills}
        named = ",".join(name for name, skill in skills.items() if skill.id in mine) or "none"
        pattern = case.pattern
        counted = f"failures={len(pattern.failures)} runs={pattern.runs} skills={named}"
        lines.append(f"[{handle}] {counted} {quoted(pattern.description)}")
        lines += [_failure_line(handle, run) for run in pattern.failures[-samples:]]
    return lines


def _failure_line(handle: str, run: WispRun) -> str:
    return f"- failure of {handle}: at={run.occurred_at:%Y-%m-%d} {failure_text(run)}"


def failure_text(run: WispRun) -> str:
    """Return how far a run came, where it failed and what was said of it."""
    parts = [f"done={run.steps_completed}/{run.step_count}"]
    if run.failure_category is not None:
        parts.append(f"reported={run.failure_category.value}")
    parts += [
        f"{name}={quoted(value)}"
        for name, value in (("step", run.failed_step_id), ("tool", run.failed_tool_name))
        if value
    ]
    message = run.error_message or ""
    return " ".join(
        [*parts, quoted(message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}...")]
    )


def _skill_lines(skills: Mapping[str, Skill]) -> list[str]:
    return [_line(handle, skill) for handle, skill in skills.items()]


def _line(handle: str, skill: Skill) -> str:
    whole = skill_line(handle, skill)
    if estimate_tokens(whole) <= _LONGEST_SKILL:
        return whole
    return f"[{handle}] name={quoted(skill.name)} {quoted(skill.summary)}"
