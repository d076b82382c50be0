"""Runs `dream claims`."""

from typing import Literal

from agentcore.domain.records import to_image
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.hypotheses import claim_lines, gate_line
from dream.interfaces.cli.render.text import Line
from dream.interfaces.cli.session import Access, CliSession


async def claims(
    action: Literal["list", "assert", "verify", "promote", "reject"] = "list",
    /,
    *claim: str,
    source: str | None = None,
    quote: str | None = None,
    negated: bool = False,
    when: str | None = None,
    confidence: float = 0.9,
    why: str | None = None,
    session: CliSession,
) -> None:
    """List claims, take one from a memory, hold one against its words, let one pass its gate, or refuse one.

    Args:
        action: `list`, `assert`, `verify`, `promote` or `reject`.
        claim: Its id, or the beginning of it; behind `assert` its subject, predicate and object.
        source: Where what `assert` takes is said: `entry:ID` or `turn:ID`.
        quote: The words there that say what `assert` takes; all of it by default.
        negated: Whether it is said not to be so.
        when: When it is so, such as 2024 or 2018..2019.
        confidence: How sure you are of its parts, 0 to 1.
        why: Your reason, kept in its history.
        session: Whose memory.

    Raises:
        MissingSettingError: no claim is named, or one in too many words, or no source of a new one.
    """
    if action == "assert":
        if len(claim) != 3 or source is None:
            remedy = "write assert SUBJECT PREDICATE OBJECT --source entry:ID, such as assert Ana works_at Acme"
            raise MissingSettingError(what="new claim", remedy=remedy)
    elif len(claim) != (action != "list"):
        raise MissingSettingError(what="claim", remedy=f"write {action} ID; `dream claims` lists them")
    name = "".join(claim[:1])
    async with session.host(Access.LOOK if action == "list" else Access.CHANGE) as host:
        here = host.for_scope(session.scope).claims
        if action == "promote":
            step = (await here.promote(name, why=why)).step
            session.screen.show(step.to_json, lambda: [Line(gate_line(step))])
            return
        if action == "assert":
            told = {"quote": quote, "negated": negated, "when": when, "confidence": confidence}
            name = (await here.assert_(*claim, source=source or "", **told)).id  # noqa: PT009
        elif action == "verify":
            await here.verify(name)
        elif action == "reject":
            await here.reject(name, why=why)
        found = await here.list() if action == "list" else [await here.get(name)]
    session.screen.show(
        lambda: {"claims": [to_image(one) for one in found]}, lambda: claim_lines(found, session.screen.width)
    )
