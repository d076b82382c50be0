"""Makes the statements that check a second reading: canaries, false beyond doubt, and controls, true beyond doubt.

They are made from what the call is about, in whatever language that is: one person's statement told of another, a
number that nobody named, a statement beside what somebody else said, a merge without one of its sentences. Where none
of these is safe, they come from a file of short examples, in the language that is most like the call's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from math import log, sqrt
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import orjson
import regex

from agentcore.llm.chat import estimate_tokens
from agentcore.recall import Tokenizer
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.detail import DetailKind
from dream.guards.details import measures_of
from dream.guards.patterns import TEXT_ROOM, TextCache
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import is_question, plain, sentences_of

CANARIES: Final = 2
CONTROLS: Final = 1
FILE: Final = "verify-checks.json"

T = TypeVar("T")

_SHARED_AT_MOST: Final = 0.25
"""Share of its telling words that a statement may have in common with evidence which must not say it."""
_LEAST_TELLING: Final = 3
LONGEST_CHECK: Final = 250
"""Tokens of a text that is shown once more as a check."""
_NUMBER: Final = regex.compile(r"\d{2,9}")
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_END: Final = regex.compile(r"(?<=[.!?\u061f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_TOKENIZER: Final = Tokenizer()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderChecks:
    """What the host knows of a call that its reader does not.

    Args:
        canaries: Statements that are false beside their evidence.
        controls: Statements that are true beside it.
    """

    canaries: tuple[Assertion, ...]
    controls: tuple[Assertion, ...]


def checks_of(asked: Sequence[Assertion], number: int, proven: Sequence[Assertion] = ()) -> ReaderChecks:
    """Return the checks of a call; the same statements and number give the same ones.

    Args:
        asked: The statements that are to be decided.
        number: The number of the round: another one takes other statements to make them from.
        proven: Statements of the same answer that are proven.
    """
    return _checks_of(tuple(asked), number, tuple(proven)) if asked else ReaderChecks(canaries=(), controls=())


@lru_cache(maxsize=64)
def _checks_of(asked: Sequence[Assertion], number: int, proven: Sequence[Assertion]) -> ReaderChecks:
    """Make the checks of a call: the state of an exchange, and so its calls, is worked out anew for each round."""
    turned = _from(asked, number)
    known = _known().most_alike(asked)
    lines = [line for one in asked for line in one.evidence]
    own = [*_first(_told_of_another, turned, asked), *_first(_beside_foreign_evidence, turned[::-1], asked)]
    if len(own) < CANARIES:
        own += [*_first(_with_another_number, turned, asked), *_first(_without_a_sentence, turned, asked)]
    false = [_example_assertion(known, text, lines) for text in _from(known.false, number)]
    true = [*_from([one for one in proven if _is_plain(one)], number), *islice(_in_full(turned), 1)]
    true.append(_example_assertion(known, known.true, lines))
    return ReaderChecks(
        canaries=tuple(dict.fromkeys([*own, *false]))[:CANARIES],
        controls=tuple(dict.fromkeys(true[(number // 2) % len(true) :] + true))[:CONTROLS],
    )


_Make = Callable[[Assertion, Sequence[Assertion]], Assertion | None]


def _first(make: _Make, turned: Sequence[Assertion], asked: Sequence[Assertion]) -> Iterator[Assertion]:
    """Yield the first canary of a kind that can be made, if one can."""
    made = (make(one, asked) for one in turned if estimate_tokens(one.text) <= LONGEST_CHECK)
    yield from islice((one for one in made if one is not None), 1)


def _told_of_another(one: Assertion, asked: Sequence[Assertion]) -> Assertion | None:
    """Return a statement told of another person, beside what both said about different things."""
    for other in asked:
        text = "" if one.whole or other.whole else _with_another_name(one, other)
        if text:
            return Assertion(text=text, evidence=(*one.evidence, *other.evidence))
    return None


def _beside_foreign_evidence(one: Assertion, asked: Sequence[Assertion]) -> Assertion | None:
    """Return a statement beside what somebody else said about something else, and told of them where it can be."""
    other = next((other for other in reversed(asked) if _is_foreign(one, other)), None)
    return other and replace(one, text=_with_another_name(one, other) or one.text, evidence=other.evidence)


def _with_another_name(one: Assertion, other: Assertion) -> str:
    """Return a statement told of who said something else; nothing if it might be true of them.

    It cannot be if they are named and heard nowhere in its own evidence, so that no "we" and no mutual doing can mean
    both, and if what they said is about something else and names the first nowhere.
    """
    if not _is_foreign(one, other):
        return ""
    known = [one.text, *(f"{line.speaker} {line.text}" for line in one.evidence)]
    foreign = [f"{line.speaker} {line.text}" for line in other.evidence]
    mine = [name for name in _speakers(one) if _stands(name, one.text) and not any(name in text for text in foreign)]
    theirs = [name for name in _speakers(other) if not any(name in text for text in known)]
    return _renamed(one.text, mine[0], theirs[0]) if mine and theirs else ""


def _with_another_number(one: Assertion, _: Sequence[Assertion]) -> Assertion | None:
    """Return a statement with a number that its evidence neither names nor yields."""
    shown = [EvidenceText(text=line.text, speaker=line.speaker, said_at=line.said_at) for line in one.evidence]
    numbers = " ".join(item.text for item in measures_of(one.text) if item.kind is DetailKind.NUMBER)
    for digits in _NUMBER.finditer(one.text):
        last = digits[0][-1]
        for step in (1, 3, 7, 2, 4, 6, 8) if plain(digits[0]) in numbers else ():
            other = chr(ord(last) - int(last) + (int(last) + step) % 10)
            text = f"{one.text[: digits.end() - 1]}{other}{one.text[digits.end() :]}"
            if judge(text, shown).verdict is Verdict.REFUTED:
                return replace(one, text=text)
    return None


def _without_a_sentence(one: Assertion, _: Sequence[Assertion]) -> Assertion | None:
    """Return all that the evidence of a merge says but one sentence, whose words stand in no other."""
    sentences = _sentences(one) if one.whole else []
    for place, sentence in reversed(list(enumerate(sentences))):
        rest = [*sentences[:place], *sentences[place + 1 :]]
        missing = telling_words(sentence) - telling_words(" ".join(rest))
        if rest and len(missing) >= _LEAST_TELLING and _is_short(rest):
            return replace(one, text=" ".join(rest))
    return None


def _in_full(asked: Iterable[Assertion]) -> Iterator[Assertion]:
    """Yield merges that say all their evidence, word for word."""
    for one in asked:
        texts = [line.text for line in one.evidence if line.proves]
        if one.whole and _is_short(texts):
            yield replace(one, text=" ".join(texts))


def _sentences(one: Assertion) -> list[str]:
    """Return the sentences of the evidence as they are written."""
    pieces = (piece for line in one.evidence if line.proves for piece in _END.split(line.text))
    return [piece.strip() for piece in pieces if piece.strip()]


def _is_short(sentences: Sequence[str]) -> bool:
    return sum(map(estimate_tokens, sentences)) <= LONGEST_CHECK


def _is_plain(proven: Assertion) -> bool:
    """Tell whether a proven statement is true for anybody: nothing stands beside the one sentence that it says."""
    said = [sentences_of(line.text) for line in proven.evidence if not line.is_beside]
    return proven.whole or (len(said) == 1 and len(said[0]) == 1 and not is_question(said[0][0]))


def _is_foreign(one: Assertion, other: Assertion) -> bool:
    """Tell whether the evidence of another says nothing of this one: no record is shared, and hardly a word."""
    mine, foreign = _said(one), _said(other)
    told, least = telling_words(one.text), min(len(mine), len(foreign))
    return (
        not {line.text for line in one.evidence} & {line.text for line in other.evidence}
        and len(told) >= _LEAST_TELLING
        and len(told & foreign) <= _SHARED_AT_MOST * len(told)
        and len(mine & foreign) <= _SHARED_AT_MOST * least
    )


def _said(one: Assertion) -> frozenset[str]:
    return frozenset[str]().union(*(telling_words(line.text) for line in one.evidence))


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text but for the shortest, which are those that any text shares with any other."""
    return _TELLING[text]


def _is_telling(word: str) -> bool:
    return len(word) > len("von") or not word.isascii() or word.isdigit()


_TELLING: Final = TextCache(lambda text: frozenset(filter(_is_telling, _TOKENIZER.tokens(text))), room=TEXT_ROOM)


def _stands(name: str, text: str) -> bool:
    return _renamed(text, name, "") != text


def _renamed(text: str, name: str, other: str) -> str:
    """Return a text with another name; scripts without spaces write names and the words beside them as one."""
    edge = "" if _UNSPACED.search(name) else r"\b"
    return regex.sub(f"{edge}{regex.escape(name)}{edge}", lambda _: other, text)


def _speakers(one: Assertion) -> list[str]:
    return sorted({line.speaker for line in one.evidence if line.speaker and line.proves})


@dataclass(frozen=True, slots=True)
class _Example:
    """What somebody said, a statement that is true of it, and some that are not."""

    speaker: str
    said: str
    true: str
    false: tuple[str, ...]
    letters: Counter[str]


@cache
def _known() -> "AlikeExamples[_Example]":
    return AlikeExamples(
        _Example(
            row["speaker"],
            row["said"],
            row["true"],
            tuple(row["false"]),
            letters_of((row["said"], row["true"], *row["false"])),
        )
        for row in rows_of(FILE)
    )


class InALanguage(Protocol):
    """An example, of which it is known how its language is written."""

    @property
    def letters(self) -> Counter[str]:
        """Its pairs and triples of characters."""
        ...


E = TypeVar("E", bound=InALanguage)


class AlikeExamples(Generic[E]):
    """Examples, one of which is chosen for a call; lives as long as the process.

    Args:
        known: The examples.
    """

    def __init__(self, known: Iterable[E]) -> None:
        self.known = tuple(known)
        common = Counter(pair for one in self.known for pair in one.letters)
        self._weights = [self._weighed(one.letters, common) for one in self.known]

    def most_alike(self, asked: Iterable[Assertion]) -> E:
        """Return the example whose letters follow each other most as in a call: it is in its language, if any is."""
        letters = letters_of(text for one in asked for text in (one.text, *(line.text for line in one.evidence)))

        def likeness(weights: Mapping[str, float]) -> float:
            return sum(count * weights[pair] for pair, count in letters.items() if pair in weights)

        return max(zip(self.known, self._weights, strict=True), key=lambda one: likeness(one[1]))[0]

    def _weighed(self, letters: Counter[str], common: Counter[str]) -> Mapping[str, float]:
        """Return how much each pair of letters speaks for an example: the rarer among the examples, the more."""
        rare = {pair: log(1 + len(self.known) / common[pair]) for pair in letters}
        length = sqrt(sum((letters[pair] * weight) ** 2 for pair, weight in rare.items()))
        return {pair: letters[pair] * weight**2 / length for pair, weight in rare.items()}


def rows_of(file: str) -> list[Any]:
    """Return the rows of a file of examples beside the directives."""
    package = Path(__file__).parents[1]
    packaged = package / "_directives" / file
    return orjson.loads((packaged if packaged.exists() else package.parent / "directives" / file).read_bytes())


def true_examples() -> frozenset[str]:
    """Return the statements of the file that are true of what was said, for readers that can only compare words."""
    return frozenset(one.true for one in _known().known)


def letters_of(texts: Iterable[str]) -> Counter[str]:
    """Count the pairs and triples of characters of texts."""
    text = " ".join(" ".join(texts).casefold().split())
    return Counter(text[at : at + size] for size in (2, 3) for at in range(len(text) - size + 1))


def _example_assertion(example: _Example, text: str, lines: Sequence[EvidenceLine]) -> Assertion:
    """Return an example as one more statement of a call: its record looks like theirs."""
    like = max((line for line in lines if not line.is_beside), key=lambda line: line.proves)
    said = EvidenceLine(
        text=example.said, speaker=example.speaker, role=like.role if like.proves else "user", said_at=like.said_at
    )
    return Assertion(text=text, evidence=(said,))


def _from(given: Sequence[T], number: int) -> list[T]:
    """Return a sequence from another place on, so that each round begins elsewhere."""
    place = number % len(given) if given else 0
    return [*given[place:], *given[:place]]


__all__ = [
    "CANARIES",
    "CONTROLS",
    "FILE",
    "LONGEST_CHECK",
    "AlikeExamples",
    "ReaderChecks",
    "checks_of",
    "letters_of",
    "rows_of",
    "telling_words",
    "true_examples",
]
