"""What an admin changes of what the model is told in one scope: looked at, checked, written down and taken away."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentcore.errors import StaleVersionError
from agentcore.llm.chat import estimate_tokens
from dream.cycle.forecast import REVIEWER, read_directive_forecast
from dream.directives import Directive, standing
from dream.errors import InvalidDirectiveError
from dream.passes import library_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dream.cycle.forecast import DirectiveForecast
    from dream.cycle.option_edits import OptionEdits
    from dream.directives import DirectiveLibrary, KnownDirective
    from dream.domain.edited_options import EditedOptions
    from dream.domain.finding import Finding

_OPTION: Final = "directive_texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveStanding:
    """A directive as it stands in a scope.

    Args:
        name: What passes call it.
        known: Who sends it, and what for.
        built_in: The words it came with.
        in_force: The words that are sent; None if they cannot be used.
        problem: Why they cannot.
    """

    name: str
    known: KnownDirective
    built_in: Directive
    in_force: Directive | None
    problem: str | None = None

    @property
    def origin(self) -> str:
        """Whose words are in force: `built-in`, `file` or `admin`."""
        if self.in_force is not None and self.in_force.is_edited:
            return "admin"
        return "built-in" if self.in_force is not None and self.in_force.path is None else "file"

    def to_json(self, *, whole: bool = True) -> dict[str, Any]:
        """Return plain JSON values, with the texts or without."""
        directive = self.in_force
        told = {
            "name": self.name,
            "purpose": self.known.purpose,
            "passes": list(self.known.passes),
            "origin": self.origin,
            "hash": None if directive is None else directive.hash,
            "tokens": None if directive is None else estimate_tokens(directive.text),
            "problem": self.problem,
        }
        if not whole:
            return told
        return {**told, "text": None if directive is None else directive.text, "built_in": self.built_in.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDirective:
    """What was found of a text before it is saved.

    Args:
        finding: Whether it can be used, and what it lacks.
        forecast: What it costs that entries are reviewed by it again; None if none are.
    """

    finding: Finding
    forecast: DirectiveForecast | None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"finding": self.finding.to_json(), "forecast": self.forecast and self.forecast.to_json()}


@dataclass(frozen=True, slots=True)
class DirectiveEdits:
    """The directives of one scope; lives as long as the host.

    An edited text stands in the database, as the option `directive_texts` of the scope: files of the host, which other
    scopes share, stay as they are. Each edit is one of `OptionEdits`, and undone there.

    Args:
        edits: The edits of the scope's options.
    """

    edits: OptionEdits

    async def all(self) -> list[DirectiveStanding]:
        """Return how each directive stands."""
        library = await self._library()
        return await asyncio.to_thread(lambda: [_standing(library, name) for name in library.known])

    async def get(self, name: str) -> DirectiveStanding:
        """Return how one stands.

        Raises:
            UnknownDirectiveError: there is none of that name.
        """
        library = await self._library()
        return await asyncio.to_thread(_standing, library, name)

    async def check(self, name: str, text: str) -> CheckedDirective:
        """Return what is to be said of a text before it is saved, and what it would cost.

        Raises:
            UnknownDirectiveError: there is none of that name.
            InvalidDirectiveError: the text cannot be used.
        """
        await self.get(name)
        edits = self.edits
        values = (await edits.read()).values
        library = library_of(edits.parts.data_dir, edits.options_with(values, {f"{_OPTION}.{name}": text}))
        directive = (await asyncio.to_thread(library.read, [name]))[name]
        return CheckedDirective(
            finding=standing(directive, library.known[name]),
            forecast=await self._forecast(library) if REVIEWER in library.known[name].passes else None,
        )

    async def _forecast(self, library: DirectiveLibrary) -> DirectiveForecast | None:
        names = [name for name, known in library.known.items() if REVIEWER in known.passes]
        try:
            directives = await asyncio.to_thread(library.read, names)
        except InvalidDirectiveError:
            return None
        edits, options = self.edits, self.edits.levels.of(self.edits.scope)
        return await edits.parts.storage.read(
            edits.scope, lambda view: read_directive_forecast(view, directives, options)
        )

    async def write(self, name: str, text: str, *, expected: str | None = None) -> DirectiveStanding:
        """Have a text sent in the scope, from the next run on.

        Args:
            name: The directive.
            text: Its new words.
            expected: The hash of the words that it takes the place of; None for whatever is in force.

        Raises:
            UnknownDirectiveError: there is none of that name.
            InvalidDirectiveError: the text cannot be used.
            InvalidOptionsError: the code of the host says which text is sent.
            StaleVersionError: other words are in force by now.
        """
        require_is_known(await self._library(), name)
        await self.edits.edit({f"{_OPTION}.{name}": text}, check=self._unchanged(name, expected))
        return await self.get(name)

    async def reset(self, name: str, *, expected: str | None = None) -> DirectiveStanding:
        """Have the words of the file, or the built-in ones, sent again; see `write`."""
        require_is_known(await self._library(), name)
        await self.edits.edit({}, leave=[f"{_OPTION}.{name}"], check=self._unchanged(name, expected))
        return await self.get(name)

    def _unchanged(self, name: str, expected: str | None) -> Callable[[EditedOptions], None]:
        def check(edited: EditedOptions) -> None:
            if expected is None:
                return
            library = library_of(self.edits.parts.data_dir, self.edits.options_with(edited.values))
            if library.read([name])[name].hash != expected:
                raise StaleVersionError(kind="directive", record_id=f"{name}{edited.last_on(f'{_OPTION}.{name}')}")

        return check

    async def _library(self) -> DirectiveLibrary:
        values = (await self.edits.read()).values
        return library_of(self.edits.parts.data_dir, self.edits.options_with(values))


def require_is_known(library: DirectiveLibrary, name: str) -> None:
    """Refuse a name that no directive has.

    Raises:
        UnknownDirectiveError: there is none of that name.
    """
    library.original(name)


def _standing(library: DirectiveLibrary, name: str) -> DirectiveStanding:
    built_in = library.original(name)
    known = library.known[name]
    try:
        in_force = library.read([name])[name]
    except InvalidDirectiveError as error:
        return DirectiveStanding(name=name, known=known, built_in=built_in, in_force=None, problem=error.problem)
    return DirectiveStanding(name=name, known=known, built_in=built_in, in_force=in_force)
