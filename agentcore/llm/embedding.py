"""Defines what recall needs of a model that turns texts into vectors, and its error."""

from collections.abc import Sequence
from typing import Final, Protocol

from agentcore.errors import AgentcoreError
from agentcore.llm.chat import TryFailure

OF_VECTORS: Final = frozenset({"weight", "query_timeout", "batch", "retry_after"})
"""Keys of the settings file's table of the model that are about how vectors take part in recall."""


class Embedder(Protocol):
    """Turns texts into vectors whose angles tell how near their meanings are."""

    @property
    def model(self) -> str:
        """The model's name; vectors are kept under it, and those of two models never meet."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each of *texts*, in their order, all of one length.

        Raises:
            EmbeddingError: there are none.
        """
        ...


class EmbeddingError(AgentcoreError):
    """The model gave no vectors; recall goes on by words alone.

    Args:
        model: The model asked.
        base_url: Where it was asked.
        failure: What the last try failed of.
        tries: How often it was asked.
        status: The HTTP status; None where none arrived.
    """

    def __init__(
        self, *, model: str, base_url: str, failure: TryFailure, tries: int = 1, status: int | None = None
    ) -> None:
        self.failure = failure
        what = failure.value.replace("_", " ") + (f", status {status}" if status is not None else "")
        count = "1 try" if tries == 1 else f"{tries} tries"
        super().__init__(
            f"The embedding model {model} at {base_url} gave no vectors ({what}; {count}): check that its server runs, "
            "takes the key, has the model and serves /embeddings.",
        )

    @property
    def is_about_the_texts(self) -> bool:
        """Whether other texts may be answered: these were refused, as too long ones are."""
        return self.failure in {TryFailure.REQUEST_REFUSED, TryFailure.CONTEXT_TOO_LONG}
