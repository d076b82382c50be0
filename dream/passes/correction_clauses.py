"""What a correction asks for and what it objects to, as far as the little words of its clauses tell.

A clause that begins with a subject tells what happened; one that forbids has a word for it; any other asks for
something. The part behind `before`, `unless`, `if` is its condition. Words are compared as recall knows them.
"""

from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import pairwise, takewhile
from statistics import mean
from typing import Final

import regex

from agentcore.lexicon.language import recognised
from dream.guards.folding import fold, words_in
from dream.guards.languages import FUNCTION_WORDS, clause_ends, language_of_all
from dream.passes.terms import terms_of

_NOTHING: Final = "(?!)"
"""A pattern that stands nowhere."""
_RATHER: Final = (
    "rather than|instead of|(?:an)?statt|anstelle|au lieu de|en (?:vez|lugar) de|em vez de|invece di|in plaats van"
)
"""What stands behind these is forbidden, and what stands before is not."""
_WE: Final = words_in("we wir on nous noi nós nosotros wij")
"""What we do is what is wanted."""
_YOU: Final = words_in(
    "you why du warum wieso weshalb hast tu vous pourquoi as tú usted has por você porque perché hai jij je waarom heb"
)
"""Words that begin a clause which tells what somebody did wrong."""
_PARTED: Final = regex.compile(
    r"\b(?:for|in|on|with|at|to|from|of|by|into|via|für|mit|bei|an|auf|zu|von|aus|pour|dans|sur|avec|à|chez|para|en|con"
    r"|por|em|com|no|nos|na|nas|per|su|da|voor|met|op|naar|bij)\b",
    regex.IGNORECASE,
)
"""What stands before the first preposition is what a clause is about."""
_LINKS: Final = r"and|since|then|und|et|mais|(?<=,\s)(?:car|mas|ma|want)"
"""Words between the clauses of a rule, beside those that `clause_ends` knows."""
_PAST: Final = regex.compile(r"\b\p{L}+[aei]stes?\b")
"""What somebody did, where Portuguese and Spanish need no subject."""
_BEING: Final = regex.compile(r"\b(?:is|are|was|were|ist|sind|est|sont|está|são|é|è|sono|zijn)\b", regex.IGNORECASE)
_DOES: Final = {
    language: regex.compile(pattern)
    for language, pattern in {
        "en": r"^\W*(?:[\w-]+\s){1,3}?(?:can(?:'t|not)?|won't|doesn't|didn't|has|had|does|[\w-]+[^\Ws]s"
        r"(?= (?:the|an?|it|them|our|my|your|h\w+|their|this|that|us|me|everything|all|too|on|about)\b))\b",
        "de": r"^\W*(?:[\w-]+\s){1,3}?(?!nicht\b)[a-zäöü]{2,}t\b",
        "nl": r"^\W*(?:[\w-]+\s){1,3}?(?!niet\b|met\b|het\b|dit\b|dat\b|uit\b|tot\b)[a-z]{2,}t\b",
    }.items()
}
"""Words that begin a clause which tells what something does: a verb in the third person behind few words."""
_OTHERS: Final = regex.compile(
    r"\b(?:all|whole|entire|ganze\w*|every\w*|any\w*|else|others?|alle[nms]?|jede\w*|tous|toutes?|autres?|tod[oa]s|otr[oa]s?|outr[oa]s?"
    r"|tutt[ie]|altr[ie]|iedereen|andere?n?)\b",
    regex.IGNORECASE,
)
_REMOVES: Final = regex.compile(
    r"\b(?:(?:leav\w+|left)\s(?:\w+\s){0,3}out|remov\w+|omit\w*|skip\w*|tolt[aeio]|togli\w*|enlev\w+|retir\w+|quit[ae]\w*"
    r"|tir(?:e|ar|aste|ou)|weglass\w*|weggelassen|entfern\w*|weg\s?(?:\w+\s)?(?:ge)?laten|verwijder\w*)\b",
    regex.IGNORECASE,
)
_WAYS: Final = regex.compile(r"\b(?:up|down|off)\b")
_VAGUE: Final = words_in(
    "use do make take call try sure alway again ever anymor instead onli just should must need want pleas rather be "
    "tell told said agent assist user person check assum vez volta fois mal keer time one"
)
"""Words that tell nothing of what is asked for or forbidden."""
_LITTLE: Final = frozenset(map(fold, FUNCTION_WORDS))
_STEM: Final = 5
_MOST_NEW: Final = 0.5
"""Share of a rule's words that its correction may lack: with more it is about something else."""
_STEP_IS_MEANT: Final = 0.6
"""Share of a step's words that a clause repeats if it is about that step."""


class _Sense(Enum):
    """What a clause is there for; the value is how much it wants what it names."""

    ASKS = 2
    MAY_ASK = 1
    TELLS = 0
    BLAMES = -1
    FORBIDS = -2


_TURNED: Final = {
    _Sense.FORBIDS: _Sense.ASKS,
    _Sense.BLAMES: _Sense.ASKS,
    _Sense.ASKS: _Sense.FORBIDS,
    _Sense.MAY_ASK: _Sense.FORBIDS,
}
"""Who objects that something was left out asks for it, and who wants it left out forbids it."""


@dataclass(frozen=True, slots=True)
class _CorrectionClause:
    """A clause of a correction or of a lesson.

    Args:
        text: As it is written.
        sense: What it is there for.
        words: What is asked for, forbidden or told.
        head: Those of them before the first preposition.
        unless: Words of what it is asked for or forbidden without; empty for no such condition.
        provided: Words of what has to be so for it; empty for no such condition.
    """

    text: str
    sense: _Sense
    words: frozenset[str]
    head: frozenset[str]
    unless: frozenset[str]
    provided: frozenset[str]

    @property
    def asks(self) -> bool:
        """Whether it asks for something, or may do so."""
        return self.sense.value > 0

    @property
    def all(self) -> frozenset[str]:
        """What is said in it and of when."""
        return self.words | self.unless | self.provided


def is_read(text: str) -> bool:
    """Tell whether a text is in the one script whose prohibitions are read here."""
    return regex.search(r"[\p{L}--\p{Latin}]", text, regex.V1) is None


def turned_round(lesson: str, corrections: Sequence[str], beside: Sequence[str] = ()) -> list[str]:
    """Return the clauses of a lesson that forbid what the corrections ask for, more than they do, or something else.

    Args:
        lesson: The rule.
        corrections: What it was learned from.
        beside: What else was told with them.

    Example:
        >>> turned_round("Never use zgrep; use grep.", ["That's wrong, use zgrep for the .gz logs."])
        ['Never use zgrep']
        >>> turned_round("Never use grep on .gz logs.", ["That's wrong, use zgrep for the .gz logs."])
        []
    """
    guess = language_of_all([lesson, *corrections])
    language = next((one for one in (guess, *recognised()) if _ban(one).search(lesson)), guess)
    said = [clause for text in corrections for clause in _clauses(text, language)]
    rule = list(_clauses(lesson, language))
    bans = [clause for clause in rule if clause.sense is _Sense.FORBIDS]
    # What stands before the ban behind a preposition says where it holds.
    opening = takewhile(lambda clause: clause.sense is not _Sense.FORBIDS and not clause.head, rule)
    banned = _known(bans)
    wanted = _known(rule[len(list(opening)) :]) - banned
    whole = _known(rule) - _VAGUE
    new = {word for word in whole - _words("\n".join((*corrections, *beside)), language) if not word.isdecimal()}
    is_elsewhere = any(
        _is_elsewhere((one.words - banned if one.asks else one.head) - _VAGUE, new, said, asks=one.asks) for one in rule
    )
    if bans and (len(new) > _MOST_NEW * len(whole) or is_elsewhere or _is_wider(lesson, " ".join(corrections))):
        return [ban.text for ban in bans]
    return [
        ban.text
        for ban in bans
        if _is_asked(ban, wanted, said) or _is_unbound(ban, whole, said) or _is_exchanged(ban, whole, said, language)
    ]


def contradicted(step: str, corrections: Sequence[str]) -> bool:
    """Tell whether corrections object to each part of a step: one forbids it, or tells that it was done.

    An objection on a condition is none to the step.

    Example:
        >>> contradicted("Clear the cache.", ["No, stop clearing the cache!"])
        True
        >>> contradicted("Clear the cache.", ["Never clear the cache before you asked me."])
        False
    """
    language = language_of_all([step, *corrections])
    said = [clause for text in corrections for clause in _clauses(text, language)]
    against = [one.words for one in said if not one.asks and not one.unless | one.provided]
    parts = [words for clause in _clauses(step, language) if (words := clause.head - _VAGUE)]
    return bool(parts) and all(
        any(len(words & other) >= _STEP_IS_MEANT * len(words) for other in against) for words in parts
    )


def _weights(said: Iterable[_CorrectionClause], words: frozenset[str]) -> list[float]:
    """Return how much a correction wants each of some words that it holds: below zero, it objects to it."""
    found: dict[str, list[int]] = {}
    for clause in said:
        for word in clause.words & words - _VAGUE:
            found.setdefault(word, []).append(clause.sense.value)
        # What has to wait for something is what was done too early.
        for word in clause.unless & words - _VAGUE if clause.asks else ():
            found.setdefault(word, []).append(_Sense.BLAMES.value)
    return [mean(senses) for senses in found.values()]


def _known(said: Iterable[_CorrectionClause]) -> frozenset[str]:
    return frozenset[str]().union(*(clause.all for clause in said))


def _is_asked(ban: _CorrectionClause, wanted: frozenset[str], said: Sequence[_CorrectionClause]) -> bool:
    """Tell whether a correction wants what a rule forbids more than what the rule asks for in its place."""
    # "Never deploy before the tests passed" says what "deploy once the tests passed" says.
    if ban.unless & _known(said) and not any(clause.unless for clause in said if clause.asks):
        return False
    instead = _weights(said, wanted)
    # What stands beside the thing that is asked for is what both are about.
    agreed = wanted - _known(clause for clause in said if clause.sense is _Sense.FORBIDS)
    heard = said if agreed != wanted else [one for one in said if not (one.asks and one.words & agreed)]
    banned = _weights(heard, ban.words)
    if instead:
        return bool(banned) and mean(banned) > mean(instead)
    # Where what is replaced is not named, the rule is free to name it.
    return bool(ban.head - _VAGUE & _known(said)) and _share(ban, said, asks=True) > _share(ban, said, asks=False)


def _share(ban: _CorrectionClause, said: Iterable[_CorrectionClause], *, asks: bool) -> float:
    """Return the largest share of a clause's words that a rule forbids."""
    words = [clause.words - _VAGUE for clause in said if clause.asks is asks]
    return max((len(one & ban.words) / len(one) for one in words if one), default=0.0)


def _is_elsewhere(
    about: frozenset[str], new: AbstractSet[str], said: Sequence[_CorrectionClause], *, asks: bool
) -> bool:
    """Tell whether a clause of a rule is about what a correction does not name.

    A rule may name what is replaced, unless the correction does so.
    """
    asked, told, blamed = (
        any(one.words - _VAGUE for one in said if low <= one.sense.value <= high)
        for low, high in ((1, 2), (0, 0), (-2, -1))
    )
    is_told = blamed or (asked or told if asks else asked and told)
    return is_told and bool(about) and about <= new


def _is_wider(lesson: str, heard: str) -> bool:
    """Tell whether a rule is on all of something of which a correction tells no such thing."""
    return _OTHERS.search(lesson) is not None and _OTHERS.search(heard) is None


def _is_unbound(ban: _CorrectionClause, whole: frozenset[str], said: Sequence[_CorrectionClause]) -> bool:
    """Tell whether a rule forbids in all cases what a correction forbids in some."""
    words = ban.words - _VAGUE
    for clause in said:
        if clause.sense is _Sense.FORBIDS and words & clause.head and words <= clause.all:
            missing, bounds = clause.all - whole - _VAGUE, clause.all - clause.head - _VAGUE
            if len(missing) > 1 or (bounds and bounds <= missing):
                return True
    return False


def _is_exchanged(
    ban: _CorrectionClause, whole: frozenset[str], said: Sequence[_CorrectionClause], language: str
) -> bool:
    """Tell whether a rule has another word where a correction has one, behind words that they share."""
    pairs = list(pairwise(_in_order(ban.text, language)))
    objected = _known(clause for clause in said if not clause.asks)
    for clause in said:
        for (one, _), (other, gap) in pairwise(_in_order(clause.text, language)):
            for (before, _), (behind, between) in pairs:
                is_other = other not in whole and behind not in clause.all | objected and not behind.startswith(other)
                if is_other and (before, between) == (one, gap):
                    return True
    return False


def _in_order(text: str, language: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words that tell something, each with the little words before it."""
    gap: list[str] = []
    for written in regex.findall(r"[\p{L}\p{N}]+", _ban(language).sub(" ", text)):
        word = next(iter(_words(written, language) - _VAGUE), None)
        # Nouns of German tell what a rule is about; its verbs stand at the end, whatever they are.
        is_how = written.islower() if language == "de" else language == "en" and written.endswith("ly")
        if word is None or is_how:
            gap.append(written.casefold())
        else:
            yield word, tuple(gap)
            gap = []


def _clauses(text: str, language: str) -> Iterator[_CorrectionClause]:
    done = 0
    for end, following, between in clause_ends(text, _LINKS):
        if _condition(language).fullmatch(between):
            continue
        yield from _clause(text[done:end], language)
        done = following


def _clause(piece: str, language: str) -> Iterator[_CorrectionClause]:
    text = " ".join(piece.replace("\u2019", "'").split())
    if not text:
        return
    condition = _condition(language).search(text)
    main = text if condition is None else text[: condition.start()]
    rest = frozenset[str]() if condition is None else _words(text[condition.end() :], language)
    unless = rest if condition is not None and condition["unless"] else frozenset[str]()
    ban = _ban(language).search(main)
    if ban is not None and ban["rather"]:
        yield from _clause(main[: ban.start()], language)
    about = main if ban is None else _forbidden(main, ban, language)
    sense = _Sense.FORBIDS if ban is not None else _sense(main, language)
    if _REMOVES.search(main):
        sense = _TURNED.get(sense, sense)
    parted = [_words(one, language) for one in _PARTED.split(about)]
    opens = sense.value > 0 and _PARTED.match(about.lstrip()) is not None
    head = frozenset[str]() if opens else next((words for words in parted if words - _VAGUE), frozenset[str]())
    yield _CorrectionClause(text, sense, _words(about, language), head, unless, rest - unless)


def _forbidden(clause: str, ban: "regex.Match[str]", language: str) -> str:
    behind = clause[ban.end() :]
    if ban["rather"]:
        return behind
    # Most have the subject before the word that forbids, unless the verb is passive.
    few = {"en": 0, "de": 99, "nl": 99}.get(language, 1)
    is_behind = len(_words(behind, language) - _VAGUE) > few and not regex.match(r"\s*be\b", behind)
    return behind if is_behind else f"{behind} {clause[: ban.start()]}"


def _does(clause: str, language: str) -> bool:
    return language in _DOES and _DOES[language].search(clause) is not None


def _sense(clause: str, language: str) -> _Sense:
    if regex.search(rf"\b(?:{_any(recognised()[language].rule_wishes)})\b", clause, regex.IGNORECASE):
        return _Sense.ASKS
    words = regex.findall(r"\p{L}+", clause.casefold())
    if words and words[0] in _WE:
        return _Sense.MAY_ASK
    if (words and words[0] in _YOU) or (language in {"es", "pt"} and _PAST.search(clause)):
        return _Sense.BLAMES
    if not words or words[0] in recognised()[language].rule_told_by or _BEING.search(clause) or _does(clause, language):
        return _Sense.TELLS
    return _Sense.MAY_ASK


def _any(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or _NOTHING


@cache
def _ban(language: str) -> "regex.Pattern[str]":
    bans = _any(recognised()[language].rule_bans)
    return regex.compile(rf"(?<![\w'])(?:(?P<rather>{_RATHER})|{bans})(?:(?<=')|(?!\w))", regex.IGNORECASE)


@cache
def _condition(language: str) -> "regex.Pattern[str]":
    unless, provided = _any(recognised()[language].rule_unless), _any(recognised()[language].rule_provided)
    return regex.compile(rf"\b(?:(?P<unless>{unless})|{provided})\b", regex.IGNORECASE)


def _words(text: str, language: str) -> frozenset[str]:
    others = frozenset({"*others"} if _OTHERS.search(text) else ()) | frozenset(_WAYS.findall(text.casefold()))
    text = _OTHERS.sub(" ", text)
    told = _condition(language).sub(" ", _ban(language).sub(" ", text))
    terms = (term for term in terms_of(told) if term not in _LITTLE)
    # Recall knows the endings of English alone.
    return others | {term if language == "en" else term[:_STEM] for term in terms}
