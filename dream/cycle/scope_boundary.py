"""Guards the scope boundary: whatever is raised on one scope becomes an error of the library, and nothing worse."""

from collections.abc import Generator
from contextlib import contextmanager

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from dream.errors import DreamBrokenOffError


@contextmanager
def scope_boundary(scope: Scope) -> Generator[None]:
    """Let nothing but the library's own errors out of the block.

    Raises:
        DreamBrokenOffError: something else was raised, which it names.
    """
    try:
        yield
    except AgentcoreError:
        raise
    except Exception as error:
        raise DreamBrokenOffError(scope=str(scope), problem=f"{type(error).__name__}: {error}") from error
