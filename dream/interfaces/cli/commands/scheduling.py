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
    """Show every option of dreams that is in force, and who said so: default, preset, toml or environment.

    Args:
        session: Whose memory.
    """
    found = session.configured()
    options = found.effective(found.options)
    session.screen.show(lambda: {"options": [one.to_json() for one in options]}, lambda: option_lines(session, options))
