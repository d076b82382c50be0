"""Finds the sentences of the evidence that an entry keeps: those that hold a quote."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from agentcore.domain.evidence import Evidence, EvidenceVerdict, exact_words
from dream.domain.verification import EvidenceLine
from dream.guards.languages import ABBREVIATED
from dream.guards.patterns import lazy_pattern
from dream.passes.conversation.quotes import holds_quote

_END: Final = lazy_pattern(
    r"(?<=[.!?\u2026\u061f][\p{Pe}\p{Pf}\"']*)\s+(?!\p{Ll})|(?<=[\u3002\uff01\uff1f][\p{Pe}\p{Pf}]*)(?![\p{Pe}\p{Pf}])|\s*\n\s*"
)


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a text, letter by letter as they stand there.

    Example:
        >>> sentences_in("I met Dr. Silva. Do you know him?")
        ['I met Dr. Silva.', 'Do you know him?']
    """
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start()]
        if piece.strip() and ABBREVIATED.search(piece) is None:
            found.append(piece.strip())
            start = end.end()
    return [*found, *filter(None, [text[start:].strip()])]


def holding(text: str, quote: str) -> list[str]:
    """Return the sentences of a text that hold a quote, or that a longer quote holds.

    Example:
        >>> holding("I moved. I like it here. Rui does not.", "moved. I like it here")
        ['I like it here.']
    """
    found = sentences_in(text)
    return [one for one in found if holds_quote(one, quote)] or [one for one in found if holds_quote(quote, one)]


def kept_sentences(
    lines: Iterable[EvidenceLine],
    quotes: Sequence[str],
    verdict: EvidenceVerdict,
    *,
    written_by: str,
    verified_by: str,
    number: int,
) -> tuple[Evidence, ...]:
    """Return the sentences that hold one of the quotes, of all lines that a statement rests on.

    Args:
        lines: Them; what stands beside is passed over.
        quotes: Words of them, by the writer and by the verifier.
        verdict: How it is known that the statement says what they say.
        written_by: The model that wrote the statement.
        verified_by: The model that read it, or the host.
        number: The round of the exchange that decided.
    """
    return tuple(
        Evidence(
            source=line.source,
            speaker=line.speaker or (line.role if line.role == "assistant" else None),
            said_at=line.said_at,
            sentence=exact_words(sentence),
            verdict=verdict,
            written_by=written_by,
            verified_by=verified_by,
            round=number,
        )
        for line in lines
        if line.source is not None and line.said_at is not None and not line.is_beside
        for sentence in _holding_any(line.text, quotes)
    )


def _holding_any(text: str, quotes: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(sentence for quote in quotes for sentence in holding(text, quote)))
