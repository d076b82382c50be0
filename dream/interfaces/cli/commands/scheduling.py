"""Runs `dream explain` and `config show`."""

from agentcore.hosting.option_parts import effective_parts
from dream.interfaces.cli.render.followed import followed_json, followed_lines
from dream.interfaces.cli.render.status import option_lines, standing_lines
from dream.interfaces.cli.session import Access, CliSession


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


def show(*, session: CliSession) -> None:
    """Show every option of dreams that is in force for the scope, who said so, and of which scopes.

    Args:
        session: Whose memory.
    """
    session.require_one_scope()
    session.require_folder()
    left = session.left()
    options = session.levels().effective(session.scope)
    parts = effective_parts(session.data_dir, left)
    session.screen.show(
        lambda: {
            "scope": str(session.scope),
            "host": followed_json(left),
            "options": [one.to_json() for one in options],
            "parts": [one.to_json() for one in parts],
        },
        lambda: [*followed_lines(session, left), *option_lines(session, [*options, *parts])],
    )
