"""Asks the host's own verifier, which may deny and never accept alone, and remembers what it found."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from dream.domain.verification import Assertion, Reading, SecondReading, Verifier
from dream.guards.secrets import secret_in
from dream.guards.wording import plain
from dream.passes.conversation.quotes import holds_quote

_REMEMBERED: Final = 10_000
_log: Final = logging.getLogger(__name__)


class HostVerifier:
    """The host's verifier with what it found so far, so that the same rounds lead to the same next question.

    What it denied stays denied as long as the process lives. Where it failed, it is asked again by another run.

    Args:
        verifier: The host's.
    """

    def __init__(self, verifier: Verifier) -> None:
        self.name = type(verifier).__name__
        self._verifier = verifier
        self._found: OrderedDict[Assertion, SecondReading] = OrderedDict()
        self._failed: OrderedDict[tuple[str, Assertion], None] = OrderedDict()

    async def read(self, assertions: Sequence[Assertion], /) -> Sequence[SecondReading]:
        """Return what the host's verifier finds."""
        return await self._verifier.read(assertions)

    async def denials(self, run_id: str, assertions: Sequence[Assertion]) -> Mapping[Assertion, SecondReading]:
        """Return what it denies, and why; nothing of what it fails to read.

        Args:
            run_id: The run that asks.
            assertions: What words leave undecided.
        """
        told = dict.fromkeys(assertions)
        new = [one for one in told if one not in self._found and (run_id, one) not in self._failed]
        found = dict(zip(new, await self._read(new), strict=False)) if new else {}
        for one in new:
            if one in found:
                self._found[one] = found[one]
            else:
                self._failed[run_id, one] = None
        known = {one: self._found[one] for one in told if one in self._found}
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)
        while len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)
        return {one: reading for one, reading in known.items() if reading.reading is not Reading.SAYS}

    async def _read(self, assertions: Sequence[Assertion]) -> list[SecondReading]:
        """Return its readings; none if it fails, or if it does not answer each assertion."""
        try:
            found = list(await self._verifier.read(assertions))
            if len(found) != len(assertions):
                raise ValueError(f"{len(found)} readings of {len(assertions)} assertions")  # noqa: TRY301
            return [_usable(one, reading) for one, reading in zip(assertions, found, strict=True)]
        except Exception as error:  # noqa: BLE001 - what a host's object raises must not end a dream
            # Its words may hold what was remembered: the kind of error tells enough.
            _log.warning("verifier_failed", extra={"verifier": self.name, "error": type(error).__name__})
            return []


def _usable(assertion: Assertion, given: SecondReading) -> SecondReading:
    """Return a reading with such quotes as stand in the evidence, and nothing that looks like a secret."""
    said = [plain(line.text) for line in assertion.evidence]
    quotes = [one for one in given.quotes if any(holds_quote(text, plain(one)) for text in said)]
    return SecondReading(
        reading=Reading(given.reading),
        quotes=tuple(one for one in quotes if secret_in(one) is None),
        left_out=tuple(one for one in given.left_out if secret_in(one) is None) if assertion.whole else (),
    )


def host_verifier(verifier: Verifier | None) -> HostVerifier | None:
    """Return a verifier with a memory; None for none."""
    return verifier if verifier is None or isinstance(verifier, HostVerifier) else HostVerifier(verifier)
