"""Says of each tool what it is, what right it takes, and turns errors into sentences that a model reads."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import ValidationError
from starlette.requests import Request

from agentcore.domain.access import Right
from agentcore.domain.capability import Capability
from agentcore.hosting.host import Host
from agentcore.stores.acting import acting_as
from dream.interfaces.serving.caller import SCOPE_KEY, Caller
from dream.interfaces.serving.problems import problem_of
from dream.interfaces.serving.remedies import TOOLS, reworded
from dream.interfaces.serving.run_desk import RunDesk
from dream.interfaces.serving.scoped_call import ScopedCall

ToolContext: TypeAlias = Context[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpState:
    """What tools work with; lives as long as the server.

    Args:
        host: The host.
        run_desk: Runs dreams for clients.
        local: The client on stdio; None over HTTP, where the gatekeeper leaves it in the request.
        is_read_only: Whether nobody may change anything, whatever a token gives.
    """

    host: Host
    run_desk: RunDesk
    local: Caller | None = None
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool.

    Args:
        function: What it does; its signature and docstring are what clients see.
        title: What people call it.
        right: What it takes.
        destroys: Whether it takes something away that a client may miss.
        repeats_well: Whether doing it twice is the same as once.
        needs: What the host must be built with; None for nothing more.
    """

    function: Callable[..., Awaitable[Any]]
    title: str
    right: Right
    destroys: bool = False
    repeats_well: bool = False
    needs: Capability | None = None

    @property
    def name(self) -> str:
        """What models call it."""
        return self.function.__name__

    @property
    def is_read_only(self) -> bool:
        """Whether who may only read can call it."""
        return self.right is Right.READ

    @property
    def annotations(self) -> ToolAnnotations:
        """What clients go by when they ask a person."""
        return ToolAnnotations(
            title=self.title,
            read_only_hint=self.is_read_only and not self.destroys,
            destructive_hint=self.destroys,
            idempotent_hint=(self.is_read_only and not self.destroys) or self.repeats_well,
            open_world_hint=False,
        )

    @property
    def guarded(self) -> Callable[..., Awaitable[Any]]:
        """The function with its right required, its writes signed, and its errors said in one sentence."""

        @functools.wraps(self.function)
        async def call(*, ctx: ToolContext, **given: Any) -> Any:
            try:
                caller = caller_of(ctx)
                caller.require(self.right)
                with acting_as(caller.actor):
                    return await self.function(ctx, **given)
            except ToolError:
                raise
            except Exception as error:  # noqa: BLE001 - the edge of the server: a model gets a sentence, not a trace
                raise ToolError(reworded(problem_of(error).detail, TOOLS)) from None

        return call


def wrong_arguments(error: ValidationError) -> str:
    """Return one sentence for each wrong argument, without what was given."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return " ".join(f"The argument {'.'.join(map(str, one['loc']))} is wrong: {one['msg']}." for one in found)


def state_of(context: ToolContext) -> McpState:
    """Return what the server works with."""
    return cast("McpState", context.request_context.lifespan_context)


def caller_of(context: ToolContext) -> Caller:
    """Return who calls."""
    state = state_of(context)
    caller = state.local or cast("Caller", _request(context).scope[SCOPE_KEY])
    return replace(caller, rights=caller.rights & {Right.READ}) if state.is_read_only else caller


def call_of(context: ToolContext) -> ScopedCall:
    """Return the call: over HTTP `?scope=` of the endpoint says whose memory, on stdio the process does."""
    state = state_of(context)
    named = None if state.local is not None else _request(context).query_params.get("scope")
    return ScopedCall.of(state.host, caller_of(context), named)


def _request(context: ToolContext) -> Request:
    return cast("Request", context.request_context.request)
