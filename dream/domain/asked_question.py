"""Shows a question with the entries and claims that it is about, and by which words these differ."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.records import entry_json, to_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcore.domain.claim import Claim
    from agentcore.domain.memory import MemoryEntry
    from agentcore.domain.question import Question

_WORD: Final = re.compile(r"\w+(?:[.,:'\u2019-]\w+)*")
_MOST_WORDS: Final = 4
"""Words of one text beyond which these differ altogether, and naming them helps nobody."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and its members as they are now, as a person sees them.

    Args:
        question: The question.
        members: The entries it is about, in the order of the question, retired ones too; those that are gone are
            missing.
        claims: The claims it is about, likewise.
    """

    question: Question
    members: tuple[MemoryEntry, ...]
    claims: tuple[Claim, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the question's image, with its members whole."""
        members = [entry_json(entry) for entry in self.members]
        claims = [to_image(claim) for claim in self.claims]
        return {**to_image(self.question), "members": members, "claims": claims, "differ_in": self.differ_in}

    @property
    def differ_in(self) -> str | None:
        """The words by which its members differ, as far as they still live; None where they differ altogether."""
        return differing_words([*(entry.content for entry in self.members), *(claim.quote for claim in self.claims)])

    @property
    def text(self) -> str:
        """The question with these words; they are never stored with it, so a `forget` leaves none."""
        return f"{self.question.text} They differ in: {self.differ_in}." if self.differ_in else self.question.text


def differing_words(texts: Sequence[str]) -> str | None:
    """Return the words that some texts lack, each text's own; None where these are none or too many to help.

    Example:
        >>> differing_words(["Ana eats nuts.", "Ana does not eat nuts"])
        'eats / does not eat'
        >>> differing_words(["Ana lives in Lisbon.", "Ana lives in Porto."])
        'Lisbon / Porto'
    """
    words = [_WORD.findall(text) for text in texts]
    counts = [Counter(word.casefold() for word in found) for found in words]
    shared = counts[0].copy() if counts else Counter[str]()
    for count in counts:
        shared &= count
    own = [_beyond(found, shared) for found in words]
    if any(len(found) > _MOST_WORDS for found in own):
        return None
    return " / ".join(dict.fromkeys(" ".join(found) for found in own if found)) or None


def words_alone(text: str) -> tuple[str, ...]:
    """Return the words of a text in the order of the alphabet, however they are written and strung together."""
    return tuple(sorted(word.casefold() for word in _WORD.findall(text)))


def _beyond(words: Sequence[str], shared: Counter[str]) -> list[str]:
    left, own = shared.copy(), list[str]()
    for word in words:
        if left[word.casefold()] > 0:
            left[word.casefold()] -= 1
        else:
            own.append(word)
    return own
