"""Switches dreams, or learning altogether, off and on where it concerns people."""

from dataclasses import replace
from enum import Enum, auto
from typing import Final, TypeAlias

from agentcore.domain.scope import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.checks import clean_name
from agentcore.stores.storage import Storage, UnitOfWork
from agentcore.stores.values import SwitchLevel, SwitchSetting


class Unchanged(Enum):
    """Stands for a switch that is left as it is."""

    UNCHANGED = auto()


UNCHANGED: Final = Unchanged.UNCHANGED
Setting: TypeAlias = bool | Unchanged | None
"""On, off, None for what the wider level says, or left as it is."""


class Switchboard:
    """Sets and tells the switches of scopes and sessions; lives as long as the host.

    Args:
        storage: Where they are kept.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def configure(
        self, scope: Scope, switch: SwitchSetting, *, dream: Setting = UNCHANGED, learning: Setting = UNCHANGED
    ) -> SwitchSetting:
        """Change the switch at the level that *switch* names, and return how it stands.

        Raises:
            InvalidOptionsError: a setting is neither True, False nor None.
        """
        clean_setting(dream=dream, learning=learning)

        def change(unit: UnitOfWork) -> SwitchSetting:
            found = _found(unit, switch)
            changed = replace(
                found,
                dream=found.dream if dream is UNCHANGED else dream,
                learning=found.learning if learning is UNCHANGED else learning,
            )
            if changed != found:
                unit.switches.put(changed)
            return _found(unit, switch)

        return await self._storage.write(scope, change)


def clean_setting(**given: object) -> None:
    """Refuse what is no setting.

    Raises:
        InvalidOptionsError: one is neither True, False nor None.
    """
    for name, value in given.items():
        if not any(value is one for one in (UNCHANGED, None, True, False)):
            raise InvalidOptionsError(field=name, value=value, allowed="give True, False, or None to inherit")


def of_session(session_id: str) -> SwitchSetting:
    """Return an unset switch of a session.

    Raises:
        InvalidContentError: no session can have that id.
    """
    return SwitchSetting(level=SwitchLevel.SESSION, session_id=clean_name("session id", session_id))


def addressed(default: Scope, where: object, workspace: str | None) -> tuple[Scope, SwitchSetting]:
    """Return the scope and the unset switch that a call of `configure` is about.

    Args:
        default: The scope it is made on.
        where: A scope, the id of a session of the default one, or None for that scope itself.
        workspace: A whole workspace instead; with the id of a session, that session in all scopes of it.

    Raises:
        InvalidOptionsError: a scope and a workspace were given, or *where* is something else.
        InvalidScopeError: no workspace can have that name.
    """
    if workspace is not None:
        whole = Scope(workspace, default.observer, default.observed)
        if where is None:
            return whole, SwitchSetting(level=SwitchLevel.WORKSPACE)
        if isinstance(where, str):
            return whole, SwitchSetting(level=SwitchLevel.SHARED_SESSION, session_id=clean_name("session id", where))
        raise InvalidOptionsError(field="workspace", value=workspace, allowed="give it, or a scope")
    if where is None or isinstance(where, Scope):
        return (where or default), SwitchSetting(level=SwitchLevel.SCOPE)
    if isinstance(where, str):
        return default, of_session(where)
    raise InvalidOptionsError(field="where", value=where, allowed="give a Scope or the id of a session")


def _found(unit: UnitOfWork, switch: SwitchSetting) -> SwitchSetting:
    if switch.session_id is not None:
        found = unit.switches.shared_session if switch.level is SwitchLevel.SHARED_SESSION else unit.switches.session
        return found(switch.session_id) or switch
    return next((one for one in unit.switches.standing() if one.level is switch.level), switch)
