"""What an admin changes of the options of a scope: checked, written down with its author, and taken back again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.domain.scope import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.stores.acting import acting
from dream.domain.edited_options import EditedOptions, Value
from dream.options.levels import OptionLevels, in_words, is_said
from dream.options.sources import SECTION
from dream.passes import library_of, require_names
from dream.stores import dream_stores

if TYPE_CHECKING:
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView, Storage, UnitOfWork
    from dream.cycle.directive_edits import DirectiveEdits
    from dream.options import DreamOptions

_ELSEWHERE: Final = {
    "passes": "only code can give passes",
    "verifier": "only code can give a verifier",
    "starts_from": "a preset is chosen in the settings file or in code",
}
_LONGEST_PATH: Final = 200
"""Characters of the name of an option, mappings included."""


async def follow_edits(storage: Storage, levels: OptionLevels) -> None:
    """Have the options of all scopes go by what admins edited, in whatever process.

    Raises:
        StorageTooNewError: a later version upgraded the database.
    """

    def look(view: ReadView) -> dict[Scope, dict[str, object]]:
        view.hosts.require_current()
        return dream_stores(view).edited_options.everywhere()

    levels.follow(await storage.read(None, look))


class FollowedEdits:
    """Has a host that starts go by what admins edited before; lives as long as it.

    Args:
        storage: Where the edits are.
        levels: The options of the host's scopes.
    """

    def __init__(self, storage: Storage, levels: OptionLevels) -> None:
        self._storage = storage
        self._levels = levels

    async def start(self) -> None:
        """Read them."""
        await follow_edits(self._storage, self._levels)

    async def stop(self) -> None:
        """Do nothing: there is nothing to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionEdits:
    """The edits of one scope; lives as long as the host.

    Whoever acts (`acting_as`) is named as their author. This host goes by an edit at once, with the next run; other
    hosts on the same memory see it within a minute where they start dreams by themselves, else when they start.

    Args:
        parts: What the host offers.
        levels: The options of the host's scopes.
        scope: Whose.
    """

    parts: HostServices
    levels: OptionLevels
    scope: Scope

    @property
    def directives(self) -> DirectiveEdits:
        """What is edited of what the model is told."""
        from dream.cycle.directive_edits import DirectiveEdits  # noqa: PLC0415 - seldom wanted

        return DirectiveEdits(self)

    async def read(self) -> EditedOptions:
        """Return what is edited, and the latest edits."""
        return await self.parts.storage.read(self.scope, lambda view: dream_stores(view).edited_options.mine())

    def refused(self, edited: EditedOptions) -> dict[str, str]:
        """Return what of it is not possible any more, such as since the settings file changed, and why, by path."""
        return in_words(self.levels.judged(self.scope, edited.values)[1])

    async def edit(
        self,
        said: Mapping[str, object],
        *,
        leave: Collection[str] = (),
        check: Callable[[EditedOptions], None] | None = None,
    ) -> EditedOptions:
        """Say what options are, all of these or none.

        Args:
            said: Values by path, as a settings file would give them: `{"schedule.trigger.every": "6h"}`.
            leave: Paths of options that shall be as file, environment or preset say again.
            check: Given what is edited, in the transaction that writes; what it raises leaves all as it is.

        Raises:
            InvalidOptionsError: an option is unknown, cannot have its value, or is for others to say.
            ExceptionGroup: several are.
            UnknownDirectiveError: a directive is named that does not exist.
            InvalidDirectiveError: the text of one cannot be used.
        """
        wanted: dict[str, Value] = {path: (value,) for path, value in said.items()} | dict.fromkeys(leave, ())
        self._refuse(said)
        # Transactions run on threads of their own, which do not know who acts.
        now, actor = self.parts.clock.now(), str(acting().actor)

        def change(edited: EditedOptions) -> EditedOptions:
            if check is not None:
                check(edited)
            for path, value in wanted.items():
                if not value and path not in edited.values:
                    remedy = "no admin said it, so there is nothing to take away"
                    raise InvalidOptionsError(field=f"{SECTION}.{path}", value=None, allowed=remedy)
            return edited.with_edits(wanted, at=now, actor=actor)

        return await self._write(change, said)

    async def undo(self, number: int) -> EditedOptions:
        """Take an edit back: the option is again what it was before.

        Raises:
            UnknownRecordError: there is no such edit, or it is too long ago.
            StaleVersionError: the option was edited since.
        """
        now, actor = self.parts.clock.now(), str(acting().actor)
        return await self._write(lambda edited: edited.undone(number, at=now, actor=actor))

    def options_with(self, values: Mapping[str, object], said: Mapping[str, object] | None = None) -> DreamOptions:
        """Return the options of the scope as they would be if this was edited, and nothing else.

        Args:
            values: What was edited before; what of it is not possible any more is left out.
            said: What is edited beside it.

        Raises:
            InvalidOptionsError: an option cannot have its value.
            ExceptionGroup: several are.
        """
        possible, _ = self.levels.judged(self.scope, values)
        return self.levels.with_edits(self.scope, {**possible, **(said or {})})

    async def _write(
        self, change: Callable[[EditedOptions], EditedOptions], said: Collection[str] = ()
    ) -> EditedOptions:
        known = {scope: values for scope, values in self.levels.edited.items() if scope != self.scope}

        def write(unit: UnitOfWork) -> EditedOptions:
            books = dream_stores(unit)
            before = books.edited_options.mine()
            made = change(before)
            self._require_usable(made.values, before.values, said)
            books.edited_options.save(made)
            unit.activity.notify()
            return made

        made = await self.parts.storage.write(self.scope, write)
        self.levels.follow({**known, **({self.scope: made.values} if made.values else {})})
        return made

    def _refuse(self, said: Mapping[str, object]) -> None:
        by_code = self.levels.by_code(self.scope)
        for path, value in said.items():
            remedy = _ELSEWHERE.get(path)
            if is_said(path, by_code):
                remedy = "the code of the host says it, and is what has to be changed"
            elif len(path) > _LONGEST_PATH:
                remedy = "there is no such option"
            if remedy is not None:
                raise InvalidOptionsError(field=f"{SECTION}.{path}"[:_LONGEST_PATH], value=value, allowed=remedy)

    def _require_usable(
        self, values: Mapping[str, object], before: Mapping[str, object], said: Collection[str]
    ) -> None:
        # What was void before, for the file changed since, is no reason to refuse what is said now.
        _, void = self.levels.judged(self.scope, before)
        left = {path for path in void if path not in said and before[path] == values.get(path)}
        options = self.levels.with_edits(
            self.scope, {path: value for path, value in values.items() if path not in left}
        )
        require_names(options)
        library_of(self.parts.data_dir, options).read(options.directive_texts)
        for path, error in self.levels.judged(self.scope, values)[1].items():
            if path not in left:
                raise error
