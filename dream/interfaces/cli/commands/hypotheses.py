"""Runs `dream hypotheses` and `dream reflect`."""

from typing import Literal

from agentcore.domain.hypothesis import HypothesisState
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.hypotheses import health_lines, hypothesis_lines, resolution_lines
from dream.interfaces.cli.render.reports import run_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.dream_shapes import cycle_json, dreams_json, resolution_json


async def hypotheses(
    action: Literal["list", "show", "resolve", "run"] = "list",
    hypothesis: str | None = None,
    decision: Literal["reinforce", "stale", "reject", "promote_candidate"] | None = None,
    /,
    *,
    state: Literal["proposed", "reinforced", "stale", "rejected", "promoted"] | None = None,
    feedback: str | None = None,
    max_outputs: int | None = None,
    session: CliSession,
) -> int:
    """List what dreams guessed, show one guess, decide about one, or look for new ones now.

    Guesses are no memories: nobody recalls them, and nothing rests on them.

    Args:
        action: `list`, `show`, `resolve` or `run`.
        hypothesis: Its id, or the beginning of it.
        decision: `reinforce`, `stale`, `reject` or `promote_candidate`.
        state: List only those in this state.
        feedback: Why, in the person's words; `promote_candidate` stores them as a memory.
        max_outputs: How many new ones `run` proposes at most, 1 to 50.
        session: Whose memory.

    Raises:
        MissingSettingError: no hypothesis is named, or no decision.
    """
    if action == "run":
        async with session.host(Access.CHANGE) as host:
            report = await host.for_scope(session.scope).hypotheses.run(max_outputs=max_outputs)
        return told(session, report, lambda: cycle_json(report), lambda: run_lines(session, report, {}))
    if action == "list":
        states = frozenset(HypothesisState) if state is None else frozenset({HypothesisState(state)})
        async with session.host(Access.LOOK) as host:
            found = await host.for_scope(session.scope).hypotheses.list(states=states)
            dreams = await dreams_json(host.storage, found)
        session.screen.show(lambda: {"hypotheses": dreams}, lambda: hypothesis_lines(found, session.screen.width))
        return 0
    if hypothesis is None:
        raise MissingSettingError(what="hypothesis", remedy=f"write {action} ID; `dream hypotheses` lists them")
    if action == "show":
        async with session.host(Access.LOOK) as host:
            one = await host.for_scope(session.scope).hypotheses.get(hypothesis)
            (dream,) = await dreams_json(host.storage, [one])
        session.screen.show(lambda: dream, lambda: hypothesis_lines([one], session.screen.width, whole=True))
        return 0
    if decision is None:
        remedy = "write reinforce, stale, reject or promote_candidate behind the id"
        raise MissingSettingError(what="decision", remedy=remedy)
    async with session.host(Access.CHANGE) as host:
        done = await host.for_scope(session.scope).hypotheses.resolve(hypothesis, decision, feedback=feedback)
        resolution = await resolution_json(host.storage, done)
    session.screen.show(lambda: resolution, lambda: resolution_lines(session, done))
    return 0


async def reflect(*, session: CliSession) -> None:
    """Count and list what is unwell in the memory; changes nothing.

    Args:
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        health = await host.for_scope(session.scope).dreams.reflect()
    session.screen.show(health.to_json, lambda: health_lines(health))
