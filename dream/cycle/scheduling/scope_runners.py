"""Gives each scope what runs its dreams and what asks its passes for work, by the options of that scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.cycle.running.named_model import with_model
from dream.cycle.running.runner import Runner
from dream.cycle.scheduling.backlog import Backlog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from dream.options import DreamOptions
    from dream.options.levels import OptionLevels
    from dream.passes import PassSlot


class ScopeRunners:
    """The runner and the backlog of each scope, made once for all scopes that share options; lives as long as the host.

    Args:
        parts: What the host offers.
        levels: The options of each scope.
        order: The passes; by default those of the options.
    """

    def __init__(self, parts: HostServices, levels: OptionLevels, order: Sequence[PassSlot] | None = None) -> None:
        self._parts = parts
        self._levels = levels
        self._order = order
        # Options live as long as the levels, which give the same object for all scopes that share them.
        self._known: dict[int, tuple[Runner, Backlog]] = {}

    @property
    def levels(self) -> OptionLevels:
        """The options of each scope."""
        return self._levels

    @property
    def reads_documents(self) -> bool:
        """Whether what stands in the files of a workspace can be work for any scope."""
        return any(self._made(options)[1].reads_documents for options in self._levels.variants)

    def runner(self, scope: Scope) -> Runner:
        """Return what runs a cycle on a scope."""
        return self._made(self._levels.of(scope))[0]

    def backlog(self, scope: Scope) -> Backlog:
        """Return what asks the passes of a scope for work."""
        return self._made(self._levels.of(scope))[1]

    def directives_mark(self) -> str:
        """Return what tells the directives that runs would send now from any others; it reads their files."""
        told = (
            (str([sorted(one.directives.items()), sorted(one.directive_texts.items())]), one)
            for one in self._levels.variants
        )
        runners = {key: self._made(one)[0] for key, one in told}
        return " ".join(runner.directives_mark() for runner in runners.values())

    def _made(self, options: DreamOptions) -> tuple[Runner, Backlog]:
        if id(options) not in self._known:
            parts = with_model(self._parts, options)
            runner = Runner(parts, options, self._order)
            self._known[id(options)] = runner, Backlog(parts=parts, options=options, order=runner.order)
        return self._known[id(options)]
