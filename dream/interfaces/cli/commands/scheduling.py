"""Runs `dream explain` and `config show`."""

from dream.interfaces.cli.render.status import option_lines, standing_lines
from dream.interfaces.cli.session import Access, CliSession


async def explain(*, model: bool = True, session: CliSession) -> None:
    """Tell when the scope dreams next and why not earlier: every gate, with what it measured and what it takes.

    It goes by the environment and the data directory's agentcore.toml; a host whose code says otherwise tells by
    itself, as host.dreams.explain().

    Args:
        model: Count the passes in that ask the model that is configured.
        session: Whose memory.
    """
    async with session.host(Access.LOOK, chat=session.chat() if model else None) as host:
        standing = await host.for_scope(session.scope).dreams.explain()
    session.screen.show(standing.to_json, lambda: standing_lines(session, standing))


def show(*, session: CliSession) -> None:
    """Show every option of dreams that is in force for the scope, who said so, and of which scopes.

    Args:
        session: Whose memory.
    """
    options = session.levels().effective(session.scope)
    session.screen.show(
        lambda: {"scope": str(session.scope), "options": [one.to_json() for one in options]},
        lambda: option_lines(session, options),
    )
