"""Carries a request out once, however often it is sent with the same key."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agentcore.errors import InvalidInputError
from agentcore.stores.acting import acting_as
from agentcore.stores.sql.access import Receipt
from agentcore.stores.storage import UnitOfWork
from dream.errors import DreamError, NotAdmittedError
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.scoped_call import ScopedCall

Records: TypeAlias = Sequence[tuple[str, str]]
"""What a request wrote: kinds and ids."""
RUN: Final = "run"
"""The kind of a run in a receipt."""
PLAN: Final = "plan"
"""That of a plan."""
_LONGEST_KEY: Final = 255


class AlreadyCarriedOutError(DreamError, InvalidInputError):
    """A request was carried out before; it never leaves this module."""

    def __init__(self) -> None:
        super().__init__("The request was carried out before: its answer is given again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A request that is carried out once; lives as long as it.

    The receipt is written in the transaction that does the work: whoever is killed between the two has done neither.
    It holds ids and no content, so that a forget need not look for copies in it; the answer to a repetition is made of
    what these records are now.

    Args:
        call: Who asks, and of whose memory.
        key: The client's name for the request; None has it carried out each time.
        digest: Hash of what it asks for.
        new_id: Names the attempt.
        names: Says in the transaction what the receipt shall name, where that is no record it writes.
        always: Whether the first transaction that writes carries it out, though it changes no record.
    """

    call: ScopedCall
    key: str | None
    digest: str
    new_id: Callable[[], str]
    names: Callable[[UnitOfWork], Records] | None = None
    always: bool = False

    async def run(
        self, work: Callable[[], Awaitable[Any]], again: Callable[[Records], Awaitable[Any]]
    ) -> tuple[Any, bool]:
        """Return the answer, and whether it is given again.

        Args:
            work: Does it.
            again: Makes the answer anew of what was written.

        Raises:
            Problem: the key was used for another request.
        """
        actor = self.call.caller.actor
        if self.key is None:
            with acting_as(actor):
                return await work(), False
        if not (self.key.isprintable() and 0 < len(self.key) <= _LONGEST_KEY):
            detail = f"The Idempotency-Key cannot be read: give 1 to {_LONGEST_KEY} printable characters."
            raise Problem(status=422, code="invalid_idempotency_key", detail=detail)
        name = self._name
        if (found := await self._found(name)) is not None:
            return await again(found.records), True
        attempt = self.new_id()

        def keep(unit: UnitOfWork) -> None:
            present = unit.receipts.get(name)
            if present is None:
                named = () if self.names is None else tuple(self.names(unit))
                unit.receipts.keep(Receipt(key=name, digest=self.digest, attempt=attempt, records=named))
            elif present.attempt != attempt:
                raise AlreadyCarriedOutError

        try:
            with acting_as(actor, within=keep, always=self.always):
                return await work(), False
        except (AlreadyCarriedOutError, Problem):
            # Another attempt may have got there first, and stand in the way of this one.
            found = await self._found(name)
            if found is None:
                raise
            return await again(found.records), True

    def keep_begun(self, unit: UnitOfWork, run_id: str) -> None:
        """Write the receipt in the transaction that opens a run.

        Raises:
            NotAdmittedError: another attempt has begun it.
        """
        if self.key is None:
            return
        if unit.receipts.get(self._name) is not None:
            raise NotAdmittedError(reason="already_begun")
        records = ((RUN, run_id),)
        unit.receipts.keep(Receipt(key=self._name, digest=self.digest, attempt=run_id, records=records))

    @property
    def _name(self) -> str:
        return hashlib.sha256(f"{self.call.caller.actor}\0{self.key}".encode()).hexdigest()

    async def _found(self, name: str) -> Receipt | None:
        storage, scope = self.call.host.storage, self.call.scope
        found = await storage.read(scope, lambda view: view.receipts.get(name))
        # A forget of what the request wrote leaves no hash.
        if found is not None and found.digest not in {"", self.digest}:
            detail = "The Idempotency-Key was used for another request: make a new one for each request."
            raise Problem(status=422, code="idempotency_key_reused", detail=detail)
        return found
