"""Finds negations, and judges whether what is denied in one text is denied in another.

A text is cut into clauses. A clause with a negation denies the content words around it. Two texts agree if the words
that the one denies, and nowhere affirms, are denied by the other too, half of them at least, or if a clause of the
other denies the same. Words are compared by their first letters, so that `allowed` meets `allow`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import regex

from agentcore.lexicon.language import languages, recognised
from dream.guards.folding import ELISION, fold_word, word_key
from dream.guards.languages import (
    FUNCTION_WORDS,
    NOTHING,
    UNKNOWN,
    UNTABLED,
    all_words,
    clause_ends,
)
from dream.guards.patterns import TEXT_ROOM, WORD_ROOM, TextCache, lazy_pattern


def _own_negations() -> dict[str, frozenset[str]]:
    """Return the words that negate in one language, by its code; for an unknown one all that negate in a known one."""
    own = {code: frozenset(one.own_negations) for code, one in recognised().items()}
    own[UNKNOWN] = frozenset[str]().union(*own.values())
    own[UNTABLED] = own[UNKNOWN] | all_words(lambda one: one.own_negations)
    return own


_EVERYWHERE: Final = all_words(lambda one: one.negations)
_BY_LANGUAGE: Final = _own_negations()
_CONTRACTED = lazy_pattern(r"\p{L}+n't|n'\p{L}+")
_INFLECTED = lazy_pattern(r"\p{L}+m[ıiuü]yor\p{L}*|\p{L}{2,}m[ae](?:d[ıi]\p{L}*|z|m|yız|yiz|m[ıi]ş\p{L}*)")
"""A Turkish verb that holds its negation."""

_SOFT: Final = all_words(lambda one: one.soft_negations)
_TURNING: Final = all_words(lambda one: one.turning_words)
"""Words that deny what follows them and are no negation: `stopped smoking`; denied themselves, they affirm it."""
_BLURRING: Final = all_words(lambda one: one.blurring_words)
"""Words after which nothing can be said of what is denied: `missed the party`, `rarely eats meat`."""
_NEARLY: Final = all_words(lambda one: one.nearly_words)
"""Words after which something was not quite, or is not often."""
_UNSURE: Final = all_words(lambda one: one.unsure_words)
"""Words that say, denied, that what follows is not known."""
_ONWARD: Final = all_words(lambda one: one.onward_negations)
IRREGULAR: Final = {form: verb for one in languages() for verb, forms in one.irregular_verbs.items() for form in forms}
"""Verbs whose forms do not begin alike, by form."""

# Where a negation stands in a turn of phrase that does not negate.
_NO_NEGATION = lazy_pattern(
    r"(?:\bnot|n't) (?:only|just|always|necessarily)\b|\bnicht nur\b|\bnão só\b|\bno sólo\b|\bno solo\b"
    r"|\bnon seulement\b|\bpas seulement\b|\bno\.(?=\s?\d)"
    r"|\bwhether or not\b|\bnot to mention\b|\bnão apenas\b|\bno problem\b|\bnothing but\b",
    regex.IGNORECASE,
)
_PHRASE = lazy_pattern(
    r"\b(?:g[ai]ve[sn]?|giving) up(?: on)?\b|\bcut(?:ting|s)? out\b|\bg[eo]t(?:ten)? rid of\b|\bturn(?:ed|s"
    r"|ing)? down\b|\b(?:call(?:ed)? off|fell through)\b|\b(?:far from|anything but|short of|the last thing"
    r"|the opposite of)\b"
    r"|\b(?:fail|forg[eo]t|neglect|omit)\p{L}* to\b|\btoo \p{L}+ to\b|\b(?:can|could) (?:we|you) (?:lose|drop|ditch)\b"
    r"|\bst(?:ay|ays|ayed) away from\b|\b(?:instead of|rather than)\b"
    r"|\balles andere als\b|\bweit davon entfernt\b|\b(?:an)?statt\b|\bloin d(?:e|')|\btout sauf\b|\bau lieu d(?:e|')"
    r"|\btrop \p{L}+ pour\b|\b(?:lejos|longe) de\b|\b(?:todo|tudo) menos\b|\ben (?:vez|lugar) de\b|\bem vez de\b"
    r"|\bao invés de\b|\bdemasiado \p{L}+ para\b|\blontan[oa] da\p{L}*|\btutt'altro che\b|\binvece di\b"
    r"|\btroppo \p{L}+ per\b|\bverre van\b|\ballesbehalve\b|\bin plaats van\b|\bte \p{L}+ om\b|\bвместо\b",
    regex.IGNORECASE,
)
_ALMOST = lazy_pattern(
    r"(?<=\bpr[eé]f[ei]e?r\p{L}* (?!to\b)[^.;,]*)\b(?:over|to|than|a|à|ao|al|aux?|do que|que)\b"
    r"|(?<=\b(?:lieber|liever) [^.;,]*)\b(?:als|dan)\b|\b(?:tr(?:y|ies|ied|ying)|attempt(?:s|ed|ing)?) to\b"
    r"|\b(?:with)?in an? \p{L}+ of\b|\b(?:c[ao]me|coming) close to\b"
    r"|\bessa\p{L}+ d(?:e|')|\b(?:cerca(?:to|va|vo|ndo)?|tenta(?:to|r|va)) di\b|\bprova\p{L}* a\b"
    r"|\bintent\p{L}+ (?=\p{L}+r\b)"
    r"|\btent\p{L}+ (?=\p{L}+r\b)|\b(?:faillir|failli|по?чти|чуть не|por poco|por pouco|a punto de|prestes a"
    r"|sul punto di"
    r"|sur le point de|per poco)\b",
    regex.IGNORECASE,
)
_HAN = lazy_pattern(
    r"不仅|不但|不过(?!敏)|不久|不同|不少|差不多|不断|不错|不管|不得不|无论|未来|非常|特别|分别|别人|个别|级别|告别|区别"
)
_HAN_CUE = lazy_pattern(r"没有|沒有|[不没沒无無未勿]|别(?!墅)|(?<!除)非")
_JAPANESE = lazy_pattern(
    r"なければなら(?:ない|ません)|なくてはなら(?:ない|ません)|ないといけ(?:ない|ません)|かもしれ(?:ない|ません)|に違いない|少ない|危ない|もったいない"
)
_JAPANESE_CUE = lazy_pattern(
    r"ない|なかった|ません|ませんでした|なくて|ずに|(?<=[一-龯])ず(?=[、。]|$)|なし|禁止|いけません"
)
_THAI_CUE = lazy_pattern(r"ไม่")
_OTHER_CUE = lazy_pattern(r"ไม่|않|못하|없|아니")
_KANA = lazy_pattern(r"[\u3041-\u30ff]")
_HAN_SOFT = lazy_pattern(r"停止|戒|禁止|避免|拒绝|やめ|欠席")


def is_negation(word: str, language: str = "en") -> bool:
    """Tell whether a word, `don't` and `n'aime` among them, negates in a language; where that is blank, in any.

    Example:
        >>> is_negation("no", "en"), is_negation("no", "pt"), is_negation("isn't")
        (True, False, True)
    """
    folded = word.casefold()
    if folded in _EVERYWHERE or folded in _BY_LANGUAGE.get(language, frozenset()):
        return True
    if language == UNTABLED and _INFLECTED.fullmatch(folded) is not None:
        return True
    return "'" in folded and _CONTRACTED.fullmatch(folded) is not None


def turns(word: str) -> bool:
    """Tell whether a word denies what follows and is no negation: `stopped`, `évite`."""
    return word.casefold() in _TURNING


def looks_onward(word: str, language: str) -> bool:
    """Tell whether a negation denies what follows it alone, not what stands before.

    Example:
        >>> looks_onward("no", "en"), looks_onward("no", "es")
        (True, False)
    """
    folded = word.casefold()
    return folded in _ONWARD or (folded == "no" and language == "en")


def is_soft_negation(word: str) -> bool:
    """Tell whether a word can stand for a negation: `stopped`, `avoids`, `former`."""
    return word.casefold() in _SOFT


def without_idioms(text: str) -> str:
    """Return the text, as long as before, with each turn of phrase that looks like a negation and is none blanked."""
    patterns = (_NO_NEGATION,) if text.isascii() else (_NO_NEGATION, _HAN, _JAPANESE)
    for pattern in patterns:
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return text


def unspaced_negation(clause: str) -> tuple[bool, bool]:
    """Tell whether a clause in a script without spaces is negated, and whether it may stand for a negated one."""
    cue = _JAPANESE_CUE if _KANA.search(clause) else _HAN_CUE
    hard = cue.search(clause) is not None or _OTHER_CUE.search(clause) is not None
    return hard, _HAN_SOFT.search(clause) is not None


_LINKS: Final = {code: "|".join(one.negation_links) or NOTHING for code, one in recognised().items()}
_TOKEN = lazy_pattern(
    r"\p{Han}|[\p{Katakana}ー]+|[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}]][[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}]]*"
    r"(?:'\p{L}+)*|\d+",
    regex.V1,
)
_UNSPACED = lazy_pattern(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_ARABIC_AFFIX = lazy_pattern(r"(?:[وف])?(?:ال|س(?=[يتنأ]))?[يتنأ]?(?=\p{L}{3})")
_HAN_BUILDING: Final = frozenset("的了在是和有他她我你也都就与及不没沒无無未非别从到收")
_REACH: Final = 8
_STEM: Final = 4
_NEXT: Final = 3
_MOST_NEAR: Final = 20
_BEGINNING: Final = 5
_UNDONE: Final = ("un", "in", "im", "ir", "dis", "non")
_ENOUGH: Final = 0.5


class _WordRole(NamedTuple):
    """What a word means wherever it stands.

    Args:
        stems: What of it is compared; none of a little word.
        turns: Whether it denies the words around it, or may: nothing else but `stems` matters if not.
        negates: Whether it is a negation.
        onward: Whether it denies what follows it alone.
        undone: Words that a prefix of it denies, if they stand somewhere: of unreachable, reachable.
    """

    stems: tuple[str, ...]
    turns: bool
    negates: bool
    onward: bool
    undone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _DenyingClause:
    text: str
    stems: tuple[str, ...]
    denied: tuple[str, ...]
    hard: bool


def _beginnings_of(text: str) -> frozenset[str]:
    words = (fold_word(word) for word in _TOKEN.findall(text))
    return frozenset(word[:_BEGINNING] for word in words if len(word) >= _BEGINNING)


@dataclass(frozen=True, slots=True)
class _ClausesOfText:
    """The clauses of one text, each with its place, as long as no prefix in it undoes a word of another text.

    Args:
        placed: Them.
        undone: The first letters of what a prefix may undo.
    """

    placed: tuple[tuple[int, _DenyingClause], ...]
    undone: frozenset[str]

    @classmethod
    def of(cls, language: str, text: str) -> "_ClausesOfText":
        pieces = list(_pieces(text, language))
        words = (_READ[language][word] for _, piece in pieces for word in _TOKEN.findall(piece))
        return cls(
            tuple((start, _clause(piece, language, frozenset())) for start, piece in pieces),
            frozenset(rest[:_BEGINNING] for word in words if word.undone for rest in word.undone),
        )


def _pieces(text: str, language: str) -> Iterator[tuple[int, str]]:
    plain = without_idioms(text)
    done = 0
    for end, following, _ in clause_ends(plain, _LINKS[language]):
        yield done, plain[done:end]
        done = following


def _clause(piece: str, language: str, known: frozenset[str]) -> _DenyingClause:
    stems: list[str] = []
    near: set[int] = set()
    hard = False
    for word in map(_READ[language].__getitem__, _TOKEN.findall(piece)):
        content = next((rest for rest in word.undone if rest[:_BEGINNING] in known), None) if word.undone else None
        if word.turns or content is not None:
            back, ahead = (0, _NEXT) if word.onward else (_REACH, _REACH)
            near.update(range(max(0, len(stems) - back), len(stems) + ahead))
            hard = hard or word.negates
        stems += word.stems if content is None else _stems(content)
    if not piece.isascii() and _UNSPACED.search(piece):
        unspaced, soft = unspaced_negation(piece)
        hard = hard or unspaced
        near.update(range(len(stems)) if unspaced or soft else ())
    denied = tuple(dict.fromkeys(stem for place, stem in enumerate(stems) if place in near)) if near else ()
    return _DenyingClause(" ".join(piece.split()), tuple(stems), denied, hard)


def _read(language: str, written: str) -> _WordRole:
    negates = is_negation(written, language)
    folded = written.casefold()
    rests = [folded.removeprefix(prefix) for prefix in _UNDONE if folded.startswith(prefix)]
    return _WordRole(
        stems=() if negates else tuple(_stems(written)),
        turns=negates or is_soft_negation(written),
        negates=negates,
        onward=looks_onward(written, language),
        undone=() if negates else tuple(rest for rest in rests if len(rest) >= _BEGINNING),
    )


def _stems(word: str) -> list[str]:
    folded = word_key(ELISION.sub("", word, count=1))
    if folded in FUNCTION_WORDS or word in FUNCTION_WORDS or folded in _HAN_BUILDING:
        return []
    if "\u0600" <= folded[:1] <= "\u06ff":
        return [_ARABIC_AFFIX.sub("", folded, count=1)[:3]]
    return [IRREGULAR.get(folded, folded)[:_STEM]]


_BEGINNINGS: Final = TextCache(_beginnings_of, room=TEXT_ROOM)
_READ: Final = {language: TextCache(partial(_read, language), room=WORD_ROOM) for language in recognised()}
_TOLD: Final = {language: TextCache(partial(_ClausesOfText.of, language), room=TEXT_ROOM) for language in recognised()}
