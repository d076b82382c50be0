"""Keeps an index of the words in the evidence of entries, by which a forget finds what says a text.

A word is known by a checksum of its beginning. A row names no text, and goes with the sentence that it was made of.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

import regex
from sqlalchemy import ColumnElement, bindparam, delete, func, insert, literal, select

from agentcore.domain.evidence import Evidence, SourceRef
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import normalise
from agentcore.lexicon.lazy_pattern import lazy_pattern
from agentcore.stores.sql.entry_sources import keys_of
from agentcore.stores.sql.rows import to_evidence
from agentcore.stores.sql.schema import entries, evidence_words
from agentcore.stores.sql.stored_texts import TextFilter, is_telling
from agentcore.stores.sql.transaction import Transaction, chunks, of_my_scope

_BEGINNING: Final = 6
"""Letters of a word that are looked at: a text may end within a word of the sentence that holds it."""
_SHORTEST: Final = 4
"""Letters of a word that is kept."""
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD: Final = lazy_pattern(rf"(?P<signs>[{_UNSPACED}]+)|[\w--[{_UNSPACED}]]+", regex.V1)
_RARE: Final = 200
"""Entries up to which it is counted how many have a word."""
_LOOKED_AT: Final = 12
"""Words of a text that are counted."""
_W: Final = evidence_words.c


def kept_words(evidence: Iterable[Evidence]) -> set[int]:
    """Return the checksums under which an entry with this evidence is found."""
    found: set[int] = set()
    for one in evidence:
        found.add(_source_mark(one.source))
        found |= words_of(normalise(one.sentence))
    return found


def words_of(said: str) -> set[int]:
    """Return the checksums of the words of a normalised text; in scripts without spaces, of each two signs."""
    found: set[int] = set()
    for match in _WORD.finditer(said):
        found.update(map(_checksum, _pairs(match) or _beginning(match.group())))
    return found


def words_within(text: str) -> set[int]:
    """Return the checksums that every text has which holds this normalised one, be it within its words.

    Example:
        >>> words_within("has epilepsy, she says") <= words_of("ana has epilepsy, she says herself")
        True
    """
    found: set[int] = set()
    for match in _WORD.finditer(text):
        begins_whole, ends_whole = match.start() > 0, match.end() < len(text)
        is_known = begins_whole and (ends_whole or len(match.group()) >= _BEGINNING)
        found.update(map(_checksum, _pairs(match) or (_beginning(match.group()) if is_known else ())))
    return found


def _pairs(match: "regex.Match[str]") -> list[str]:
    signs: str = match["signs"] or ""
    return [signs[place : place + 2] for place in range(len(signs) - 1)]


def _beginning(word: str) -> tuple[str, ...]:
    return (word[:_BEGINNING],) if len(word) >= _SHORTEST else ()


def _checksum(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def _source_mark(source: SourceRef) -> int:
    return _checksum(f"\0{source}")


def index_evidence(transaction: Transaction, records: Sequence[MemoryEntry]) -> None:
    """Add the words of the evidence of stored entries."""
    told = [record for record in records if record.evidence]
    keys = keys_of(transaction, [record.id for record in told])
    rows = [
        {"scope_id": transaction.scope_id, "word": word, "entry_pk": keys[record.id]}
        for record in told
        for word in sorted(kept_words(record.evidence))
    ]
    if rows:
        transaction.connection.execute(insert(evidence_words), rows)


def reindex_evidence(
    transaction: Transaction, stored: Mapping[str, MemoryEntry], latest: Mapping[str, MemoryEntry]
) -> None:
    """Follow the evidence of entries, by their ids, that were *stored* and now are the *latest*."""
    changed = [entry_id for entry_id, before in stored.items() if before.evidence != latest[entry_id].evidence]
    keys = keys_of(transaction, changed)
    _take_out(transaction, {key: stored[entry_id].evidence for entry_id, key in keys.items()})
    index_evidence(transaction, [latest[entry_id] for entry_id in changed])


def unindex_evidence(transaction: Transaction, keys: Collection[int]) -> None:
    """Take out the words of the evidence of entries that are about to be deleted."""
    stored = select(entries.c.pk, entries.c.evidence).where(entries.c.pk.in_(keys), entries.c.evidence.is_not(None))
    rows = transaction.connection.execute(stored)
    _take_out(transaction, {key: to_evidence(evidence) for key, evidence in rows})


def _take_out(transaction: Transaction, stored: Mapping[int, Iterable[Evidence]]) -> None:
    for key, evidence in stored.items():
        for chunk in chunks(sorted(kept_words(evidence))):
            mine = of_my_scope(evidence_words) & (_W.entry_pk == key) & _W.word.in_(chunk)
            transaction.execute(delete(evidence_words).where(mine))


def evidence_saying(
    transaction: Transaction, texts: Collection[str], sources: Collection[SourceRef] = ()
) -> dict[str, str]:
    """Return the evidence, as rows hold it, of entries that may say one of these normalised texts or rest on a record.

    What is returned is to be read with care: its words are those of a text, in whatever order.
    """
    by_word = {text: words_within(text) if is_telling(text) else words_of(text) for text in texts}
    keys = _with_any(transaction, {_source_mark(one) for one in sources})
    for words in by_word.values():
        keys |= _with_all(transaction, words) if words else set()
    mine = select(entries.c.id, entries.c.evidence).where(
        entries.c.scope_id == transaction.scope_id, entries.c.evidence.is_not(None)
    )
    rows: list[Any] = []
    for chunk in chunks(sorted(keys)):
        rows += transaction.connection.execute(mine.where(entries.c.pk.in_(chunk)))
    # A single word may stand within a longer one: no index tells where.
    unknown = [text for text, words in by_word.items() if not words]
    if unknown:
        kept_by = TextFilter.of(unknown)
        rows += transaction.connection.execute(mine.where(kept_by.condition(transaction, entries.c.evidence)))
    return {str(entry_id): str(evidence) for entry_id, evidence in rows}


def _with_any(transaction: Transaction, words: Collection[int]) -> set[int]:
    found: set[int] = set()
    for chunk in chunks(sorted(words)):
        named = select(_W.entry_pk).where(of_my_scope(evidence_words), _W.word.in_(chunk))
        found.update(transaction.execute(named).scalars())
    return found


def _with_all(transaction: Transaction, words: Collection[int]) -> set[int]:
    """Return the keys of the entries that have all of these words: of those with the rarest, those with the others."""
    counts = {word: transaction.execute(_COUNT, of_word=word).scalar_one() for word in sorted(words)[:_LOOKED_AT]}
    rarest, *others = sorted(counts, key=lambda word: (counts[word], word))
    other = evidence_words.alias()
    has_others: list[ColumnElement[bool]] = [
        select(literal(1))
        .where(other.c.scope_id == _W.scope_id, other.c.word == word, other.c.entry_pk == _W.entry_pk)
        .exists()
        for word in others
    ]
    having = select(_W.entry_pk).where(of_my_scope(evidence_words), _W.word == rarest, *has_others)
    return set(transaction.execute(having).scalars())


_COUNT: Final = select(func.count()).select_from(
    select(_W.word).where(of_my_scope(evidence_words), _W.word == bindparam("of_word")).limit(_RARE).subquery()
)
