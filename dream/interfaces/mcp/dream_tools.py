"""Tools on dreams: plan, run, show, undo, review, questions and the peer card."""

from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from agentcore.domain.access import Right
from agentcore.domain.card import MOST_LINES
from agentcore.domain.records import to_image
from dream.domain.report import RunReport
from dream.interfaces.documents import plan_json, run_json
from dream.interfaces.mcp.memory_tools import EntryId, ToolOutput
from dream.interfaces.mcp.offered import OfferedTool, ToolContext, call_of, caller_of, state_of
from dream.interfaces.serving.remedies import TOOLS, report_reworded

RunId = Annotated[str, Field(min_length=1, max_length=300, description="The id of the run, or the beginning of it.")]
Passes = Annotated[list[str] | None, Field(max_length=100, description="Only these passes; else all enabled ones.")]


class PlanMade(ToolOutput):
    """What a dream would change: in a sentence, pass by pass, and the first changes."""

    summary: str
    plan_id: str
    outcome: str
    passes: list[dict[str, Any]]
    changes_planned: list[dict[str, Any]]
    changes_left_out: int


class RunTold(ToolOutput):
    """The report of a run; without `finished_at` it is under way."""

    run_id: str
    outcome: str | None
    changes: int
    passes: list[dict[str, Any]]


class RunWithChanges(RunTold):
    """The report of a run with what it changed."""

    changed: list[dict[str, Any]]


class Requested(ToolOutput):
    """What became of a request for a dream."""

    scope: str
    reason: str | None


class Waiting(ToolOutput):
    """What waits for a person."""

    proposals: list[dict[str, Any]]


class QuestionsOutput(ToolOutput):
    """What a person is asked."""

    questions: list[dict[str, Any]]


class CardOutput(ToolOutput):
    """The peer card."""

    lines: list[dict[str, Any]]
    most: int


async def plan(
    ctx: ToolContext,
    passes: Passes = None,
    most_changes: Annotated[int, Field(ge=0, le=200, description="How many changes to show.")] = 10,
) -> PlanMade:
    """Show what a dream would change, and change nothing; the plan is kept, to be applied by a person."""
    return PlanMade(**plan_json(await call_of(ctx).services.dreams.plan(passes=passes), most_changes))


def _told(report: RunReport) -> RunTold:
    return RunTold(**report_reworded(report.to_json(), TOOLS))


async def show_run(
    ctx: ToolContext,
    run_id: RunId,
    most_changes: Annotated[int, Field(ge=0, le=200, description="How many changes to show.")] = 20,
) -> RunWithChanges:
    """Show what a dream did: its report, and each change with its reason."""
    dreams = call_of(ctx).services.dreams
    report = await dreams.report(run_id)
    rows = await dreams.diff(report.run_id)
    return RunWithChanges(
        **report_reworded(await run_json(dreams, report), TOOLS), changed=[row.to_json() for row in rows[:most_changes]]
    )


async def undo_run(
    ctx: ToolContext,
    run_id: RunId,
    pass_name: Annotated[str | None, Field(max_length=64, description="Only what this pass changed.")] = None,
    change: Annotated[int | None, Field(ge=1, le=2**31, description="Only the change of this number.")] = None,
) -> RunTold:
    """Take back a dream, one of its passes, or one of its changes; undoing an undo brings the changes back."""
    dreams = call_of(ctx).services.dreams
    report = await dreams.report(run_id)
    return _told(await dreams.undo(report.run_id, pass_name=pass_name, change=change))


async def schedule_dream(ctx: ToolContext) -> Requested:
    """Ask for a dream soon: within a minute, once nobody is served."""
    return Requested(**(await call_of(ctx).services.dreams.schedule()).to_json())


async def review(
    ctx: ToolContext,
    action: Annotated[Literal["list", "approve", "reject"], Field(description="What to do.")] = "list",
    proposals: Annotated[list[str] | None, Field(max_length=100, description="Ids of what is decided.")] = None,
) -> ToolOutput:
    """List what waits for a person, or carry out what the person decided. Never decide for them."""
    call = call_of(ctx)
    if action == "list":
        return Waiting(proposals=[one.to_json() for one in await call.services.dreams.proposals()])
    caller_of(ctx).require(Right.REVIEW)
    if not proposals:
        raise ToolError("No proposal was named: give the ids that `review` lists.")
    decide = call.services.dreams.approve if action == "approve" else call.services.dreams.reject
    return _told(await decide(proposals))


async def questions(ctx: ToolContext) -> QuestionsOutput:
    """List the questions about the memory that only a person can answer; ask your user, never answer for them."""
    return QuestionsOutput(questions=[one.to_json() for one in await call_of(ctx).services.desk.questions()])


async def answer_question(
    ctx: ToolContext,
    question_id: Annotated[str, Field(min_length=1, max_length=64, description="The question, as listed.")],
    how: Annotated[Literal["keep", "text", "distinct", "dismiss"], Field(description="What the person decided.")],
    value: Annotated[str | None, Field(max_length=2_000, description="For keep the id, for text the text.")] = None,
    why: Annotated[str | None, Field(max_length=1_000, description="Their reason.")] = None,
) -> RunTold:
    """Give a person's answer to a question: keep one memory, put a text in its place, tell apart, or dismiss."""
    done = await call_of(ctx).services.desk.answer(
        question_id,
        keep=value if how == "keep" else None,
        text=value if how == "text" else None,
        distinct=how == "distinct",
        dismiss=how == "dismiss",
        why=why,
    )
    return _told(done)


async def confirm_memory(
    ctx: ToolContext,
    id: EntryId,  # noqa: A002 - what recall calls it
    why: Annotated[str | None, Field(max_length=1_000, description="How the person confirmed it.")] = None,
) -> RunTold:
    """Mark a memory as confirmed by a person, who was shown it and said that it holds."""
    return _told(await call_of(ctx).services.desk.confirm(id, why=why))


async def show_card(ctx: ToolContext) -> CardOutput:
    """Show the peer card: up to 40 short lines about whomever the memory is about, kept at hand for every turn."""
    lines = await call_of(ctx).services.card.lines()
    return CardOutput(lines=[to_image(one) for one in lines], most=MOST_LINES)


async def set_card_line(
    ctx: ToolContext,
    line: Annotated[str, Field(min_length=1, max_length=300, description="As `RELATIONSHIP: Married to Rui.`")],
    replaces: Annotated[str | None, Field(max_length=300, description="Id of the line that gives way.")] = None,
    why: Annotated[str | None, Field(max_length=1_000, description="The person's reason.")] = None,
) -> RunTold:
    """Put a line on the peer card that a person asked for by themselves; no dream changes it afterwards.

    It begins with its section: IDENTITY, ATTRIBUTE, RELATIONSHIP or INSTRUCTION.
    """
    await call_of(ctx).services.memory.refuse_secret(line)
    return _told(await call_of(ctx).services.card.set(line, replaces=replaces, why=why))


async def remove_card_line(
    ctx: ToolContext,
    line: Annotated[str, Field(min_length=1, max_length=300, description="Its id, as `show_card` gives it.")],
    why: Annotated[str | None, Field(max_length=1_000, description="The person's reason.")] = None,
) -> RunTold:
    """Take a line off the peer card that a person wants gone; no dream writes one like it again."""
    return _told(await call_of(ctx).services.card.remove(line, why=why))


async def run_dream(
    ctx: ToolContext,
    max_outputs: Annotated[int | None, Field(ge=1, le=10_000, description="New records that it may write.")] = None,
) -> RunTold:
    """Dream now, with all passes that are switched on; one that takes long is still under way.

    `show_run` tells how it ended.
    """
    call, desk = call_of(ctx), state_of(ctx).run_desk
    report = await desk.ended(call, await desk.begin(call, max_outputs=max_outputs))
    return RunTold(**report_reworded(await run_json(call.services.dreams, report), TOOLS))


DREAM_TOOLS: Final = (
    OfferedTool(plan, "Plan a dream", Right.WRITE, repeats_well=True),
    OfferedTool(show_run, "Show a dream", Right.READ),
    OfferedTool(undo_run, "Undo a dream", Right.WRITE, destroys=True),
    OfferedTool(run_dream, "Dream now", Right.WRITE),
    OfferedTool(schedule_dream, "Ask for a dream", Right.WRITE, repeats_well=True),
    OfferedTool(review, "Review proposals", Right.READ, destroys=True),
    OfferedTool(questions, "Questions for a person", Right.READ),
    OfferedTool(answer_question, "Answer a question", Right.REVIEW, destroys=True),
    OfferedTool(confirm_memory, "Confirm a memory", Right.REVIEW, repeats_well=True),
    OfferedTool(show_card, "Show the peer card", Right.READ),
    OfferedTool(set_card_line, "Put a line on the peer card", Right.REVIEW, destroys=True, repeats_well=True),
    OfferedTool(remove_card_line, "Take a line off the peer card", Right.REVIEW, destroys=True),
)
