"""What a correction asks for and what it objects to, as far as the little words of its clauses tell.

A clause that begins with a subject tells what happened; one that forbids has a word for it; any other asks for
something. The part behind `before`, `unless`, `if` is its condition. Words are compared as recall knows them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Final

import regex

from dream.guards.folding import fold, words_in
from dream.guards.languages import FUNCTION_WORDS, language_of_all
from dream.passes.words import terms_of

_SUBJECTS: Final = {
    "en": "i you he she it they we that this these those there the a an my your his her its their our who what why how",
    "de": "ich du er sie es wir ihr das dies diese der die den ein eine mein dein ihr warum wieso wer was hast hat",
    "fr": "je j tu il elle on nous vous ils elles ça cela c ce cette ces le la les l un une ton pourquoi qui as a",
    "es": "yo tú tu usted él ella eso esto ese esta este el la los las un una mi por qué quién has ha",
    "pt": "eu tu você ele ela isso isto esse esta este o a os as um uma meu teu seu porque quem",
    "it": "io tu lui lei questo quello ciò il lo la i gli le un una mio tuo perché chi hai ha",
    "nl": "ik jij je hij zij u het dat dit deze die de een mijn jouw waarom wie heb hebt",
}
"""Words that begin a clause which tells something."""
_WISHES: Final = {
    "en": r"should|must|needs?|want(?:ed)?|i (?:said|meant)|please|prefer|supposed|ought|have to|make sure"
    r"|(?:told|asked) you to|right|correct|better",
    "de": r"soll\w*|musst?|müss\w*|bitte|will|möchte|lieber|besser|richtig\w*",
    "fr": r"dois|doit|devez|faut|veux|voudrais|plutôt|préfère|correcte?",
    "es": r"debes?|debería\w*|hay que|tienes que|quiero|prefiero|mejor|correct[oa]",
    "pt": r"deves?|devias?|t[ée]ns? que|quero|prefiro|melhor|cert[oa]|corret[oa]",
    "it": r"devi|deve|bisogna|voglio|preferisco|meglio|corrett[oa]|giust[oa]",
    "nl": r"moet\w*|wil|liever|beter|graag|juiste?",
}
"""Words of a wish, whatever its clause begins with."""
_BANS: Final = {
    "en": r"do not|don't|never|avoid\w*|stop|quit|refrain from|must not|mustn't|should not|shouldn't|not allowed"
    r"|forbidden|no longer|wrong|mistake|^no(?=\s\p{L})"
    r"|(?<!\b(?:did|does|was|were|is|are|has|have|had|could|would|will|'s|'re) )not",
    "de": r"nicht|nie|niemals|keine?[nmrs]?|vermeide\w*|falsch|verboten",
    "fr": r"ne|n'|jamais|évite[rz]?|faux|interdit",
    "es": r"no|nunca|jamás|evit[ae]r?|mal|prohibido",
    "pt": r"não|nunca|jamais|evit[ae]r?|errado|proibido",
    "it": r"non|mai|evita\w*|sbagliato|vietato",
    "nl": r"niet|nooit|geen|vermijd\w*|fout|verkeerd|verboden",
}
_RATHER: Final = (
    "rather than|instead of|(?:an)?statt|anstelle|au lieu de|en (?:vez|lugar) de|em vez de|invece di|in plaats van"
)
"""What stands behind these is forbidden, and what stands before is not."""
_UNLESS: Final = {
    "en": "before|until|till|unless|without|except",
    "de": "bevor|ehe|bis|ohne|außer",
    "fr": "avant|jusqu|sans|à moins|sauf",
    "es": "antes|hasta|sin|salvo|excepto",
    "pt": "antes|até|sem|exceto",
    "it": "prima|finché|senza|tranne",
    "nl": "voordat|tot|zonder|behalve",
}
_IF: Final = {
    "en": "after|once|when|whenever|if|while",
    "de": "nachdem|sobald|wenn|falls",
    "fr": "après|dès|quand|si|lorsque",
    "es": "después|cuando|si|tras",
    "pt": "depois|quando|se|após",
    "it": "dopo|quando|se",
    "nl": "nadat|als|wanneer",
}
_PARTED: Final = regex.compile(
    r"\b(?:for|in|on|with|at|to|from|of|by|into|via|für|mit|bei|an|auf|zu|von|aus|pour|dans|sur|avec|à|chez|para|en|con"
    r"|por|em|com|no|nos|na|nas|per|su|da|voor|met|op|naar|bij)\b",
    regex.IGNORECASE,
)
"""What stands before the first preposition is what a clause is about."""
_END: Final = regex.compile(
    r"[.:](?=\s|$)|[;!?,\n()]|\s[-\u2013\u2014]\s|\b(?:and|but|because|since|then|und|aber|sondern|weil|et|mais|car"
    r"|pero|sino|porque|mas|ma|perché|maar|want|omdat)\b",
    regex.IGNORECASE,
)
_PAST: Final = regex.compile(r"\b\p{L}+[aei]stes?\b")
"""What somebody did, where Portuguese and Spanish need no subject."""
_BEING: Final = regex.compile(r"\b(?:is|are|was|were|ist|sind|est|sont|está|são|é|è|sono|zijn)\b", regex.IGNORECASE)
_OTHERS: Final = regex.compile(
    r"\b(?:all|every\w*|any\w*|else|others?|alle[nms]?|jede\w*|tous|toutes?|autres?|tod[oa]s|otr[oa]s?|outr[oa]s?"
    r"|tutt[ie]|altr[ie]|iedereen|andere?n?)\b",
    regex.IGNORECASE,
)
_WAYS: Final = regex.compile(r"\b(?:up|down|off)\b")
_VAGUE: Final = words_in(
    "use do make take call try sure alway again ever anymor instead onli just should must need want pleas rather be "
    "tell told said agent assist user person pas"
)
"""Words that tell nothing of what is asked for or forbidden."""
_LITTLE: Final = frozenset(map(fold, FUNCTION_WORDS))
_STEM: Final = 5
_STEP_IS_MEANT: Final = 0.6
"""Share of a step's words that a clause repeats if it is about that step."""


class _Sense(Enum):
    ASKS = auto()
    FORBIDS = auto()
    TELLS = auto()


@dataclass(frozen=True, slots=True)
class _Clause:
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


def is_read(text: str) -> bool:
    """Tell whether a text is in the one script whose prohibitions are read here."""
    return regex.search(r"[\p{L}--\p{Latin}]", text, regex.V1) is None


def turned_round(lesson: str, corrections: Sequence[str]) -> list[str]:
    """Return the clauses of a lesson that forbid what the corrections ask for.

    Example:
        >>> turned_round("Never use zgrep; use grep.", ["That's wrong, use zgrep for the .gz logs."])
        ['Never use zgrep']
        >>> turned_round("Never use grep on .gz logs.", ["That's wrong, use zgrep for the .gz logs."])
        []
    """
    guess = language_of_all([lesson, *corrections])
    language = next((one for one in (guess, *_BANS) if _ban(one).search(lesson)), guess)
    said = [clause for text in corrections for clause in _clauses(text, language)]
    bans = [clause for clause in _clauses(lesson, language) if clause.sense is _Sense.FORBIDS]
    asked = [clause for clause in said if clause.sense is _Sense.ASKS]
    known = frozenset[str]().union(*(clause.words | clause.unless | clause.provided for clause in said))
    against = [clause for clause in said if clause.sense is not _Sense.ASKS]
    return [ban.text for ban in bans if any(_forbids(ban, one, against, known) for one in asked)]


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
    against = [one.words for one in said if one.sense is not _Sense.ASKS and not one.unless | one.provided]
    parts = [words for clause in _clauses(step, language) if (words := clause.head - _VAGUE)]
    return bool(parts) and all(
        any(len(words & other) >= _STEP_IS_MEANT * len(words) for other in against) for words in parts
    )


def _forbids(ban: _Clause, asked: _Clause, against: Sequence[_Clause], known: frozenset[str]) -> bool:
    """Tell whether a ban is on what is asked for, and says nothing that the correction does not say."""
    words = ban.words - _VAGUE
    contested = words & asked.head
    if not contested or not words <= known:
        return False
    # What the correction objects to, as much as it asks for it or in other words, is rightly forbidden.
    met = len(ban.words & asked.words)
    for other in against:
        if contested <= other.words and len(ban.words & other.words) >= met:
            return False
        objected = other.words - _VAGUE
        if other.sense is _Sense.FORBIDS and objected <= ban.words and not objected <= asked.words:
            return False
    # "Never deploy before the tests passed" says what "deploy once the tests passed" says.
    if ban.unless and not asked.unless and not ban.unless.isdisjoint(known):
        return False
    return not ban.provided or ban.provided <= known


def _clauses(text: str, language: str) -> Iterator[_Clause]:
    done = 0
    for match in _END.finditer(text):
        yield from _clause(text[done : match.start()], language)
        done = match.end()
    yield from _clause(text[done:], language)


def _clause(piece: str, language: str) -> Iterator[_Clause]:
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
    sense = _Sense.FORBIDS if ban is not None else _Sense.TELLS if _tells(main, language) else _Sense.ASKS
    parted = [_words(one, language) for one in _PARTED.split(about)]
    opens = sense is _Sense.ASKS and _PARTED.match(about.lstrip()) is not None
    head = frozenset[str]() if opens else next((words for words in parted if words - _VAGUE), frozenset[str]())
    yield _Clause(text, sense, _words(about, language), head, unless, rest - unless)


def _forbidden(clause: str, ban: "regex.Match[str]", language: str) -> str:
    behind = clause[ban.end() :]
    if ban["rather"]:
        return behind
    # English has the subject before the word that forbids, unless the verb is passive.
    is_behind = language == "en" and _words(behind, language) - _VAGUE and not regex.match(r"\s*be\b", behind)
    return behind if is_behind else f"{clause[: ban.start()]} {behind}"


def _tells(clause: str, language: str) -> bool:
    if regex.search(rf"\b(?:{_WISHES[language]})\b", clause, regex.IGNORECASE):
        return False
    words = regex.findall(r"\p{L}+", clause.casefold())
    is_past = language in {"es", "pt"} and _PAST.search(clause) is not None
    return not words or words[0] in _SUBJECTS[language].split() or is_past or _BEING.search(clause) is not None


@cache
def _ban(language: str) -> "regex.Pattern[str]":
    return regex.compile(rf"(?<![\w'])(?:(?P<rather>{_RATHER})|{_BANS[language]})(?:(?<=')|(?!\w))", regex.IGNORECASE)


@cache
def _condition(language: str) -> "regex.Pattern[str]":
    return regex.compile(rf"\b(?:(?P<unless>{_UNLESS[language]})|{_IF[language]})\b", regex.IGNORECASE)


def _words(text: str, language: str) -> frozenset[str]:
    others = frozenset({"*others"} if _OTHERS.search(text) else ()) | frozenset(_WAYS.findall(text.casefold()))
    terms = (term for term in terms_of(text) if term not in _LITTLE)
    # Recall knows the endings of English alone.
    return others | {term if language == "en" else term[:_STEM] for term in terms}
