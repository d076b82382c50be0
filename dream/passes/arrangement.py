"""The order of a run with the passes that a host adds."""

import re
from collections.abc import Sequence
from typing import Any

from dream.directives import KNOWN, Known
from dream.domain.reads import Reads
from dream.errors import InvalidPassError, UnknownPassError
from dream.options import OwnPasses, Side
from dream.passes import ORDER, ModelPass, Place
from dream.passes.declared import purges

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 48
_PLAIN = ("has_work", "propose", "conclude")
_ASKING = ("has_work", "pack", "request", "review", "interpret", "conclude")


def arranged(own: OwnPasses, order: Sequence[Place] = ORDER) -> tuple[Place, ...]:
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
            places.append(Place(joining, "the host put it last"))
            continue
        if insertion.anchor not in names:
            raise UnknownPassError(name=insertion.anchor, known=names)
        index = names.index(insertion.anchor) + (insertion.side is Side.AFTER)
        places.insert(index, Place(joining, f"the host put it {insertion.side} {insertion.anchor}"))
    _check_directives(own)
    return tuple(places)


def brought(own: OwnPasses) -> dict[str, Known]:
    """Return the directives that own passes bring, as the library knows them."""
    return {
        name: Known(f"What the pass {one.own_pass.name} brings along.", _senders(own, name), text=text)
        for one in own
        for name, text in one.directives.items()
    }


def _senders(own: OwnPasses, name: str) -> tuple[str, ...]:
    return tuple(one.own_pass.name for one in own if name in getattr(one.own_pass, "directives", ()))


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
    if not isinstance(getattr(own_pass, "reads", Reads.ENTRIES), Reads):
        raise InvalidPassError(name=name, problem=f"`reads` must be one of {', '.join(map(repr, Reads))}")
    if purges(own_pass):
        raise InvalidPassError(
            name=name, problem="it declares that it purges, which retention alone may; archive instead"
        )
    if methods is _ASKING and not isinstance(own_pass, ModelPass):
        raise InvalidPassError(name=name, problem="`directives` must name the directives it sends, or be empty")
    return own_pass


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
