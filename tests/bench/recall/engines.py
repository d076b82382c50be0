"""What an engine has to do to be measured, and this project's index doing it."""

from typing import ClassVar, Protocol

from agentcore.recall import Bm25Index, Formula, Weighting

K = 10
"""How many documents every engine is asked for."""


class Engine(Protocol):
    """An index under test."""

    formula: ClassVar[Formula]
    """How it is meant to score; what it answers is held against an exhaustive search by that formula."""

    def build(self, documents: list[list[str]]) -> None:
        """Index documents under 0, 1, 2, ..."""
        ...

    def ask(self, terms: list[str]) -> object:
        """Return the `K` best as the engine gives them; this is what is timed."""
        ...

    def best(self, terms: list[str]) -> list[int]:
        """Return the numbers of the documents that `ask` finds."""
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

    formula: ClassVar[Formula] = Formula.of(Weighting.LUCENE, None, None)

    def __init__(self) -> None:
        formula = self.formula
        self._index = Bm25Index(weighting=formula.weighting, k1=formula.k1, b=formula.b)

    def build(self, documents: list[list[str]]) -> None:
        """Index in bulk."""
        self._index.update_many(range(len(documents)), documents)

    def ask(self, terms: list[str]) -> object:
        """Return keys and scores."""
        return self._index.top(terms, K)

    def best(self, terms: list[str]) -> list[int]:
        """Return the keys."""
        return self._index.top(terms, K)[0].tolist()

    def add(self, number: int, terms: list[str]) -> None:
        """Add one."""
        self._index.add(number, terms)

    def remove(self, number: int) -> None:
        """Remove one."""
        self._index.remove(number)


class OursOkapi(Ours):
    """This project's index with the scores of rank-bm25."""

    formula: ClassVar[Formula] = Formula.of(Weighting.OKAPI, None, None)
