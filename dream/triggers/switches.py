"""Which of several settings holds."""

from dream.triggers.state import Source, Switch


def winning_switch(*, enabled: bool, force: bool, workspace: bool | None, scope: bool | None) -> Switch:
    """Return whether a scope dreams, and which setting says so.

    Switched off for all is off, whatever else is set. Force overrules workspaces and scopes; a scope, its workspace.

    Args:
        enabled: `DreamOptions.enabled`.
        force: `DreamOptions.force`.
        workspace: What is stored for the workspace; None if nothing is.
        scope: What is stored for the scope; None if nothing is.

    Example:
        >>> winning_switch(enabled=True, force=False, workspace=False, scope=None).source.value
        'workspace'
        >>> winning_switch(enabled=True, force=True, workspace=False, scope=None)
        Switch(on=True, source=<Source.FORCE: 'force'>)
    """
    if not enabled:
        return Switch(on=False, source=Source.OPTIONS)
    if force and False in (workspace, scope):
        return Switch(on=True, source=Source.FORCE)
    if scope is not None:
        return Switch(on=scope, source=Source.SCOPE)
    if workspace is not None:
        return Switch(on=workspace, source=Source.WORKSPACE)
    return Switch()
