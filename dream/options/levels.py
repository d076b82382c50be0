"""Works out which options each scope dreams with: the one place that knows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import AgentcoreError, InvalidOptionsError
from agentcore.hosting.left_options import LeftLevel, LeftOptions, plain
from agentcore.hosting.option_layers import (
    EffectiveOption,
    OptionSource,
    changed,
    leaves,
    overlaid,
    said,
    shown,
    wider,
)
from agentcore.llm.settings_file import DREAMING, FILE_NAME, scope_tables
from dream.domain.edited_options import nested
from dream.options import DreamOptions
from dream.options.sources import PRESET, SECTION, Configured, configured, of_preset

OF_THE_HOST: Final = (
    "passes",
    "verifier",
    "sessions.every",
    "schedule.max_concurrent_dreams",
    "model.calls_in_flight",
    "model.host_tokens_per_day",
    "model.host_calls_per_day",
)
"""Options that hold for a whole host: its scopes share what they are about."""

_NO_CLIENT: Final = (
    f"nothing says where that model answers: write [llm] with its model into {FILE_NAME}, set AGENTCORE_MODEL, or give "
    "the host a client; until then passes that ask a model are skipped"
)

Told: TypeAlias = DreamOptions | Callable[[DreamOptions], DreamOptions]
_BY_CODE: Final = frozenset({OptionSource.CODE, OptionSource.HOST})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScopeLevel:
    """What one source says of the dreams of some scopes.

    Args:
        pattern: Which scopes.
        source: Who says so.
        values: What is said, section by section.
        preset: The preset that these start from, which takes the place of one of a wider level.
        change: What makes options of those of the wider levels, in the place of values.
        replaces_mappings: Whether a mapping takes the place of a wider one.
    """

    pattern: ScopePattern
    source: OptionSource
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    preset: str | None = None
    change: Callable[[DreamOptions], DreamOptions] | None = None
    replaces_mappings: bool = False

    def applied(self, options: DreamOptions) -> DreamOptions:
        """Return *options* with what this level says.

        Raises:
            InvalidOptionsError: an option is unknown, cannot have its value, or holds for a whole host alone.
            ExceptionGroup: several are.
        """
        if self.change is not None:
            made = self.change(options)
        else:
            if self.preset is not None:
                options = overlaid(without_preset(options), of_preset(self.preset))
            made = overlaid(options, self.values, replaces_mappings=self.replaces_mappings)
        self._refuse_what_is_of_the_host(options, made)
        return made

    def source_of(self, name: str) -> OptionSource | None:
        """Return who said at this level what an option is; None if nobody did outright."""
        told = {path for path, _ in leaves(dict(self.values))}
        if any(path in told for path in wider(name)):
            return self.source
        of_the_preset = {path for path, _ in leaves(of_preset(self.preset))}
        return OptionSource.PRESET if any(path in of_the_preset for path in wider(name)) else None

    def _refuse_what_is_of_the_host(self, before: DreamOptions, after: DreamOptions) -> None:
        for path in OF_THE_HOST:
            old, new = before, after
            for part in path.split("."):
                old, new = getattr(old, part), getattr(new, part)
            if old != new:
                allowed = f"it holds for the whole host: say it without a scope, not of {self.pattern}"
                raise InvalidOptionsError(field=f"{SECTION}.{path}", value=new, allowed=allowed)


def of_admin(scope: Scope, values: Mapping[str, object]) -> ScopeLevel:
    """Return the level of what an admin says of one scope, by path."""
    return ScopeLevel(ScopePattern.of(scope), OptionSource.ADMIN, nested(values.items()))


def without_preset(options: DreamOptions) -> DreamOptions:
    """Return *options* without what the preset chose that they started from; what was said beside it stays."""
    usual = DreamOptions()
    chosen = of_preset(options.starts_from.value)
    changes: dict[str, object] = {}
    for name, value in chosen.items():
        now: object = getattr(options, name)
        if isinstance(value, Mapping) and isinstance(now, Mapping):
            left = cast("Mapping[str, object]", now).items() - cast("Mapping[str, object]", value).items()
            changes[name] = dict(left)
        elif now == getattr(DreamOptions.preset(options.starts_from.value), name):
            changes[name] = getattr(usual, name)
    return options.replace(**changes)


def of_code(pattern: ScopePattern, told: Told) -> ScopeLevel:
    """Return the level of what the host's code says of some scopes, as options or as a function of wider ones."""
    if isinstance(told, DreamOptions):
        values = said(told)
        preset = told.starts_from.value if "starts_from" in told.model_fields_set else None
        return ScopeLevel(pattern, OptionSource.CODE, values, preset)
    return ScopeLevel(pattern, OptionSource.CODE, change=told)


def of_file(data_dir: Path | None) -> list[ScopeLevel]:
    """Return what the settings file says of the dreams of some scopes.

    Raises:
        InvalidOptionsError: a table or key is unknown, or the file cannot be read.
        InvalidScopeError: a pattern names no scopes.
    """
    tables = () if data_dir is None else scope_tables(data_dir / FILE_NAME)
    said = [
        (pattern, dict(cast("Mapping[str, Any]", table[DREAMING]))) for pattern, table in tables if DREAMING in table
    ]
    return [ScopeLevel(pattern, OptionSource.FILE, values, values.pop(PRESET, None)) for pattern, values in said]


def of_left(left: LeftOptions | None) -> list[ScopeLevel]:
    """Return the levels of what the code of a host says that left it in the database."""
    return [
        ScopeLevel(
            ScopePattern.parse(one.pattern),
            OptionSource.HOST,
            one.values,
            one.preset,
            replaces_mappings=one.replaces_mappings,
        )
        for one in (() if left is None else left.scopes)
    ]


def levels_of(data_dir: Path | None, left: LeftOptions | None = None) -> OptionLevels:
    """Return the options of each scope without any code: as the environment, the file and *left* say.

    Args:
        data_dir: The folder with `agentcore.toml`, which need not exist; None for the environment alone.
        left: What the code of a host says; None to go by the file and the environment alone.

    Raises:
        InvalidOptionsError: an option is unknown or cannot have its value, or the file cannot be read.
        ExceptionGroup: several are.
    """
    found = configured(data_dir)
    host = found.options if left is None else overlaid(found.options, left.dreaming, replaces_mappings=True)
    return OptionLevels(host, found, [*of_file(data_dir), *of_left(left)], OptionSource.HOST)


class OptionLevels:
    """The options of every scope of a host; lives as long as the host.

    The narrowest level that says something decides (`ScopePattern.narrowness`). Of one level the preset gives way to
    the file, that to the environment, and that to the code of the host. What an admin says of a scope stands above all
    that file and environment say, and below all that code says.

    Args:
        options: The options of the whole host.
        found: What of these the environment and the settings file say.
        levels: What is said of some scopes.
        code: Who changed *options* beside these two.

    Raises:
        InvalidOptionsError: a level says what is not possible.
        ExceptionGroup: several do.

    Example:
        >>> rare = of_code(ScopePattern.parse("acme/*/*"), DreamOptions(alarm_after=9))
        >>> levels = OptionLevels(DreamOptions(), levels=[rare])
        >>> levels.of(Scope.parse("acme/rex/ana")).alarm_after, levels.of(Scope.default()).alarm_after
        (9, 3)
    """

    def __init__(
        self,
        options: DreamOptions,
        found: Configured | None = None,
        levels: Sequence[ScopeLevel] = (),
        code: OptionSource = OptionSource.CODE,
    ) -> None:
        self._host = options
        self._found = found or Configured()
        self._code = code
        self._installed: frozenset[str] = frozenset()
        self._told = tuple(levels)
        self._edited: dict[Scope, Mapping[str, object]] = {}
        self._refused: dict[Scope, Mapping[str, str]] = {}
        self._outdated: list[DreamOptions] = []
        self.edition = 0
        """Grows whenever an admin's edits are followed anew."""
        self._arrange({})

    def _arrange(self, edited: Mapping[Scope, Mapping[str, object]]) -> None:
        # The order is stable: of equally narrow levels the one that was said later wins.
        found = [(level, level.applied(self._host)) for level in self._told]
        # What an admin says may need what a wider level says: an option of its trigger does.
        found += [(of_admin(scope, values), self.with_edits(scope, values)) for scope, values in edited.items()]
        found.sort(key=lambda one: one[0].pattern.narrowness)
        levels, self._alone = tuple(level for level, _ in found), tuple(alone for _, alone in found)
        # In one assignment, because transactions ask for options on threads of their own.
        self._arranged = levels, dict[tuple[int, ...], DreamOptions]({(): self._host})

    def with_code(
        self, options: DreamOptions, levels: Sequence[ScopeLevel] = (), *, installed: Collection[str] = ()
    ) -> OptionLevels:
        """Return the same with what the code of a host says.

        Args:
            options: Of all scopes.
            levels: Of some.
            installed: Names of the passes among *options* that every host has that runs with the same packages.
        """
        by = OptionSource.CODE if self._host is self._found.options else self._code
        made = OptionLevels(options, self._found, [*self._told, *levels], by)
        made._installed = frozenset(installed)
        return made

    @property
    def host(self) -> DreamOptions:
        """The options of the whole host."""
        return self._host

    @property
    def levels(self) -> tuple[ScopeLevel, ...]:
        """What is said of some scopes, the widest first."""
        return self._arranged[0]

    @property
    def variants(self) -> tuple[DreamOptions, ...]:
        """The options of the whole host, and those of each level over them: what differs where levels differ."""
        return (self._host, *self._alone)

    def of(self, scope: Scope) -> DreamOptions:
        """Return the options of a scope; of scopes that the same levels are about it is the same object."""
        levels, known = self._arranged
        matching = tuple(place for place, level in enumerate(levels) if level.pattern.matches(scope))
        if matching not in known:
            options = self._host
            for place in matching:
                options = self._in_force(levels[place], scope).applied(options)
            known[matching] = options
        return known[matching]

    @property
    def edited(self) -> Mapping[Scope, Mapping[str, object]]:
        """What admins say, by scope and path, as it was followed last."""
        return self._edited

    @property
    def refused_edits(self) -> Mapping[Scope, Mapping[str, str]]:
        """What admins say and is not possible any more: why, by scope and path."""
        return self._refused

    def follow(self, edited: Mapping[Scope, Mapping[str, object]]) -> None:
        """Go by what admins say from now on; what is not possible any more is logged and left out.

        Args:
            edited: Plain values of each scope, by path.
        """
        if edited == self._edited:
            return
        self._edited = dict(edited)
        judged = {scope: self.judged(scope, values) for scope, values in edited.items()}
        self._refused = {scope: in_words(refused) for scope, (_, refused) in judged.items() if refused}
        for scope, refused in self._refused.items():
            for path, error in refused.items():
                told = {"scope": str(scope), "option": path, "error": error}
                _log.warning("edited_options_refused scope=%s option=%s", scope, path, extra=told)
        # Others tell options apart by their identity: what was in force stays, so that nothing new takes its place.
        self._outdated += self._arranged[1].values()
        self._arrange({scope: possible for scope, (possible, _) in judged.items()})
        self.edition += 1

    def judged(
        self, scope: Scope, values: Mapping[str, object]
    ) -> tuple[Mapping[str, object], Mapping[str, Exception]]:
        """Return which edits of a scope are possible, and why the others are not.

        All are tried at once, then those of each section, then each alone, twice: one may need another.
        """
        possible: dict[str, object] = {}
        refused: dict[str, Exception] = {}
        paths = sorted(values, key=lambda path: (path.rpartition(".")[0], path))
        sections = [list(found) for _, found in groupby(paths, lambda path: path.rpartition(".")[0])]
        for group in (paths, *sections, *([path] for path in paths * 2)):
            tried = {path: values[path] for path in group if path not in possible}
            try:
                self.with_edits(scope, {**possible, **tried})
            except (AgentcoreError, ExceptionGroup) as error:
                refused |= dict.fromkeys(tried, error)
            else:
                possible |= tried
            if len(possible) == len(values):
                break
        return possible, {path: error for path, error in refused.items() if path not in possible}

    def with_edits(self, scope: Scope, values: Mapping[str, object]) -> DreamOptions:
        """Return the options of a scope as they would be if an admin said this of it, and nothing else.

        Raises:
            InvalidOptionsError: an option is unknown, cannot have its value, or holds for a whole host alone.
            ExceptionGroup: several are.
        """
        options = self._host
        above = of_admin(scope, values)
        for level in (*self._matching_told(scope), above):
            options = (level if level is not above else self._below_code(scope, above)).applied(options)
        return options

    def by_code(self, scope: Scope) -> set[str]:
        """Return the paths of options that the host's code says of a scope: no admin's word reaches these."""
        found = {path for path, _ in leaves(changed(self._found.options, self._host))}
        for level in self._matching_told(scope):
            if level.source in _BY_CODE:
                values = level.values if level.change is None else changed(self._host, level.applied(self._host))
                found |= {path for path, _ in leaves(dict(values))}
        return found

    def _matching_told(self, scope: Scope) -> list[ScopeLevel]:
        matching = [level for level in self._told if level.pattern.matches(scope)]
        return sorted(matching, key=lambda level: level.pattern.narrowness)

    def _below_code(self, scope: Scope, level: ScopeLevel) -> ScopeLevel:
        said = self.by_code(scope)
        left = [(path, value) for path, value in leaves(dict(level.values)) if not is_said(path, said)]
        return replace(level, values=nested(left))

    def _in_force(self, level: ScopeLevel, scope: Scope) -> ScopeLevel:
        return self._below_code(scope, level) if level.source is OptionSource.ADMIN else level

    def unasked_models(self) -> str:
        """Return a sentence that names the models of these options where no client is there to ask them.

        Example:
            >>> OptionLevels(DreamOptions()).unasked_models()
            ''
        """
        told = [
            (f" of {level.pattern}", alone)
            for level, alone in zip(self.levels, self._alone, strict=True)
            if level.source is not OptionSource.ADMIN or level.source_of("model.name")
        ]
        said = [("", self._host), *told]
        usual = self._host.model.name
        named = [
            f"{one.model.name!r}{whose}"
            for whose, one in said
            if one.model.name and (one.model.name != usual or not whose)
        ]
        return f"{SECTION}.model.name is {', '.join(named)}, and {_NO_CLIENT}." if named else ""

    def left(self) -> LeftOptions:
        """Return what the code of the host says, for others to follow."""
        differs = changed(self._found.options, self._host)
        if self._installed.issuperset(self._host.passes.names):
            differs.pop("passes", None)
        told, only_code = plain(differs, SECTION)
        scopes: list[LeftLevel] = []
        for level, alone in zip(self.levels, self._alone, strict=True):
            if level.source is OptionSource.CODE:
                values = dict(level.values) if level.change is None else changed(self._host, alone)
                said_of, beyond = plain(values, f"scopes.{level.pattern}")
                only_code += beyond
                scopes.append(
                    LeftLevel(
                        pattern=str(level.pattern),
                        values=said_of,
                        preset=level.preset,
                        replaces_mappings=level.change is not None,
                    )
                )
        return LeftOptions(dreaming=told, scopes=scopes, only_code=only_code)

    def effective(self, scope: Scope | None = None) -> list[EffectiveOption]:
        """Return every option of a scope, of the whole host by default, and who said what it is."""
        options = self._host
        known = {one.name: one for one in self._found.effective(options, self._code)}
        matching = () if scope is None else (one for one in self.levels if one.pattern.matches(scope))
        for one in matching:
            level, before = one if scope is None else self._in_force(one, scope), shown(options)
            options = level.applied(options)
            known = {
                name: self._said_at(level, known.get(name), name, value, is_changed=before.get(name) != value)
                for name, value in shown(options).items()
            }
        return list(known.values())

    def _said_at(
        self, level: ScopeLevel, known: EffectiveOption | None, name: str, value: object, *, is_changed: bool
    ) -> EffectiveOption:
        source = level.source_of(name)
        if source is None and is_changed:
            source = OptionSource.DEFAULT if level.change is None else level.source
        if source is not None or known is None:
            return EffectiveOption(name, value, source or level.source, str(level.pattern))
        return known


def in_words(refused: Mapping[str, Exception]) -> dict[str, str]:
    """Return why each edit is not possible, as people read it."""
    return {path: " ".join(map(str, _parts(error))) for path, error in refused.items()}


def _parts(error: Exception) -> Sequence[Exception]:
    return cast("ExceptionGroup[Exception]", error).exceptions if isinstance(error, ExceptionGroup) else (error,)


def is_said(path: str, said: Collection[str]) -> bool:
    """Tell whether an option, what it lies below, or something below it is among the paths that were said.

    Example:
        >>> is_said("schedule.trigger", {"schedule.trigger.every"}), is_said("lease", {"schedule.trigger.every"})
        (True, False)
    """
    return any(one in said for one in wider(path)) or any(one.startswith(f"{path}.") for one in said)
