"""Runs `dream claims`."""

from typing import Literal

from agentcore.domain.records import to_image
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.hypotheses import claim_lines, gate_line
from dream.interfaces.cli.render.text import Line
from dream.interfaces.cli.session import Access, CliSession


async def claims(
    action: Literal["list", "verify", "promote", "reject"] = "list",
    claim: str | None = None,
    /,
    *,
    why: str | None = None,
    session: CliSession,
) -> None:
    """List claims, hold one against its words, let one pass its gate, or refuse one.

    Args:
        action: `list`, `verify`, `promote` or `reject`.
        claim: Its id, or the beginning of it.
        why: Your reason, kept in its history.
        session: Whose memory.

    Raises:
        MissingSettingError: no claim is named.
    """
    if action != "list" and claim is None:
        raise MissingSettingError(what="claim", remedy=f"write {action} ID; `dream claims` lists them")
    async with session.host(Access.LOOK if action == "list" else Access.CHANGE) as host:
        here = host.for_scope(session.scope).claims
        if action == "promote":
            step = (await here.promote(claim or "", why=why)).step
            session.screen.show(step.to_json, lambda: [Line(gate_line(step))])
            return
        if action == "verify":
            await here.verify(claim or "")
        elif action == "reject":
            await here.reject(claim or "", why=why)
        found = await here.list() if action == "list" else [await here.get(claim or "")]
    session.screen.show(
        lambda: {"claims": [to_image(one) for one in found]}, lambda: claim_lines(found, session.screen.width)
    )
