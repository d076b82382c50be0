"""Gives a built-in pass the attributes that its declaration holds."""

from collections.abc import Mapping
from typing import Any, ClassVar

from agentcore.domain.capability import Capability
from dream.domain.declaration import OPTIONAL, Declaration, PassMode, Preset, Reads
from dream.domain.verification import VERIFY, VERIFY_INFERENCE


class DeclaredPass:
    """Base of the built-in passes: what `dream.domain.built_in_passes` declares stands there alone.

    A pass of a host's own sets the same attributes itself, those it needs.

    Example:
        >>> from dream.domain.built_in_passes import LOG_CONSUMPTION
        >>> class LogConsumption(DeclaredPass, declaration=LOG_CONSUMPTION):
        ...     pass
        >>> LogConsumption.name
        'log-consumption'
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[Capability]]
    reads: ClassVar[Reads]
    side_readers: ClassVar[Mapping[str, Reads]]
    categories: ClassVar[tuple[str, ...]]
    directives: ClassVar[tuple[str, ...]]
    instructions: ClassVar[tuple[str, ...]]
    """The directives that word its own questions: all but that of the second reading."""
    mode: ClassVar[PassMode]
    presets: ClassVar[Mapping[Preset, PassMode]]
    options: ClassVar[Any]
    when_proposing: ClassVar[Mapping[str, object]]
    notes: ClassVar[tuple[str, ...]]
    never_waits: ClassVar[bool]
    reviews_entries: ClassVar[bool]
    purges: ClassVar[bool]

    def __init_subclass__(cls, *, declaration: Declaration | None = None) -> None:
        super().__init_subclass__()
        if declaration is None:
            return
        cls.name, cls.requires, cls.directives = declaration.name, declaration.requires, declaration.sent
        cls.instructions = tuple(name for name in declaration.sent if name not in {VERIFY, VERIFY_INFERENCE})
        for name in OPTIONAL:
            setattr(cls, name, getattr(declaration, name))
