"""Passes that a host adds to the built-in ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from agentcore.domain.capability import Capability
from dream.domain.declaration import Declaration, declared


class OwnPass(Protocol):
    """What every pass has; the whole contract is `dream.passes.DreamPass` or `dream.passes.ModelPass`."""

    @property
    def name(self) -> str:
        """What reports, options and the command line call it."""
        ...

    @property
    def requires(self) -> frozenset[Capability]:
        """What the host must have; without it the pass is skipped."""
        ...


class PassPosition(StrEnum):
    """Where a pass stands beside another one."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """A pass, and where it joins the run.

    Args:
        own_pass: The pass.
        position: On which side of *anchor*.
        anchor: Name of the pass it stands beside; None for the end of the run.
        directives: Texts of directives that only it brings, by name.
    """

    own_pass: OwnPass
    position: PassPosition = PassPosition.AFTER
    anchor: str | None = None
    directives: Mapping[str, str] = field(default_factory=dict[str, str])


class OwnPasses(tuple[Insertion, ...]):
    """The passes that a host adds, in the order it added them; immutable.

    Each method returns another sequence. Whether the passes are passes, and the anchors exist, is checked when the host
    is built.

    Example:
        >>> from dream.passes.exact_fold import ExactFold
        >>> class SecondFold(ExactFold):
        ...     name = "second-fold"
        >>> OwnPasses().insert_after("memory-consolidation", SecondFold()).names
        ('second-fold',)
    """

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the passes."""
        return tuple(one.own_pass.name for one in self)

    @property
    def declarations(self) -> dict[str, Declaration]:
        """What each of the passes declares, by its name."""
        return {one.own_pass.name: declared(one.own_pass) for one in self}

    def insert_after(
        self, anchor: str, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None
    ) -> "OwnPasses":
        """Have a pass run right after another one.

        Args:
            anchor: Name of the other pass, a built-in one or one added before.
            own_pass: The pass.
            directives: Texts of directives it brings, by name; the data directory may hold others of the same names.
        """
        return self._with(Insertion(own_pass=own_pass, anchor=anchor, directives=directives or {}))

    def insert_before(
        self, anchor: str, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None
    ) -> "OwnPasses":
        """Have a pass run right before another one; see `insert_after`."""
        return self._with(
            Insertion(own_pass=own_pass, position=PassPosition.BEFORE, anchor=anchor, directives=directives or {})
        )

    def append(self, own_pass: OwnPass, *, directives: Mapping[str, str] | None = None) -> "OwnPasses":
        """Have a pass run after all others; see `insert_after`."""
        return self._with(Insertion(own_pass=own_pass, directives=directives or {}))

    def _with(self, insertion: Insertion) -> "OwnPasses":
        return OwnPasses((*self, insertion))
