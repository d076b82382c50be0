"""What was found out about an answer, kept from its review for its interpretation."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from dream.domain.batch import Batch
from dream.passes.protocol import ModelContext

Q = TypeVar("Q")
J = TypeVar("J")

_REMEMBERED: Final = 64


class Judgements(Generic[Q, J]):
    """Keeps one judgement for each of the latest batches; lives as long as its pass.

    A judgement counts again only if all that it rests on is what it was.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[Q, J]] = OrderedDict()

    def take(self, context: ModelContext, batch: Batch, question: Q) -> J | None:
        """Return what was kept of the very same question, and keep it no longer; None if there is nothing.

        Args:
            context: The run's.
            batch: What was asked about.
            question: All that the judgement rests on: the answer, and the records as they are.
        """
        asked, judged = self._known.pop((context.run_id, batch.number), (None, None))
        return judged if asked == question else None

    def keep(self, context: ModelContext, batch: Batch, question: Q, judged: J) -> None:
        """Keep a judgement in place of the one there was of the batch."""
        self._known[context.run_id, batch.number] = (question, judged)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
