"""The other engines as their own first pages use them: from a text to the places of the best texts."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from agentcore.recall import Tokenizer

DEEP = 1_000
"""Texts that are asked for: more than the largest budget can show."""

_WORD = re.compile(r"\w+")


class TextEngine(Protocol):
    """Answers a question with texts."""

    def best(self, question: str) -> Sequence[int]:
        """Return the places of the texts that match, best first."""
        ...


class RankBm25Text:
    """rank-bm25 with its defaults.

    Args:
        texts: What is searched.
        tokens: How a text is cut.
    """

    def __init__(self, texts: Sequence[str], tokens: Callable[[str], list[str]]) -> None:
        self._tokens = tokens
        self._index: Any = import_module("rank_bm25").BM25Okapi([tokens(text) for text in texts])

    def best(self, question: str) -> Sequence[int]:
        """Return all places by falling score."""
        scores = self._index.get_scores(self._tokens(question))
        found: list[int] = np.argsort(-scores, kind="stable").tolist()
        return [place for place in found if scores[place] > 0.0][:DEEP]


class Bm25sText:
    """bm25s with English stop words and Snowball stems, as its README has it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._bm25s: Any = import_module("bm25s")
        self._stems: Any = import_module("snowballstemmer").stemmer("english").stemWords
        self._index = self._bm25s.BM25()
        self._index.index(self._cut(list(texts)), show_progress=False)
        self._depth = min(DEEP, len(texts))

    def best(self, question: str) -> Sequence[int]:
        """Return the places that score above 0."""
        found, scores = self._index.retrieve(self._cut([question]), k=self._depth, show_progress=False)
        return [int(place) for place, score in zip(found[0], scores[0], strict=True) if score > 0.0]

    def _cut(self, texts: list[str]) -> Any:
        return self._bm25s.tokenize(texts, stopwords="en", stemmer=self._stems, show_progress=False)


class TantivyText:
    """tantivy with its English stemmer."""

    def __init__(self, texts: Sequence[str]) -> None:
        tantivy: Any = import_module("tantivy")
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", stored=True)
        builder.add_text_field("body", tokenizer_name="en_stem")
        self._index = tantivy.Index(builder.build())
        writer = self._index.writer(64_000_000, 1)
        for place, text in enumerate(texts):
            document = tantivy.Document()
            document.add_unsigned("key", place)
            document.add_text("body", text)
            writer.add_document(document)
        writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    def best(self, question: str) -> Sequence[int]:
        """Return the places."""
        # In lower case no word is an operator.
        query = self._index.parse_query(" ".join(_WORD.findall(question.lower())), ["body"])
        return [self._searcher.doc(at)["key"][0] for _, at in self._searcher.search(query, DEEP).hits]


class Fts5Text:
    """SQLite's FTS5 with Porter's stemmer."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE texts USING fts5(body, tokenize='porter unicode61')")
        self._connection.executemany("INSERT INTO texts(rowid, body) VALUES (?, ?)", enumerate(texts))

    def best(self, question: str) -> Sequence[int]:
        """Return the places."""
        query = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        found = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        return [place for (place,) in self._connection.execute(found, (query, DEEP))] if query else []


ENGINES: dict[str, Callable[[Sequence[str]], TextEngine]] = {
    "rank-bm25, README": lambda texts: RankBm25Text(texts, str.split),
    "rank-bm25, stop words and stems": lambda texts: RankBm25Text(texts, Tokenizer().tokens),
    "bm25s": Bm25sText,
    "tantivy, en_stem": TantivyText,
    "FTS5, porter": Fts5Text,
}
"""How each engine is made of texts."""
