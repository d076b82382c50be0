"""The engines, each as it is meant to be used; they ship few types, so theirs are written down here."""

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agentcore.recall.index import Bm25Index, Weighting

_K = 10

Terms = Sequence[str]


class Engine(Protocol):
    """An index under test."""

    def __init__(self) -> None:
        """Import the engine."""
        ...

    def build(self, documents: list[list[str]]) -> None:
        """Index documents under 0, 1, 2, ..."""
        ...

    def ask(self, terms: list[str]) -> object:
        """Return the ten best."""
        ...


class Changeable(Engine, Protocol):
    """An engine that takes changes without being built anew."""

    def add(self, number: int, terms: list[str]) -> None:
        """Index a document so that the next query finds it."""
        ...

    def remove(self, number: int) -> None:
        """Take a document out so that the next query does not find it."""
        ...


class Ours:
    """This project's index, with Lucene's weights as recall uses it."""

    weighting = Weighting.LUCENE

    def __init__(self) -> None:
        self._index = Bm25Index(weighting=self.weighting)

    def build(self, documents: list[list[str]]) -> None:
        """Index in bulk."""
        self._index.update_many(range(len(documents)), documents)

    def ask(self, terms: list[str]) -> object:
        """Return keys and scores."""
        return self._index.top(terms, _K)

    def add(self, number: int, terms: list[str]) -> None:
        """Add one."""
        self._index.add(number, terms)

    def remove(self, number: int) -> None:
        """Remove one."""
        self._index.remove(number)


class OursOkapi(Ours):
    """This project's index with the scores of rank-bm25."""

    weighting = Weighting.OKAPI


class RankBm25:
    """rank-bm25 with its defaults; the best ten by partition, which is faster than its own sort."""

    def __init__(self) -> None:
        self._make: Callable[..., Any] = import_module("rank_bm25").BM25Okapi
        self._index: Any = None

    def build(self, documents: list[list[str]]) -> None:
        """Build."""
        self._index = self._make(documents)

    def ask(self, terms: list[str]) -> object:
        """Return the places of the best."""
        scores = self._index.get_scores(terms)
        best = np.argpartition(scores, -_K)[-_K:]
        return best[np.argsort(-scores[best])]


class Bm25sNumpy:
    """bm25s on NumPy."""

    backend = "numpy"

    def __init__(self) -> None:
        self._make: Callable[..., Any] = import_module("bm25s").BM25
        self._index: Any = None
        self._known: set[str] = set()

    def build(self, documents: list[list[str]]) -> None:
        """Build, and let a query compile what it has to."""
        self._index = self._make(method="lucene", k1=1.2, b=0.25, backend=self.backend)
        self._index.index(documents, show_progress=False)
        self._known = {term for term in self._index.vocab_dict if term}
        self.ask([next(iter(self._known))])

    def ask(self, terms: list[str]) -> object:
        """Return places and scores; it cannot take a query without a known word."""
        known = [term for term in terms if term in self._known]
        return self._index.retrieve([known], k=_K, show_progress=False, n_threads=0) if known else ()


class Bm25sNumba(Bm25sNumpy):
    """bm25s on numba."""

    backend = "numba"


class Tantivy:
    """tantivy in memory; a change shows after a commit and a reload."""

    def __init__(self) -> None:
        self._tantivy: Any = import_module("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", indexed=True, stored=True)
        builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        self._index = self._tantivy.Index(self._schema)
        self._writer = self._index.writer(128_000_000, 1)
        self._searcher: Any = None

    def build(self, documents: list[list[str]]) -> None:
        """Index and merge."""
        for number, terms in enumerate(documents):
            self._writer.add_document(self._document(number, terms))
        self._commit()

    def ask(self, terms: list[str]) -> object:
        """Return scores and addresses."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        parts = [(occur.Should, query.term_query(self._schema, "body", term)) for term in set(terms)]
        return self._searcher.search(query.boolean_query(parts), _K)

    def add(self, number: int, terms: list[str]) -> None:
        """Add one and commit."""
        self._writer.add_document(self._document(number, terms))
        self._commit()

    def remove(self, number: int) -> None:
        """Delete one and commit."""
        self._writer.delete_documents_by_term("key", number)
        self._commit()

    def _document(self, number: int, terms: list[str]) -> Any:
        return self._tantivy.Document(key=number, body=" ".join(terms))

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()


class Fts5:
    """SQLite's FTS5 in a file with a write-ahead log, a transaction for each change."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fts5-")
        self._connection = sqlite3.connect(Path(self._folder.name) / "a.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(
            "CREATE VIRTUAL TABLE documents USING fts5(body, tokenize=\"unicode61 tokenchars '_'\")"
        )

    def build(self, documents: list[list[str]]) -> None:
        """Insert in one transaction."""
        self._connection.execute("BEGIN")
        rows = ((number, " ".join(terms)) for number, terms in enumerate(documents))
        self._connection.executemany("INSERT INTO documents(rowid, body) VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")

    def ask(self, terms: list[str]) -> object:
        """Return keys and scores."""
        query = " OR ".join(f'"{term}"' for term in terms)
        found = "SELECT rowid, rank FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT ?"
        return self._connection.execute(found, (query, _K)).fetchall()

    def add(self, number: int, terms: list[str]) -> None:
        """Insert one."""
        self._connection.execute("INSERT INTO documents(rowid, body) VALUES (?, ?)", (number, " ".join(terms)))

    def remove(self, number: int) -> None:
        """Delete one."""
        self._connection.execute("DELETE FROM documents WHERE rowid = ?", (number,))


ENGINES: dict[str, type[Engine]] = {
    "rank-bm25": RankBm25,
    "bm25s (NumPy)": Bm25sNumpy,
    "bm25s (numba)": Bm25sNumba,
    "tantivy": Tantivy,
    "SQLite FTS5": Fts5,
    "ours, okapi": OursOkapi,
    "ours": Ours,
}
