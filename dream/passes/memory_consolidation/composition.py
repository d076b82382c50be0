"""Puts a merged text together from sentences of its sources, and tells whether they mean the same side by side."""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Final

import regex

from dream.guards.detail import DetailKind
from dream.guards.folding import words_in
from dream.guards.languages import FUNCTION_WORDS, SUBJECTS, UNSPACED
from dream.guards.verdict import EvidenceText, judge
from dream.guards.wording import Words, is_item, sentences_of, words_of

MOST_SOURCES: Final = 5
"""Entries that one merge is made of at most."""
MOST_CHARACTERS: Final = 400
"""Characters of a merged text at most, unless a source is as long already."""

_STOP: Final = regex.compile(r"[.!?\u2026\u061f\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]\u300d\u300f]*$")
_DIGITS: Final = regex.compile(r"\d+")
_OPEN: Final = regex.compile(r"[,;:\s\u3001\uff0c\uff1b\u060c-]+$")
_ARTICLES: Final = words_in(
    "the a an der die das ein eine le la les un une el los las una o os as um uma il lo gli i uno de het een den det"
)
_HAN_PRONOUNS: Final = frozenset("他她它这這那其我你您彼此自")
_SAME_START: Final = 2
"""Characters that two sentences without spaces share if they begin with the same name."""


def copied(text: str, source: str) -> str | None:
    """Return the place of *source* that *text* was copied from, as it stands there; None if it was not.

    Example:
        >>> copied("ana likes  tea", "Ana likes tea. She drinks it at night.")
        'Ana likes tea.'
        >>> copied("Ana likes coffee.", "Ana likes tea.")
    """
    words = text.split()
    if not words:
        return None
    found = regex.search(
        r"\s+".join(map(regex.escape, words)) + r"[.!?\u2026\u061f\u3002\uff01\uff1f]*", source, regex.IGNORECASE
    )
    if found is not None:
        return found.group()
    return next((one for one in sentences_of(source) if words_of(one) == words_of(text)), None)


def composed(kept: str, added: Iterable[str]) -> str:
    """Return a text that tells what is kept, then what is added and not told before; between them joints alone.

    Example:
        >>> composed("Ana likes tea", ["Ana drinks it at night.", "Ana likes tea."])
        'Ana likes tea. Ana drinks it at night.'
    """
    text = kept.strip()
    told = {words_of(sentence) for sentence in sentences_of(text)}
    for piece in added:
        sentences = sentences_of(piece)
        fresh = [one for one in sentences if words_of(one) not in told]
        told.update(map(words_of, fresh))
        if fresh:
            text = _joined(text, piece.strip() if len(fresh) == len(sentences) else " ".join(fresh))
    return text


def _joined(text: str, piece: str) -> str:
    last = text.rsplit("\n", 1)[-1]
    if is_item(piece) or is_item(last):
        return f"{text}\n{piece}"
    if _STOP.search(text) is None:
        text = _OPEN.sub("", text)
        text += "\u3002" if UNSPACED.search(text[-1:]) else "."
    # A small letter begins no sentence behind a space.
    joint = "\n" if piece[:1].islower() else "" if text.endswith(("\u3002", "\uff01", "\uff1f")) else " "
    return f"{text}{joint}{piece}"


def keeps_meaning(text: str, sources: Sequence[str]) -> bool:
    """Tell whether sentences put side by side still say what each source says; False where that is not sure.

    A sentence keeps its meaning behind the one that it follows in its source. Behind another one it does so if it names
    its subject, and that was named before: a pronoun, or a subject that is left out, would be read as another's. And no
    sentence may deny another.

    Args:
        text: The text, made of whole sentences of the sources.
        sources: The texts that it is made of.

    Example:
        >>> keeps_meaning("Omar is ill. Omar works here.", ["Omar is ill.", "Omar works here."])
        True
        >>> keeps_meaning("Omar is ill. He works here.", ["Omar is ill.", "He works here."])
        False
    """
    told = sentences_of(text)
    runs = [[words_of(one) for one in sentences_of(source)] for source in sources]
    begin = {run[0] for run in runs if run}
    follow = {pair for run in runs for pair in pairwise(run)}
    said = [words_of(one) for one in told]
    if not said or said[0] not in begin:
        return False
    sure = all(
        pair in follow or _names_again(told[place], told[:place]) for place, pair in enumerate(pairwise(said), 1)
    )
    return sure and not any(_are_rivals(one, other) for one, other in combinations(told, 2))


def _names_again(sentence: str, told: Sequence[str]) -> bool:
    """Tell whether a sentence begins with a name or noun of an earlier one."""
    if UNSPACED.match(sentence):
        return sentence[0] not in _HAN_PRONOUNS and any(one[:_SAME_START] == sentence[:_SAME_START] for one in told)
    head = _head(words_of(sentence))
    if head is None:
        return False
    size = len(head)
    earlier = [tuple(map(_bare, words_of(one))) for one in told]
    return any(words[at : at + size] == head for words in earlier for at in range(len(words)))


def _head(words: Words) -> Words | None:
    """Return the first word that names something, with its article; None if the sentence begins otherwise."""
    size = 2 if words and words[0] in _ARTICLES else 1
    head = tuple(map(_bare, words[:size]))
    named = head[-1] if len(head) == size else ""
    return None if not named or not named[0].isalpha() or named in FUNCTION_WORDS or named in SUBJECTS else head


def _bare(word: str) -> str:
    return regex.sub(r"'s?$", "", word)


def _are_rivals(one: str, other: str) -> bool:
    """Tell whether one sentence denies the other, or gives another value in the same words."""
    if denies(one, other) or denies(other, one):
        return True
    words, others = ([_DIGITS.sub("0", word) for word in words_of(text)] for text in (one, other))
    return words == others


def denies(text: str, other: str) -> bool:
    """Tell whether a text says of the very same words that they are not so."""
    found = judge(text, [EvidenceText(text=other)]).details
    return any(detail.kind is DetailKind.NEGATION for detail in found)
