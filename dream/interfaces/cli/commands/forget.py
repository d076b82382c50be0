"""Runs `dream forget`: an entry, a session, a scope, or all that is about somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from agentcore.domain.temporal import to_text
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.restatements import says_it
from agentcore.stores.forgetting import Forgotten, TurnsChoice
from dream.interfaces.cli.commands.scopes import named_scopes, pattern_of
from dream.interfaces.cli.errors import ConflictingOptionsError, MissingSettingError
from dream.interfaces.cli.render.forgetting import OUT_OF_REACH, erasure_lines, forgetting_lines, forgotten_lines
from dream.interfaces.cli.render.text import Line, counted, one_line
from dream.interfaces.cli.session import Access, CliSession

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentcore.domain.memory import MemoryEntry
    from agentcore.domain.scope import Scope
    from agentcore.domain.scope_pattern import ScopePattern
    from agentcore.hosting.host import Host
    from agentcore.hosting.restatements import Restatement
    from agentcore.stores.storage import ReadView

_LEAST_PREFIX = 6
_NAMED = 10
_SEVERAL = "of several scopes all goes (--everything), or all about a peer (--all-of); else name one scope"
_NAMES = ("entry", "--session", "--turn", "--everything", "--all-of", "--new-key")
_NEW_KEY = (
    "What is forgotten from now on is remembered by the key of this host; texts forgotten before are known by origin."
)


async def forget(
    entry: str | None = None,
    /,
    *,
    conversation: Annotated[str | None, Parameter(name=("--session", "--session-id"))] = None,
    turn: str | None = None,
    everything: Annotated[bool, Parameter(negative="")] = False,
    all_of: str | None = None,
    turns: TurnsChoice = TurnsChoice.CITED,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    new_key: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Remove an entry for good with all that was derived from it alone, what a session said, or a whole scope.

    What goes, and what else says it, is shown first, and the terminal is asked; no undo brings it back.

    Args:
        entry: Its id, or at least 6 characters of the beginning of it.
        conversation: Redact all turns of this session instead, and remove every entry that was learnt from them.
        turn: Redact this turn instead, and remove every entry that was learnt from it.
        everything: Erase all that the scope of --scope holds.
        all_of: Erase all scopes of the workspace of `--scope` that are about this peer, or those that its `*` fits.
        turns: What of the conversation goes with an entry: what it rests on, also what else says it, or no text of it.
        all_scopes: With --everything, erase all scopes; those that fit where `--scope` holds `*`, as in `acme/*/*`.
        new_key: Forget nothing; remember what is forgotten later by the key of this host, since the former is lost.
        yes: Ask nobody; scripts have to say it.
        session: Whose memory.
    """
    given = [entry is not None, conversation is not None, turn is not None, everything, all_of is not None, new_key]
    if sum(given) != 1:
        told = [name for name, is_given in zip(_NAMES, given, strict=True) if is_given]
        if told:
            raise ConflictingOptionsError(first=told[0], second=told[1])
        raise MissingSettingError(what="entry or session", remedy=f"give one of {', '.join(_NAMES)}")
    if all_scopes and session.pattern is None and "--scope" in session.given:
        raise ConflictingOptionsError(first="--all-scopes", second=f"--scope {session.scope}")
    pattern = pattern_of(session, is_every=all_scopes)
    if pattern is not None:
        if not everything and all_of is None:
            raise InvalidOptionsError(field="--scope", value=str(pattern), allowed=_SEVERAL)
        await _erase_each(session, pattern, all_of, yes=yes)
        return
    async with session.host(Access.AMEND) as host:
        if new_key:
            await host.storage.write(session.scope, lambda unit: unit.tombstones.claim_key(replace=True))
            session.screen.show(lambda: {"key": "new"}, lambda: [Line(_NEW_KEY)])
        elif everything or all_of is not None:
            await _erase(host, session, all_of, yes=yes)
        elif conversation is not None:
            await _forget_turns(host, session, {"session_id": conversation}, yes=yes)
        elif turn is not None:
            await _forget_turns(host, session, {"turn_id": turn}, yes=yes)
        else:
            await _forget_entry(host, session, entry or "", turns, yes=yes)


async def _forget_entry(host: Host, session: CliSession, prefix: str, choice: TurnsChoice, *, yes: bool) -> None:
    memory = host.for_scope(session.scope).memory
    entry_id = await host.storage.read(session.scope, lambda view: _resolved(view, prefix))
    found = await memory.restatements(entry_id)
    meant = says_it(found)
    if not yes:
        preview = await memory.preview_forget(entry_id, turns=choice, says_it=meant)
        gone = await _entries(host, session, preview.removed)
        back = await _entries(host, session, preview.restored)
        if not session.screen.confirm(forgetting_lines(session, gone, preview, found, choice, back=back)):
            return
    done = await memory.forget(entry_id, turns=choice, says_it=meant)
    gone_too = {*done.withheld, *done.removed, *done.skills}
    left = [] if choice is TurnsChoice.ALL else [one for one in found if one.id not in gone_too]
    await _show(host, session, done, left, choice)


async def _forget_turns(host: Host, session: CliSession, which: Mapping[str, str], *, yes: bool) -> None:
    log = host.for_scope(session.scope).conversation
    if not yes:
        preview = await log.preview_forget(**which)
        gone = await _entries(host, session, preview.removed)
        back = await _entries(host, session, preview.restored)
        if not session.screen.confirm(forgetting_lines(session, gone, preview, (), TurnsChoice.CITED, back=back)):
            return
    await _show(host, session, await log.forget(**which), [], TurnsChoice.CITED)


async def _show(
    host: Host, session: CliSession, done: Forgotten, left: Sequence[Restatement], choice: TurnsChoice
) -> None:
    restored = await _entries(host, session, done.restored)
    copies = await host.storage.read(session.scope, lambda view: view.erasure.copies())
    document: dict[str, Any] = {
        "removed": list(done.removed),
        "restored": list(done.restored),
        "withheld": list(done.withheld),
        "redacted": list(done.redacted),
        "skills": list(done.skills),
        "turns": choice.value,
        "left": [{"kind": one.kind.value, "id": one.id, "likeness": one.likeness.value} for one in left],
        "untouched": list(OUT_OF_REACH),
        "copies": [{"kind": one.kind, "place": one.place, "made_at": to_text(one.made_at)} for one in copies],
    }
    session.screen.show(lambda: document, lambda: forgotten_lines(session, done, restored, left, copies))


async def _erase(host: Host, session: CliSession, observed: str | None, *, yes: bool) -> None:
    scope, width = session.scope, session.screen.width
    what: dict[str, Any] = (
        {"scope": scope} if observed is None else {"workspace": scope.workspace, "observed": observed}
    )
    preview = await host.erase(**what, preview=True)
    if not preview.erasures:
        raise _nobody(observed)
    question, declined = "Erase all of this for good?", "Nothing was erased."
    lines = erasure_lines(preview, width, is_done=False)
    if not yes and not session.screen.confirm(lines, question=question, declined=declined):
        return
    done = await host.erase(**what)
    session.screen.show(done.document, lambda: erasure_lines(done, width, is_done=True))


def _nobody(observed: str | None) -> MissingSettingError:
    return MissingSettingError(what=f"scope about {observed!r}", remedy="see the names with `dream scopes`")


async def _erase_each(session: CliSession, pattern: ScopePattern, observed: str | None, *, yes: bool) -> None:
    """Erase several scopes, once all that goes was shown and asked about as one."""
    width = session.screen.width
    named = [one for one in await named_scopes(session, pattern) if observed in {None, one.observed}]
    if not named:
        raise _nobody(observed)
    async with session.host(Access.AMEND, needs_scope=False) as host:
        if not yes:
            lines = [
                line
                for one in named
                for line in erasure_lines(await host.erase(one, preview=True), width, is_done=False)
            ]
            question, declined = f"Erase {_called(named)} for good?", "Nothing was erased."
            if not session.screen.confirm(lines, question=question, declined=declined):
                return
        done = [await host.erase(one) for one in named]
    session.screen.show(
        lambda: {"erasures": [one.document() for one in done]},
        lambda: [line for one in done for line in erasure_lines(one, width, is_done=True)],
    )


def _called(named: Sequence[Scope]) -> str:
    names = ", ".join(one_line(str(one)) for one in named[:_NAMED])
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    return f"{counted(len(named), 'scope')} ({names}{more})"


async def _entries(host: Host, session: CliSession, ids: Sequence[str]) -> list[MemoryEntry]:
    return await host.storage.read(session.scope, lambda view: view.entries.get_many(ids))


def _resolved(view: ReadView, prefix: str) -> str:
    """Return the id that *prefix* stands for; what is deleted for good is not named by a slip of the keys."""
    if len(prefix) < _LEAST_PREFIX and view.entries.get(prefix) is None:
        allowed = f"give its id, or at least {_LEAST_PREFIX} characters of it"
        raise InvalidOptionsError(field="entry", value=prefix, allowed=allowed)
    return view.entries.resolve(prefix)
