"""Words that turn a statement round, in the languages that the guards read."""

from typing import Final

import regex

from dream.guards.folding import words_in
from dream.guards.late import late

_EVERYWHERE: Final = words_in(
    # English
    "not never cannot none nobody nothing nowhere neither nor without no-one "
    # Portuguese, Spanish, Italian
    "não nunca jamais sem nem nenhum nenhuma nenhuns nenhumas ninguém jamás ningún ninguna ninguno nadie tampoco "
    "mai nessuno nessuna "
    "senza niente "
    # French
    "ne pas aucun aucune sans rien "
    # German, Dutch, Scandinavian
    "nicht nie niemals nichts niemand weder ohne kein keine keinen keinem keiner keines niet geen nooit zonder "
    "inte aldrig ikke "
    # Slavic, Turkish
    "нет не никогда без ничего никто nigdy değil "
    # Arabic, Hebrew, Hindi
    "لا لم لن ليس ليست ليسوا غير بدون دون לא אין בלי नहीं मत"
)
_BY_LANGUAGE: Final[dict[str, frozenset[str]]] = {
    "en": frozenset({"no"}),
    "es": frozenset({"no", "sin", "ni", "nada"}),
    "pt": frozenset({"nada"}),
    "it": frozenset({"non", "né"}),
    "fr": frozenset({"non", "ni", "n"}),
    "de": frozenset({"nein"}),
}
_CONTRACTED = late(r"\p{L}+n't|n'\p{L}+")

_SOFT: Final = words_in(
    "stop stops stopped stopping quit quits quitting dislike dislikes disliked hate hates hated avoid avoids "
    "avoided refuse refuses refused unable lack lacks lacking former formerly except skip skips skipped hardly "
    "rarely seldom barely forbidden prohibited banned forbids prohibits deixou evita evitar recusa exceto "
    "proibido dejó evita salvo prohibido rechaza évite cessé arrêté sauf interdit refuse ehemalig ehemals früher "
    "vermeidet verboten außer"
)

_ONWARD: Final = words_in(
    "without sem sin sans senza ohne zonder بدون kein keine keinen keinem keiner keines geen nenhum nenhuma "
    "ningún ninguna aucun aucune"
)

_IRREGULAR = """
send sent|eat ate eaten|go goes went gone|speak spoke spoken|drink drank drunk|drive drove driven
write wrote written|buy bought|sell sold|pay paid|give gave given|take took taken|make made|tell told|say said
know knew known|think thought|feel felt|see saw seen|read|come came|leave left|keep kept|sleep slept
teach taught|bring brought|catch caught|meet met|lose lost|win won|build built|spend spent|hear heard
hold held|stand stood|understand understood|wear wore worn|swim swam swum|sing sang sung|run ran
begin began begun|break broke broken|choose chose chosen|fly flew flown|grow grew grown|ride rode ridden
rise rose risen|throw threw thrown|get got gotten|find found|forget forgot forgotten|use used using|own owned
"""
IRREGULAR: Final = {
    form: forms.split()[0]
    for forms in _IRREGULAR.replace("\n", "|").strip("|").split("|")
    for form in forms.split()[1:]
}
"""English verbs whose forms do not begin alike, by form."""

# Where a negation stands in a turn of phrase that does not negate.
_NO_NEGATION = late(
    r"\bnot only\b|\bnicht nur\b|\bnão só\b|\bno sólo\b|\bno solo\b|\bnon seulement\b|\bpas seulement\b|\bno\.(?=\s?\d)"
    r"|\bwhether or not\b|\bnot to mention\b|\bnão apenas\b|\bno problem\b|\bnothing but\b",
    regex.IGNORECASE,
)
_HAN = late(
    r"不仅|不但|不过|不久|不同|不少|差不多|不断|不错|不管|不得不|无论|未来|非常|特别|分别|别人|个别|级别|告别|区别"
)
_HAN_CUE = late(r"没有|沒有|[不没沒无無未勿]|别(?!墅)|(?<!除)非")
_JAPANESE = late(
    r"なければなら(?:ない|ません)|なくてはなら(?:ない|ません)|ないといけ(?:ない|ません)|かもしれ(?:ない|ません)|に違いない|少ない|危ない|もったいない"
)
_JAPANESE_CUE = late(r"ない|なかった|ません|ませんでした|なくて|ずに|(?<=[一-龯])ず(?=[、。]|$)|なし|禁止|いけません")
_OTHER_CUE = late(r"ไม่|않|못하|없|아니")
_KANA = late(r"[\u3041-\u30ff]")
_HAN_SOFT = late(r"停止|戒|禁止|避免|拒绝|やめ|欠席")


def is_negation(word: str, language: str = "en") -> bool:
    """Tell whether a word, `don't` and `n'aime` among them, negates in a language.

    Example:
        >>> is_negation("no", "en"), is_negation("no", "pt"), is_negation("isn't")
        (True, False, True)
    """
    folded = word.casefold()
    if folded in _EVERYWHERE or folded in _BY_LANGUAGE.get(language, frozenset()):
        return True
    return "'" in folded and _CONTRACTED.fullmatch(folded) is not None


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
