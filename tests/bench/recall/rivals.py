"""The other engines, each as it is meant to be used; they ship few types, so theirs are written down here.

Where there is a choice, each gets the cheaper way: no keys are fetched for what tantivy finds, rank-bm25's best ten are
taken by a partition, which is faster than its own sort.
"""

import sqlite3
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agentcore.recall import Formula, Weighting
from tests.bench.recall.engines import K


class RankBm25:
    """rank-bm25 with its defaults."""

    formula: ClassVar[Formula] = Formula.of(Weighting.OKAPI, 1.5, 0.75)

    def __init__(self) -> None:
        self._make: Callable[..., Any] = import_module("rank_bm25").BM25Okapi
        self._index: Any = None

    def build(self, documents: list[list[str]]) -> None:
        """Build."""
        self._index = self._make(documents)

    def ask(self, terms: list[str]) -> Any:
        """Return the places of the best."""
        scores = self._index.get_scores(terms)
        best = np.argpartition(scores, -K)[-K:]
        return best[np.argsort(-scores[best])]

    def best(self, terms: list[str]) -> list[int]:
        """Return the places."""
        found: list[int] = self.ask(terms).tolist()
        return found


class Bm25sNumpy:
    """bm25s on NumPy."""

    formula: ClassVar[Formula] = Formula.of(Weighting.LUCENE, 1.2, 0.25)
    backend = "numpy"

    def __init__(self) -> None:
        self._make: Callable[..., Any] = import_module("bm25s").BM25
        self._index: Any = None
        self._known: set[str] = set()

    def build(self, documents: list[list[str]]) -> None:
        """Build."""
        formula = self.formula
        self._index = self._make(method="lucene", k1=formula.k1, b=formula.b, backend=self.backend)
        self._index.index(documents, show_progress=False)
        self._known = {term for term in self._index.vocab_dict if term}

    def ask(self, terms: list[str]) -> Any:
        """Return places and scores; it cannot take a query without a known word."""
        known = [term for term in terms if term in self._known]
        return self._index.retrieve([known], k=K, show_progress=False, n_threads=0) if known else None

    def best(self, terms: list[str]) -> list[int]:
        """Return the places."""
        found = self.ask(terms)
        return [] if found is None else found.documents[0].tolist()


class Bm25sNumba(Bm25sNumpy):
    """bm25s on numba."""

    backend = "numba"


class Tantivy:
    """tantivy in memory; a change shows after a commit and a reload."""

    formula: ClassVar[Formula] = Formula.of(Weighting.LUCENE, 1.2, 0.75)

    def __init__(self) -> None:
        self._tantivy: Any = import_module("tantivy")
        builder = self._tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", stored=True, indexed=True)
        builder.add_text_field("body", tokenizer_name="spaces", index_option="freq")
        self._schema = builder.build()
        self._index = self._opened()
        spaces = self._tantivy.TextAnalyzerBuilder(self._tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer("spaces", spaces)
        self._writer = self._index.writer(128_000_000, 1)
        self._searcher: Any = None

    def build(self, documents: list[list[str]]) -> None:
        """Index, commit, and wait for the merges."""
        for number, terms in enumerate(documents):
            self._writer.add_document(self._document(number, terms))
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._writer = self._index.writer(128_000_000, 1)
        self._show()

    def ask(self, terms: list[str]) -> Any:
        """Return scores and addresses."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        parts = [(occur.Should, query.term_query(self._schema, "body", term)) for term in terms]
        return self._searcher.search(query.boolean_query(parts), K)

    def best(self, terms: list[str]) -> list[int]:
        """Return the keys."""
        return [self._searcher.doc(address)["key"][0] for _, address in self.ask(terms).hits]

    def add(self, number: int, terms: list[str]) -> None:
        """Add one and commit."""
        self._writer.add_document(self._document(number, terms))
        self._writer.commit()
        self._show()

    def remove(self, number: int) -> None:
        """Delete one and commit; by a query, as its deletion by term misses numbers."""
        self._writer.delete_documents_by_query(self._tantivy.Query.term_query(self._schema, "key", number))
        self._writer.commit()
        self._show()

    def _opened(self) -> Any:
        return self._tantivy.Index(self._schema)

    def _document(self, number: int, terms: list[str]) -> Any:
        document = self._tantivy.Document()
        document.add_unsigned("key", number)
        document.add_text("body", " ".join(terms))
        return document

    def _show(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()


class TantivyFile(Tantivy):
    """tantivy in a folder."""

    def _opened(self) -> Any:
        self._folder = tempfile.TemporaryDirectory(prefix="tantivy-")
        return self._tantivy.Index(self._schema, path=self._folder.name)


class Fts5:
    """SQLite's FTS5 in a file with a write-ahead log, a transaction for each change."""

    formula: ClassVar[Formula] = Formula.of(Weighting.OKAPI, 1.2, 0.75)

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fts5-")
        self._connection = sqlite3.connect(Path(self._folder.name) / "a.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        # Terms as they were cut: letters, digits and marks of all scripts, and nothing folded once more.
        cut = "unicode61 remove_diacritics 0 categories 'L* N* M*' tokenchars '_'"
        self._connection.execute(f'CREATE VIRTUAL TABLE documents USING fts5(body, tokenize="{cut}")')

    def build(self, documents: list[list[str]]) -> None:
        """Insert in one transaction."""
        self._connection.execute("BEGIN")
        rows = ((number, " ".join(terms)) for number, terms in enumerate(documents))
        self._connection.executemany("INSERT INTO documents(rowid, body) VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")

    def ask(self, terms: list[str]) -> Any:
        """Return keys and scores."""
        query = " OR ".join(f'"{term}"' for term in terms)
        found = "SELECT rowid, rank FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT ?"
        return self._connection.execute(found, (query, K)).fetchall()

    def best(self, terms: list[str]) -> list[int]:
        """Return the keys."""
        return [key for key, _ in self.ask(terms)]

    def add(self, number: int, terms: list[str]) -> None:
        """Insert one."""
        self._connection.execute("INSERT INTO documents(rowid, body) VALUES (?, ?)", (number, " ".join(terms)))

    def remove(self, number: int) -> None:
        """Delete one."""
        self._connection.execute("DELETE FROM documents WHERE rowid = ?", (number,))
