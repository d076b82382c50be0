"""Dense-Mem's tools on hypotheses, under its names and with its arguments."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from agentcore.domain.access import Right
from agentcore.domain.hypothesis import HypothesisState
from dream.interfaces.dream_shapes import cycle_json, dreaming_status_json, dreams_json, resolution_json
from dream.interfaces.mcp.memory_tools import ToolOutput
from dream.interfaces.mcp.offered import OfferedTool, ToolContext, call_of, state_of

Status = Literal["proposed", "reinforced", "stale", "rejected", "promoted"]
DreamId = Annotated[str, Field(min_length=1, max_length=128, description="Its id, or the beginning of it.")]

Phase = Annotated[bool | None, Field(description="Whether this phase runs; by default unless it is switched off.")]


class DreamsOutput(ToolOutput):
    """Hypotheses, the latest first: unproven, and no memories."""

    dreams: list[dict[str, Any]]
    next_cursor: str | None = None


class DreamOutput(ToolOutput):
    """One hypothesis: unproven, and no memory."""

    dream: dict[str, Any]


class ResolvedOutput(ToolOutput):
    """What came of a decision."""

    dream: dict[str, Any]
    changed: bool
    fragment: dict[str, Any] | None = None
    claims: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class CycleOutput(ToolOutput):
    """The record of a dreaming cycle; while its status is `running` it is under way."""

    run_id: str
    status: str
    created_dreams: int


class DreamingStatusOutput(ToolOutput):
    """How dreams stand."""

    effective_config: dict[str, Any]
    latest_run: dict[str, Any] | None
    pending_count: int


class HealthOutput(ToolOutput):
    """What is unwell in the memory: how many of each, and the first ids."""

    stale_facts: int
    candidate_claims: int
    disputed_claims: int
    contradictions: int
    undecided: int
    listed: dict[str, list[str]]


async def dreaming_status(ctx: ToolContext) -> DreamingStatusOutput:
    """Tell the configuration in force, the latest dream, and how many proposals and hypotheses wait."""
    return DreamingStatusOutput(**await dreaming_status_json(call_of(ctx).services))


async def run_dreaming_cycle(
    ctx: ToolContext,
    max_outputs: Annotated[int | None, Field(ge=1, le=50, description="New hypotheses at most.")] = None,
    reflect_enabled: Phase = None,
    reevaluate_enabled: Phase = None,
    dream_enabled: Phase = None,
) -> CycleOutput:
    """Look after hypotheses now: count what is unwell, re-evaluate those there are, propose new ones; nothing else.

    A whole dream is `run_dream`.
    """
    call, desk = call_of(ctx), state_of(ctx).run_desk
    report = await desk.begin(
        call,
        run=call.services.hypotheses.run,
        reflect=reflect_enabled,
        re_evaluate=reevaluate_enabled,
        hypotheses=dream_enabled,
        max_outputs=max_outputs,
    )
    return CycleOutput(**cycle_json(await desk.ended(call, report)))


async def list_dreams(
    ctx: ToolContext,
    status: Annotated[Status | None, Field(description="Only those in this state.")] = None,
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 20,
) -> DreamsOutput:
    """List hypotheses that dreams guessed. They are unproven: review them with your user, never take one for memory."""
    states = frozenset(HypothesisState) if status is None else frozenset({HypothesisState(status)})
    call = call_of(ctx)
    found = await call.services.hypotheses.list(states=states, limit=limit)
    return DreamsOutput(dreams=await dreams_json(call.host.storage, found))


async def get_dream(ctx: ToolContext, dream_id: DreamId) -> DreamOutput:
    """Show one hypothesis with what it rests on; it is unproven."""
    call = call_of(ctx)
    (dream,) = await dreams_json(call.host.storage, [await call.services.hypotheses.get(dream_id)])
    return DreamOutput(dream=dream)


async def resolve_dream_feedback(
    ctx: ToolContext,
    dream_id: DreamId,
    decision: Annotated[
        Literal["reinforce", "stale", "reject", "promote_candidate"], Field(description="What the person decided.")
    ],
    feedback: Annotated[str | None, Field(min_length=1, max_length=1_024, description="In the person's words.")] = None,
) -> ResolvedOutput:
    """Carry out what a person decided about a hypothesis. Never decide for them.

    `promote_candidate` stores their words as a memory, and says what the gates made of what these words claim.
    """
    call = call_of(ctx)
    done = await call.services.hypotheses.resolve(dream_id, decision, feedback=feedback)
    return ResolvedOutput(**await resolution_json(call.host.storage, done))


async def reflect_memories(ctx: ToolContext) -> HealthOutput:
    """Count and list what is unwell in the memory: stale facts, claims and conflicts that wait, undecided guesses."""
    return HealthOutput(**(await call_of(ctx).services.dreams.reflect()).to_json())


HYPOTHESIS_TOOLS: Final = (
    OfferedTool(dreaming_status, "Status of dreaming (Dense-Mem)", Right.READ),
    OfferedTool(run_dreaming_cycle, "Look after hypotheses (Dense-Mem)", Right.WRITE),
    OfferedTool(list_dreams, "List hypotheses (Dense-Mem)", Right.READ),
    OfferedTool(get_dream, "Show a hypothesis (Dense-Mem)", Right.READ),
    OfferedTool(resolve_dream_feedback, "Decide about a hypothesis (Dense-Mem)", Right.REVIEW, destroys=True),
    OfferedTool(reflect_memories, "What is unwell (Dense-Mem)", Right.READ),
)
