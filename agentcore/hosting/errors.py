"""Defines the errors of building, starting and stopping, all of them `HostError`; and what a tool answers to a model.

HostError
├── AlreadyBuiltError       a builder was used after its one host was built
├── NotRestartableError     started a second time
├── ServiceFailedError      a service died while the host ran, or while it stopped
└── ShutdownTimeoutError    services outlived the shutdown budget
InvalidInputError
└── InvalidToolCallError    a model called a tool in a way that cannot be carried out
"""

from collections.abc import Sequence
from datetime import timedelta

from agentcore.errors import HostError, InvalidInputError

_MAX_DETAIL = 300


class AlreadyBuiltError(HostError):
    """A builder was used after it had built its one host."""

    def __init__(self) -> None:
        super().__init__("This builder has built its host and builds only one: make a new AgentHostBuilder.")


class NotRestartableError(HostError):
    """A host or service was started a second time; each lives once."""

    def __init__(self, *, service: str) -> None:
        super().__init__(f"The {service} has been started already and lives only once: build a new one.")


class ServiceFailedError(HostError):
    """A service died; the error that killed it is the `__cause__`."""

    def __init__(self, *, service: str, error: BaseException) -> None:
        detail = str(error)[:_MAX_DETAIL].rstrip(". ")
        because = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
        super().__init__(f"The service {service} failed ({because}): remove the cause and start a new host.")
        self.service = service
        self.__cause__ = error


class ShutdownTimeoutError(HostError):
    """Services were still stopping when the shared shutdown budget was spent; they were cancelled."""

    def __init__(self, *, services: Sequence[str], budget: timedelta) -> None:
        super().__init__(
            f"Not stopped within the shutdown budget of {budget.total_seconds():g} s: {', '.join(services)}; "
            "give the host a longer shutdown_timeout or find what they wait for.",
        )
        self.services = tuple(services)


class InvalidToolCallError(InvalidInputError):
    """A model called a tool in a way that cannot be carried out; it is told so, nothing is raised to the host."""

    def __init__(self, *, tool: str, problem: str) -> None:
        # The name is the model's too, and may hold what no JSON can.
        super().__init__(f"The call of {str(tool)!a} was not carried out: {problem}.")
