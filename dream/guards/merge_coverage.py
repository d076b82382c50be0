"""Specifics are conserved: what the sources say stands in the merged text, and what it says stands in a source."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.recall.tokenizer import Tokenizer
from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.details import ComparedTexts, Details, DocumentFrequency, TextIndex, details_of
from dream.guards.folding import fold, fold_word, one_form
from dream.guards.languages import FUNCTION_WORDS, language_of
from dream.guards.names import Vocabulary
from dream.guards.negations import denied_only, negations_of
from dream.guards.number_words import WORDS
from dream.guards.numbers import Quantity
from dream.guards.patterns import lazy_pattern

if TYPE_CHECKING:
    import regex

_LOW: Final = (
    "before|until|till|under|below|less than|at most|up to|vor|bis|unter|hochstens|maximal|weniger als|avant|jusqu'a"
    "|moins de|au plus|antes|hasta|menos de|ate|prima|fino|meno di|voor|tot|minder dan|hoogstens"
)
_HIGH: Final = (
    "after|from|since|over|above|more than|at least|nach|ab|seit|uber|mindestens|mehr als|apres|des|depuis|plus de"
    "|au moins|despues|desde|mas de|a partir|depois|mais de|dopo|piu di|na|vanaf|sinds|meer dan|minstens"
)
_LITTLE: Final = "(?:(?:the|about|dem|den|der|de|las?|los?|les?|las|as|das|di|delle|alle|a|um|om|um) )*"
_EACH: Final = "every|each|jede[nrsm]?|alle|chaque|tous les|cada|todos los|todas las|ogni|elke|iedere"
_OTHER: Final = "other|second|2nd|zweite[nrs]?|deux|dos|dois|duas|due|tweede|andere|twee|zwei"
_MARK = lazy_pattern(
    rf"(?<!\p{{L}})(?:(?:(?P<low>{_LOW})|(?P<high>{_HIGH})) {_LITTLE}|(?:{_EACH}) (?P<other>(?:{_OTHER}) )?)"
    r"(?P<what>(?P<h>\d{1,2})(?:(?:[:.](?P<m>\d\d))? ?(?P<half>[ap])\.?m\b|[:.](?P<m>\d\d)(?!\d)|(?= ?(?:uhr|h|uur)\b))"
    r"|\d+|\p{L}+)"
)
_SENTENCE = lazy_pattern(r"[.!?;](?=\s|$)|\n|。")


def turned_limits(text: str, sources: Iterable[str]) -> list[Detail]:
    """Return the limits of a text that its sources tell the other way round.

    Example:
        >>> [str(one) for one in turned_limits("Opens after 10:00.", ["It opens before 10."])]
        ["number 'after 10:00'"]
        >>> turned_limits("Opens after 10:00.", ["It does not open before 10."])
        []
    """
    told = {(side, denied, what) for source in sources for side, denied, what, _ in _limits(source)}
    return [
        Detail(DetailKind.NUMBER, written, Quantity((written,)))
        for side, denied, what, written in _limits(text)
        if (-side, denied, what) in told and (side, denied, what) not in told
    ]


def _limits(text: str) -> Iterator[tuple[int, bool, str, str]]:
    folded = fold(one_form(text))
    language = language_of(folded)
    for sentence in _SENTENCE.split(folded):
        found = list(_MARK.finditer(" ".join(sentence.split())))
        denied = bool(found and negations_of(sentence, language))
        for match in found:
            side = 1 if match["low"] else -1 if match["high"] else 2 if match["other"] else -2
            yield side, denied, _what(match, language), match.group()


def _what(match: "regex.Match[str]", language: str) -> str:
    if match["h"] is None:
        return str(WORDS[language].get(match["what"], match["what"]))
    hour = int(match["h"]) % 12 + (12 if match["half"] == "p" else 0) if match["half"] else int(match["h"])
    return f"{hour}" if match["m"] in {None, "00"} else f"{hour}:{match['m']}"


_Pair = tuple[str, Hashable]
_MOST_PARTNERS: Final = 20


def recombinations(ours: TextIndex, theirs: TextIndex, merged: Details, sources: Sequence[Details]) -> list[Detail]:
    """Return what the merged text put together anew.

    Two things are found. Names joined from two: of Ana Silva and Rui Costa, Ana Costa; only where the sources show
    both halves with another partner, so that a name told in two parts (`Dr. Silva`, `Ana Silva`) may be put
    together. And an exchange: where `Ravi is 34, Meera is 29` became `Ravi is 29, Meera is 34`.
    """
    names = {str(item.key) for found in (*sources, merged) for item in found.of(DetailKind.NAME)}
    firsts = {one for one, _ in theirs.pairs if one in names}
    lasts = {other for _, other in theirs.pairs if other in names}
    joined = sorted(pair for pair in ours.pairs - theirs.pairs if pair[0] in firsts and pair[1] in lasts)
    return [
        *(Detail(DetailKind.NAME, f"{one} {other}".title(), (one, other)) for one, other in joined),
        *_exchanged(merged, sources),
    ]


def _exchanged(merged: Details, sources: Sequence[Details]) -> list[Detail]:
    told = dict.fromkeys((name, item.key) for found in sources for name, item in found.bound)
    fresh = {(name, item.key): item for name, item in merged.bound if (name, item.key) not in told}
    names, values = _partners(told)
    return [
        Detail(item.kind, f"{name.title()}: {item.text}", (name, value))
        for (name, value), item in fresh.items()
        if any(
            (other, mine) in fresh
            for other in values[value][:_MOST_PARTNERS]
            for mine in names[name][:_MOST_PARTNERS]
            if other != name and mine != value
        )
    ]


def _partners(told: Iterable[_Pair]) -> tuple[defaultdict[str, list[Hashable]], defaultdict[Hashable, list[str]]]:
    names: defaultdict[str, list[Hashable]] = defaultdict(list)
    values: defaultdict[Hashable, list[str]] = defaultdict(list)
    for name, value in told:
        names[name].append(value)
        values[value].append(name)
    return names, values


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a merged text lost and what it made up; both empty means that it is faithful.

    Args:
        lost: Details of the sources that do not stand in the merged text, in the order of the sources.
        invented: Details of the merged text that stand in no source, in its own order.
    """

    lost: tuple[Detail, ...] = ()
    invented: tuple[Detail, ...] = ()

    @property
    def faithful(self) -> bool:
        """Nothing was lost and nothing invented."""
        return not self.lost and not self.invented


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """An old text that the merged one takes the place of, instead of repeating it.

    Args:
        content: The old text.
        is_older: Whether the merged text is from a later time, or about one.
        correction: The text that corrects it, which the model cited and the host found; None if none was.
    """

    content: str
    is_older: bool = True
    correction: str | None = None


def coverage(
    sources: Sequence[str],
    merged: str,
    vocabulary: Vocabulary,
    *,
    category: str | None = None,
    document_frequency: DocumentFrequency | None = None,
    superseded: Iterable[Superseded] = (),
) -> Coverage:
    """Compare a merged text with its sources, both ways.

    A superseded text need not be repeated if it is the older one, or if a correction is cited: then
    that correction must be covered in its place. Otherwise it counts as a source. What it says is never invented.

    Args:
        sources: The texts that were merged.
        merged: What the model made of them.
        vocabulary: Which words are ordinary.
        category: Category of the merged entry; some are exempt from the comparison of numbers.
        document_frequency: How many entries hold a term of the recall index.
        superseded: Texts whose old value gives way.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> sources = ["Ana got two cats in 2019.", "Ana is from Porto."]
        >>> told = coverage(sources, "Ana of Porto has 3 cats.", builtin_vocabulary())
        >>> [str(detail) for detail in told.lost]
        ["number 'two'", "number '2019'"]
    """
    demanded, backing = _roles(sources, superseded)
    everything = [*demanded, *backing]
    numbers = vocabulary.numbers_matter(category)

    beside = ComparedTexts.of([merged, *everything])

    def details(text: str) -> Details:
        return details_of(text, vocabulary, document_frequency, beside=beside)

    merged_details, told = details(merged), [details(text) for text in demanded]
    ours, theirs = TextIndex([merged], [merged_details], vocabulary), TextIndex(demanded, told, vocabulary)
    wanted = _compared((detail for found in told for detail in found), numbers=numbers)
    lost = [detail for detail in wanted if not ours.holds(detail)]
    claimed = _compared(merged_details, numbers=numbers)
    if backing and not _stands_whole(claimed, merged_details.bound, ours, theirs, told):
        told += [details(text) for text in backing]
        theirs = TextIndex(everything, told, vocabulary)
    invented = [detail for detail in claimed if not theirs.holds(detail)]
    lost += denied_only(demanded, [merged])
    invented += denied_only([merged], demanded, backing)
    if numbers:
        invented += turned_limits(merged, [*demanded, *backing])
    invented += recombinations(ours, theirs, merged_details, told)
    return Coverage(distinct(lost), distinct(invented))


def _stands_whole(
    claimed: Sequence[Detail],
    bound: Iterable[tuple[str, Detail]],
    ours: TextIndex,
    theirs: TextIndex,
    told: Sequence[Details],
) -> bool:
    """Tell whether the sources alone hold all that a text says, and as it says it: then no more texts are asked."""
    known = {(name, item.key) for found in told for name, item in found.bound}
    return (
        ours.pairs <= theirs.pairs
        and all((name, item.key) in known for name, item in bound)
        and all(map(theirs.holds, claimed))
    )


def _roles(sources: Sequence[str], superseded: Iterable[Superseded]) -> tuple[list[str], list[str]]:
    """Split the texts into those that must be covered and those that only back the merged text up."""
    demanded, backing = list(dict.fromkeys(sources)), list[str]()
    for old in superseded:
        if old.correction is not None:
            demanded.append(old.correction)
            backing.append(old.content)
        elif old.is_older:
            backing.append(old.content)
        else:
            demanded.append(old.content)
    return demanded, backing


def _compared(details: Iterable[Detail], *, numbers: bool) -> list[Detail]:
    return [
        detail
        for detail in details
        if detail.kind is not DetailKind.NEGATION and (numbers or detail.kind is not DetailKind.NUMBER)
    ]


_NEXT_SENTENCE = lazy_pattern(
    r"(?<=[.!?])(?<!\b(?:\p{Lu}|Dr|Mr|Mrs|Ms|Prof|St|Sr|Sra|Jr|Nr|No|vs|max|min|approx|etc)\.)\s+(?=[\p{Lu}\p{Lo}\p{N}\"'])"
    r"|(?<=[。！？])|\n+"
)
_SHARE: Final = 1 / 3
"""Of the words that no other sentence of the sources has, so many at least must stand in the text."""
_REST: Final = 2 / 3
"""Of all its plain words, so many tell a sentence too: then the others say the same in another word."""
_FEW_WORDS: Final = 2
_SAME_MATTER: Final = 3
"""Shared details by which a sentence of few own words retells another one; a value counts as two names."""
_NAMES: Final = frozenset({DetailKind.NAME, DetailKind.ACRONYM, DetailKind.WEEKDAY, DetailKind.NEGATION})


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: frozenset[str]
    details: frozenset[tuple[DetailKind, Hashable]]

    def retells(self, other: "_Sentence", own: frozenset[str]) -> bool:
        """Tell whether few words and no detail of its own set it apart from *other*."""
        weight = sum(1 if kind in _NAMES else 2 for kind, _ in self.details)
        return len(own) <= _FEW_WORDS and self.details <= other.details and weight >= _SAME_MATTER


def untold(sources: Sequence[str], text: str, vocabulary: Vocabulary, tokenizer: Tokenizer) -> list[str]:
    """Return the sentences of *sources* that *text* does not tell, in their order.

    A sentence is told if a third of the plain words that it alone has stand in the text, or two thirds of all its
    plain words, or if it has but two such words and shares its details, three or more, with another one. One with a
    name, number, date or negation of its own is left to `coverage`, which demands that.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> sources = ["Omar takes no aspirin.", "Omar works in Malmö.", "Omar plays the flute."]
        >>> untold(sources, "Omar works in Malmö.", builtin_vocabulary(), Tokenizer())
        ['Omar plays the flute.']
    """
    beside = ComparedTexts.of([text, *sources])
    told = frozenset(tokenizer.tokens(text))
    sentences = [
        _read(one, details_of(one, vocabulary, beside=beside).items, tokenizer)
        for source in dict.fromkeys(sources)
        for one in _sentences(source)
    ]
    words = Counter(word for one in sentences for word in one.words)
    details = Counter(detail for one in sentences for detail in one.details)
    return [
        one.text
        for one in sentences
        if all(details[detail] > 1 for detail in one.details)
        and not _is_told(one, frozenset(word for word in one.words if words[word] == 1), told, sentences)
    ]


def _read(sentence: str, details: Sequence[Detail], tokenizer: Tokenizer) -> _Sentence:
    named = frozenset[str]().union(*(tokenizer.tokens(detail.text) for detail in details))
    words = (word for word in sentence.split() if fold_word(word.strip(".,;:!?'\"()")) not in FUNCTION_WORDS)
    terms = tokenizer.tokens(" ".join(words))
    plain = frozenset(term for term in terms if not any(map(str.isdigit, term))) - named
    return _Sentence(sentence, plain, frozenset((detail.kind, detail.key) for detail in details))


def _is_told(one: _Sentence, own: frozenset[str], told: frozenset[str], sentences: Sequence[_Sentence]) -> bool:
    compared = own or one.words
    return (
        len(compared & told) >= _SHARE * len(compared)
        or (len(one.words) > 1 and len(one.words & told) >= _REST * len(one.words))
        or any(one.retells(other, own) for other in sentences if other is not one)
    )


def _sentences(text: str) -> Iterator[str]:
    return (one.strip() for one in _NEXT_SENTENCE.split(text) if one and one.strip())
