"""Tells which stored texts say a forgotten one: cheaply which cannot, so that few are read with care."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self
from unicodedata import normalize

import orjson
from sqlalchemy import ColumnElement, LargeBinary, and_, cast, func, or_, true

from agentcore.domain.evidence import Evidence, SourceKind, SourceRef
from agentcore.domain.text import MAX_CONTENT, fold_key, normalise
from agentcore.stores.sql.transaction import Transaction

_LONGEST = 4 * MAX_CONTENT
"""Characters up to which a text may be that of an entry: case folding takes one apart into three at most."""
_SHORTEST = 8
_NO_NAME = re.compile(r"[^a-z_-]")
_WORD = re.compile(r"\w+")
_WORDS = 3
"""Words of a text that are looked for: the longest, as they are rare."""


@dataclass(frozen=True, slots=True)
class TextFilter:
    """What a stored text must hold to be read with care; it lets pass whatever says one of the texts, and little else.

    Args:
        words: The longest words of each text, in the form of `normalise`.
        ids: Ids of records; what names one of them is read too.
    """

    words: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...] = ()

    def condition(self, transaction: Transaction, column: ColumnElement[str]) -> ColumnElement[bool]:
        """Return what the database can tell of a column before `lets_pass` is asked."""
        return self._in_sqlite(column) if transaction.connection.dialect.name == "sqlite" else true()

    @classmethod
    def of(cls, texts: Collection[str], ids: Iterable[str] = ()) -> Self:
        """Return the filter of normalised texts.

        Example:
            >>> kept = TextFilter.of(["ana likes tea"])
            >>> kept.lets_pass("Tea, says Bo, is what ANA likes."), kept.lets_pass("Ana likes rye.")
            (True, False)
        """
        longest = (sorted(set(_WORD.findall(text)), key=lambda word: (-len(word), word))[:_WORDS] for text in texts)
        return cls(tuple(map(tuple, longest)), tuple(ids))

    def _in_sqlite(self, column: ColumnElement[str]) -> ColumnElement[bool]:
        """Return a condition that lets pass whatever `lets_pass` does; SQLite folds the letters of ASCII alone."""
        # What has a letter beyond ASCII is longer in bytes than in characters, and is left to `lets_pass`.
        held = [func.length(column) != func.length(cast(column, LargeBinary))]
        held += [func.instr(column, one) > 0 for one in self.ids]
        for words in self.words:
            if all(map(str.isascii, words)):
                held.append(and_(true(), *(func.instr(func.lower(column), word) > 0 for word in words)))
        return or_(*held)

    def lets_pass(self, stored: str) -> bool:
        """Tell whether a text, or JSON that holds texts, may say what is looked for."""
        if any(one in stored for one in self.ids):
            return True
        # As `normalise` folds, without its care for spaces.
        folded = stored.lower() if stored.isascii() else normalize("NFC", normalize("NFC", stored).casefold())
        return any(all(word in folded for word in words) for words in self.words)


@dataclass(frozen=True, slots=True)
class ForgottenSentences:
    """Tells which evidence has to go: what forgotten records said, and what says a forgotten text.

    Args:
        sources: The records that are forgotten or withheld.
        texts: The forgotten texts, normalised.
        filter: Tells most evidence apart by its words.
    """

    sources: frozenset[SourceRef]
    texts: frozenset[str]
    filter: TextFilter

    @classmethod
    def of(cls, gone: Mapping[str, str], turn_ids: Collection[str]) -> Self:
        """Return what forgotten entries and withheld turns leave."""
        turn_refs = (SourceRef(SourceKind.TURN, turn_id) for turn_id in turn_ids)
        sources = frozenset([*turn_refs, *(SourceRef(SourceKind.ENTRY, entry_id) for entry_id in gone)])
        texts = frozenset(map(normalise, gone.values()))
        return cls(sources, texts, TextFilter.of(texts, [orjson.dumps(one.id).decode()[1:-1] for one in sources]))

    def hold(self, one: Evidence) -> bool:
        """Tell whether a piece of evidence has to go."""
        return one.source in self.sources or says(one.sentence, self.texts)


def said_key(content: str) -> str | None:
    """Return the key by which turns of equal text are found; None of a turn that is longer than any entry.

    Example:
        >>> said_key("Ana likes tea.") == said_key("ana  likes TEA")
        True
    """
    return fold_key(content) if len(content) <= _LONGEST else None


def is_telling(text: str) -> bool:
    """Tell whether the text can be searched for: short ones and bare names would hit keys and pass names too."""
    return len(text) >= _SHORTEST and _NO_NAME.search(text) is not None


def says(sentence: str, texts: Collection[str]) -> bool:
    """Tell whether a sentence is one of these normalised texts, or holds one that is long enough to be searched for."""
    said = normalise(sentence)
    return any(text in said if is_telling(text) else text == said for text in texts)
