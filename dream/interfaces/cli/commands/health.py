"""Runs `dream status` and `doctor`."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from agentcore.llm.chat import ModelTier
from agentcore.llm.errors import ChatNotConfiguredError
from agentcore.llm.settings_file import FILE_NAME
from dream.interfaces.cli.commands.scopes import named_scopes, pattern_of, scopes
from dream.interfaces.cli.errors import ConflictingOptionsError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.status import finding_lines, status_lines
from dream.interfaces.cli.render.text import Line, encodable
from dream.interfaces.cli.session import Access, CliSession

if TYPE_CHECKING:
    from dream.cycle.model_check import ModelCheck


async def status(
    *,
    model: bool = True,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Show how the scope stands: what is stored, what waits, who dreams. Of several scopes, a line for each.

    Args:
        model: Count the passes in that ask the model that is configured.
        all_scopes: Show all scopes; those that fit where `--scope` holds `*`, as in `acme/*/*`.
        session: Whose memory.
    """
    pattern = pattern_of(session, is_every=all_scopes)
    if pattern is not None:
        await scopes(str(pattern), session=session)
        return
    async with session.host(Access.LOOK, chat=session.chat() if model else None) as host:
        standing = await host.for_scope(session.scope).dreams.status()
    session.screen.show(
        lambda: {"scope": str(session.scope), "data": encodable(str(session.data_dir)), **standing.to_json()},
        lambda: status_lines(session, standing),
    )


async def doctor(
    *,
    model: Annotated[bool, Parameter(negative="")] = False,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> Exit:
    """Examine the folder and the database, with a remedy for whatever is wrong.

    Args:
        model: Also ask the model that is configured what it is good for; what that costs is told first.
        all_scopes: Look at the records of all scopes; of those that fit where `--scope` holds `*`, as in `acme/*/*`.
        session: Whose memory.
    """
    from dream.interfaces.cli.doctor import examine, is_healthy  # noqa: PLC0415 - `status` looks at none of it

    session.require_folder()
    pattern = pattern_of(session, is_every=all_scopes)
    if pattern is not None and model:
        raise ConflictingOptionsError(first="--all-scopes", second="--model")
    named = await named_scopes(session, pattern) if pattern is not None and session.has_database else None
    findings = [finding async for finding in examine(session, named)]
    checked = await _checked(session) if model else None
    if checked is not None:
        from dream.interfaces.cli.render.model_check import model_findings  # noqa: PLC0415 - as above

        findings += model_findings(checked)
    healthy = is_healthy(findings)
    told = {} if checked is None else {"model": checked.to_json()}
    session.screen.show(
        lambda: {"healthy": healthy, "findings": [finding.to_json() for finding in findings], **told},
        lambda: finding_lines(findings, session.screen.width),
    )
    if healthy:
        return Exit.OK
    session.screen.warn("Something has to be put right: the findings above say what and how.")
    return Exit.FAILED


async def _checked(session: CliSession) -> "ModelCheck":
    from dream.cycle.model_check import most_tokens  # noqa: PLC0415 - as above

    chat = session.chat()
    if chat is None:
        raise ChatNotConfiguredError(settings_file=str(session.data_dir / FILE_NAME))
    most = most_tokens(session.levels().of(session.scope))
    cost = f"{most.input_tokens:,} tokens of prompts and {most.output_tokens:,} of answers"
    session.screen.tell(Line(f"The model {chat.model_of(ModelTier.DREAMING)} is asked six times at most: {cost}."))
    async with session.host(Access.CREATE if session.has_database else Access.LOOK, chat=chat) as host:
        return await host.for_scope(session.scope).dreams.check_model()
