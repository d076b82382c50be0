"""Runs `dream explain` and `config show`."""

from typing import Annotated

from cyclopts import Parameter

from agentcore.hosting.option_parts import effective_parts
from dream.interfaces.cli.render.followed import followed_json, followed_lines
from dream.interfaces.cli.render.status import option_lines, standing_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.options.sources import OptionSource


async def explain(*, model: bool = True, session: CliSession) -> None:
    """Tell when the scope dreams next and why not earlier: every gate, with what it measured and what it takes.

    It goes by the options that `dream config show` prints.

    Args:
        model: Count the passes in that ask the model that is configured.
        session: Whose memory.
    """
    async with session.host(Access.LOOK, chat=session.chat() if model else None) as host:
        standing = await host.for_scope(session.scope).dreams.explain()
    session.screen.show(standing.to_json, lambda: standing_lines(session, standing))


def show(
    *,
    changed: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Show every option of dreams that is in force for the scope, who said so, and of which scopes.

    Args:
        changed: Only those that are not the defaults.
        session: Whose memory.
    """
    session.require_one_scope()
    session.require_folder()
    left = session.left()
    levels = session.levels()
    options, parts = levels.effective(session.scope), effective_parts(session.data_dir, left, session.scope)
    shown, shown_parts = (
        [one for one in found if not changed or one.source is not OptionSource.DEFAULT] for found in (options, parts)
    )
    unasked = levels.unasked_models() if session.chat() is None else ""
    refused = levels.refused_edits.get(session.scope, {})
    session.screen.show(
        lambda: {
            "scope": str(session.scope),
            "host": followed_json(left),
            "options": [one.to_json() for one in shown],
            "parts": [one.to_json() for one in shown_parts],
            "refused_edits": refused,
        },
        lambda: [
            *followed_lines(session, left),
            *option_lines(session, [*shown, *shown_parts], of=len(options) + len(parts)),
        ],
    )
    for path, error in refused.items():
        session.screen.warn(f"What an admin said of {path} is left out. {error}")
    if unasked:
        session.screen.warn(unasked)
