"""Makes the statements that check a second reading of conclusions: what follows from a few records, and what does not.

They come from a file of short examples, in the language that is most like the call's. A statement told of somebody else
or with another number would be no check here: it may follow from what the call is about all the same.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from dream.domain.verification import Assertion, EvidenceLine
from dream.passes.reader_checks import CANARIES, CONTROLS, AlikeExamples, ReaderChecks, letters_of, rows_of

INFERENCE_FILE: Final = "verify-inference-checks.json"


@dataclass(frozen=True, slots=True)
class _ConclusionExample:
    """A few records, a conclusion that follows from them, and some that do not."""

    records: tuple[str, ...]
    true: str
    false: tuple[str, ...]
    letters: Counter[str]


@cache
def _known() -> AlikeExamples[_ConclusionExample]:
    return AlikeExamples(
        _ConclusionExample(
            tuple(row["records"]),
            row["true"],
            tuple(row["false"]),
            letters_of((*row["records"], row["true"], *row["false"])),
        )
        for row in rows_of(INFERENCE_FILE)
    )


@lru_cache(maxsize=64)
def _most_alike(asked: tuple[Assertion, ...]) -> _ConclusionExample:
    """Return the example in the language of a call: the state of an exchange is worked out anew for each round."""
    return _known().most_alike(asked)


def true_conclusions() -> frozenset[str]:
    """Return the conclusions of the file that follow, for readers that can only compare words."""
    return frozenset(one.true for one in _known().known)


def inference_checks_of(asked: Sequence[Assertion], number: int) -> ReaderChecks:
    """Return the checks of a call about conclusions; the same statements and number give the same ones.

    Args:
        asked: The statements that are to be decided.
        number: The number of the round: another one takes the false ones in another order.
    """
    if not asked:
        return ReaderChecks(canaries=(), controls=())
    example = _most_alike(tuple(asked))
    said_at = min(
        (line.said_at for one in asked for line in one.evidence if line.said_at is not None),
        default=None,
    )
    lines = tuple(EvidenceLine(text=text, said_at=said_at) for text in example.records)
    place = number % len(example.false)
    false = (*example.false[place:], *example.false[:place])
    return ReaderChecks(
        canaries=tuple(Assertion(text=text, evidence=lines, infers=True) for text in false[:CANARIES]),
        controls=(Assertion(text=example.true, evidence=lines, infers=True),)[:CONTROLS],
    )
