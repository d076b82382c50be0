"""The order of a run: the built-in passes, and those that a host adds."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from agentcore.domain.capability import Capability
from agentcore.hosting.options import Options
from dream.directives import KNOWN, DirectiveLibrary, KnownDirective, known_directives, require_known
from dream.domain.built_in_passes import BUILT_IN, CARD_REFRESH, VERIFICATION
from dream.domain.declaration import Declaration, PassMode, Preset, Reads, declared
from dream.domain.storage_names import SESSION_EVALUATOR
from dream.errors import InvalidPassError, UnknownPassError
from dream.options import OTHERS, DreamOptions, OwnPasses, PassPosition
from dream.passes.protocol import DreamPass, ModelPass

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 48
_PLAIN = ("has_work", "propose", "conclude")
_ASKING = ("has_work", "pack", "ask", "interpret", "conclude")


class PassSlot:
    """A pass in a run, and why it stands where it stands.

    Args:
        dream_pass: The pass.
        why: Why it stands there.
    """

    def __init__(self, dream_pass: DreamPass | ModelPass, why: str) -> None:
        self.declaration: Declaration = declared(dream_pass)
        self.why = why
        self._pass = dream_pass

    @property
    def name(self) -> str:
        """What reports, options and the command line call the pass."""
        return self.declaration.name

    @property
    def requires(self) -> frozenset[Capability]:
        """What the host must have; without it the pass is skipped."""
        return self.declaration.requires

    @property
    def dream_pass(self) -> DreamPass | ModelPass:
        """The pass."""
        return self._pass

    @property
    def is_imported(self) -> bool:
        """Whether to ask for the pass imports nothing, so that it may be done on an event loop."""
        return True


class _BuiltIn(PassSlot):
    """The slot of a pass of this package, which is imported when it first has to do something.

    With its guards and libraries an import takes up to a tenth of a second: first ask for the pass on a thread. A host
    that only looks asks the declaration, and imports no pass.

    Args:
        declaration: What it declares.
    """

    def __init__(self, declaration: Declaration) -> None:
        self.declaration, self.why = declaration, declaration.why
        self._made: DreamPass | ModelPass | None = None

    @property
    def dream_pass(self) -> DreamPass | ModelPass:
        """The pass."""
        made = self._made
        if made is None:
            module, _, kind = self.declaration.home.partition(":")
            made = self._made = getattr(import_module(f"dream.passes.{module}"), kind)()
        return made

    @property
    def is_imported(self) -> bool:
        """Whether to ask for the pass imports nothing, so that it may be done on an event loop."""
        return self._made is not None


ORDER: tuple[PassSlot, ...] = tuple(map(_BuiltIn, BUILT_IN))
"""The built-in passes in the order of a run, as `dream.domain.built_in_passes` declares them."""


EXISTING: tuple[PassSlot, ...] = (_BuiltIn(VERIFICATION),)
"""What a run about stored and unverified entries consists of."""
CARD_ALONE: tuple[PassSlot, ...] = (_BuiltIn(CARD_REFRESH),)
"""What a run that looks at the whole card again consists of."""


def arranged(own: OwnPasses, order: Sequence[PassSlot] = ORDER) -> tuple[PassSlot, ...]:
    """Return the passes of a run in their order.

    Args:
        own: What a host adds, one after the other.
        order: The table that it is added to.

    Raises:
        InvalidPassError: one of them is no pass, or has a name that is taken.
        UnknownPassError: one stands beside a pass that does not exist.
    """
    places = list(order)
    for insertion in own:
        names = [place.name for place in places]
        joining = _checked(insertion.own_pass, names)
        if insertion.anchor is None:
            places.append(PassSlot(joining, "the host put it last"))
            continue
        if insertion.anchor not in names:
            raise UnknownPassError(name=insertion.anchor, known=names)
        index = names.index(insertion.anchor) + (insertion.position is PassPosition.AFTER)
        places.insert(index, PassSlot(joining, f"the host put it {insertion.position} {insertion.anchor}"))
    _check_directives(own)
    return tuple(places)


def brought(own: OwnPasses) -> dict[str, KnownDirective]:
    """Return the directives that own passes bring, as the library knows them."""
    texts = {name: text for one in own for name, text in one.directives.items()}
    found = known_directives(own.declarations.values(), texts)
    return {name: known for name, known in found.items() if name in texts}


def require_names(options: DreamOptions) -> None:
    """Refuse options that name passes or directives which do not exist.

    Raises:
        UnknownPassError: they name such a pass.
        UnknownDirectiveError: they name such a directive.
        InvalidOptionsError: a pass of the host's own has no such option.
    """
    known = (*(place.name for place in arranged(options.passes)), SESSION_EVALUATOR)
    for name in sorted((options.modes.keys() - {*known, OTHERS}) | (options.pass_options.keys() - {*known})):
        raise UnknownPassError(name=name, known=known)
    for name in (*options.passes.names, *options.pass_options):
        options.of(name)
    require_known([*options.directives, *options.directive_texts], {**KNOWN, **brought(options.passes)})


def library_of(data_dir: Path | None, options: DreamOptions) -> DirectiveLibrary:
    """Return the directives of a scope that has these options.

    Args:
        data_dir: The host's data directory; None for the built-in texts, and those that the options give.
        options: The options of the scope.
    """
    return DirectiveLibrary(data_dir, options.directives, brought(options.passes), options.directive_texts)


def _checked(own_pass: Any, taken: Sequence[str]) -> Any:
    if isinstance(own_pass, type):
        raise InvalidPassError(name=own_pass.__name__, problem="it is a class; give an instance of it")
    name = getattr(own_pass, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        remedy = f"words in lower case joined by hyphens, {_LONGEST_NAME} characters at most"
        raise InvalidPassError(name=type(own_pass).__name__, problem=f"its name is {name!r:.80}; give it {remedy}")
    if name in taken:
        raise InvalidPassError(name=name, problem="a pass of this name is there already; give it another")
    methods = _ASKING if hasattr(own_pass, "pack") else _PLAIN
    missing = [one for one in methods if not callable(getattr(own_pass, one, None))]
    if missing:
        raise InvalidPassError(name=name, problem=f"it has no method {', '.join(missing)}")
    if not isinstance(getattr(own_pass, "requires", None), frozenset):
        raise InvalidPassError(
            name=name, problem="`requires` must be a frozenset of capabilities, empty if it needs none"
        )
    problem = _misdeclared(own_pass)
    if problem is not None:
        raise InvalidPassError(name=name, problem=problem)
    if methods is _ASKING and not isinstance(own_pass, ModelPass):
        raise InvalidPassError(name=name, problem="`directives` must name the directives it sends, or be empty")
    return own_pass


def _misdeclared(own_pass: object) -> str | None:
    """Return what is wrong with what a pass declares beside its name and what it requires; None if nothing is."""
    told = declared(own_pass)
    # A plain text equals the name of what it reads, and is none.
    if any(type(one) is not Reads for one in told.readers.values()):
        return f"`reads` must be one of {', '.join(map(repr, Reads))}"
    if told.mode not in set(PassMode) or not set(told.presets.values()) <= set(PassMode):
        return f"`mode` and those in `presets` must be among {', '.join(PassMode)}"
    if not set(told.presets) <= set(Preset):
        return f"`presets` must be named among {', '.join(Preset)}"
    if told.options is not None and not (isinstance(told.options, type) and issubclass(told.options, Options)):
        return "`options` must be a class of options (`agentcore.hosting.options.Options`)"
    return "it declares that it purges, which retention alone may; archive instead" if told.purges else None


def _check_directives(own: OwnPasses) -> None:
    """Check that each directive is brought once, and that each one that is sent exists."""
    known: set[str] = set(KNOWN)
    for insertion in own:
        name = insertion.own_pass.name
        twice = sorted(known.intersection(insertion.directives))
        if twice:
            raise InvalidPassError(name=name, problem=f"a directive {twice[0]} is there already; call it otherwise")
        blank = sorted(
            one for one, text in insertion.directives.items() if not text.strip() or not _NAME.fullmatch(one)
        )
        if blank:
            raise InvalidPassError(name=name, problem=f"its directive {blank[0]!r} is empty, or named like no other")
        known.update(insertion.directives)
    for insertion in own:
        unknown = sorted(set(getattr(insertion.own_pass, "directives", ())) - known)
        if unknown:
            problem = f"it sends the directive {unknown[0]}, which nobody brings; give its text with `directives=`"
            raise InvalidPassError(name=insertion.own_pass.name, problem=problem)
