"""EmbeddingFiller: has vectors made of entries, in the background."""

import logging

from agentcore.clock import Clock
from agentcore.errors import AgentcoreError
from agentcore.hosting.service import BackgroundService, WorkerFailure
from agentcore.recall.dense import DenseRecall

_log = logging.getLogger(__name__)


class EmbeddingFiller(BackgroundService):
    """Asks the embedding model for what recall lacks, one batch after the other; lives as long as the host.

    A model that gives nothing is left alone for a while and asked again; until then words alone answer.

    Args:
        dense: What lacks vectors.
        clock: What it waits by.
    """

    def __init__(self, dense: DenseRecall, *, clock: Clock) -> None:
        super().__init__(name="embedding-filler", on_failure=WorkerFailure.KEEP_RUNNING)
        self._dense = dense
        self._clock = clock

    async def run(self) -> None:
        """Fill until cancelled."""
        while True:
            try:
                await self._dense.fill()
            except (AgentcoreError, ValueError, OSError) as error:
                reason = str(getattr(error, "failure", None) or type(error).__name__)
                _log.warning("embedding_failed", extra={"reason": reason})
                await self._clock.sleep(self._dense.rest())
