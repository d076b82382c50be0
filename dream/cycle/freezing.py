"""The directives that model passes would send now."""

from collections.abc import Iterable

from dream.directives import Directive, DirectiveLibrary
from dream.domain.frozen import FrozenDirectives
from dream.errors import InvalidDirectiveError
from dream.passes import ModelPass


def frozen(library: DirectiveLibrary, passes: Iterable[ModelPass]) -> FrozenDirectives:
    """Read the directives that these passes send, as they are now."""
    found: dict[str, Directive] = {}
    problems: dict[str, tuple[str, str]] = {}
    for name in sorted({name for one in passes for name in one.directives}):
        try:
            found |= library.read([name])
        except InvalidDirectiveError as error:
            problems[name] = (str(library.path_of(name)), error.problem)
    return FrozenDirectives(
        texts={name: directive.text for name, directive in found.items()},
        hashes={name: directive.hash for name, directive in found.items()},
        problems=problems,
    )
