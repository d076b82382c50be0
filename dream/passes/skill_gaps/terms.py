"""Recurring terms: what several sessions begin with, counted by the host."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agentcore.domain.conversation import Turn
from agentcore.recall.tokenizer import Tokenizer

_FEWEST_SESSIONS = 2
_SHORTEST = 2
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Openings:
    """The first messages of sessions, cut into terms.

    Args:
        turns: By session, the session begun last at the end.
        terms: By session, each term once.
        words: How each term is written most often.
    """

    turns: Mapping[str, Turn]
    terms: Mapping[str, frozenset[str]]
    words: Mapping[str, str]

    @classmethod
    def of(cls, openings: Sequence[Turn], tokenizer: Tokenizer) -> "Openings":
        """Read the first message of each session, in the order they were said."""
        spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        terms: dict[str, frozenset[str]] = {}
        for turn in openings:
            found = frozenset(term for term in tokenizer.tokens(turn.content) if _tells(term))
            terms[turn.session_id] = found
            for word in turn.content.split():
                cut = tokenizer.tokens(word)
                bare = word.casefold().strip(".,;:!?()[]{}\"'`*_")
                if len(cut) == 1 and cut[0] in found and len(bare) <= _LONGEST_WORD:
                    spellings[cut[0]][bare] += 1
        words = {term: _commonest(counted) for term, counted in spellings.items()}
        return cls({turn.session_id: turn for turn in openings}, terms, words)

    def recurring(self, within: Collection[str], *, most: int) -> list[tuple[str, int]]:
        """Return terms of two sessions or more, at least one of them *within*, with the count of their sessions.

        The most frequent come first.

        Example:
            >>> from datetime import UTC, datetime
            >>> from agentcore.domain.scope import Scope
            >>> at = datetime(2025, 6, 14, tzinfo=UTC)
            >>> said = {"s1": "Summarize my email", "s2": "Email again: summarizing, please", "s3": "What is the time?"}
            >>> turns = [
            ...     Turn(id=one, scope=Scope.default(), session_id=one, role="user", content=text, occurred_at=at,
            ...          recorded_at=at)
            ...     for one, text in said.items()
            ... ]
            >>> Openings.of(turns, Tokenizer()).recurring(["s1"], most=15)
            [('email', 2), ('summar', 2)]
        """
        counted = Counter(term for found in self.terms.values() for term in found)
        wanted = {term for session in within for term in self.terms.get(session, ())}
        frequent = [(term, counted[term]) for term in wanted if counted[term] >= _FEWEST_SESSIONS]
        return sorted(frequent, key=lambda item: (-item[1], item[0]))[:most]

    def written(self, term: str) -> str:
        """Return how a term is written most often."""
        return self.words.get(term, term)


def _tells(term: str) -> bool:
    return len(term) >= _SHORTEST and any(character.isalpha() for character in term)


def _commonest(counted: Counter[str]) -> str:
    return min(counted, key=lambda word: (-counted[word], word))
