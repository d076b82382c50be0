"""Words that turn a statement round, in the languages that the guards read."""

from typing import Final

import regex

from dream.guards.folding import words_in
from dream.guards.lazy_pattern import lazy_pattern

_EVERYWHERE: Final = words_in(
    # English
    "not never cannot none nobody nothing nowhere neither nor without no-one "
    # Portuguese, Spanish, Italian
    "não nunca jamais sem nem nenhum nenhuma nenhuns nenhumas ninguém jamás ningún ninguna ninguno nadie tampoco "
    "nessuno nessuna senza niente "
    # French
    "ne pas aucun aucune sans rien "
    # German, Dutch, Scandinavian
    "nicht nie niemals nichts niemand weder ohne kein keine keinen keinem keiner keines keins niet geen nooit zonder "
    "inte aldrig ikke "
    # Slavic, Turkish
    "нет не никогда без ничего никто ні немає ніколи nigdy nie není nikdy değil yok hiç asla "
    # Greek, Indonesian, Vietnamese
    "δεν μην όχι ποτέ χωρίς tidak bukan belum không chưa chẳng "
    # Arabic, Hebrew, Hindi
    "لا لم لن ليس ليست ليسوا غير بدون دون לא אין בלי नहीं मत"
)
_BY_LANGUAGE: Final[dict[str, frozenset[str]]] = {
    "en": words_in("no zero dont doesnt didnt isnt arent wasnt cant wont havent hasnt couldnt wouldnt"),
    "es": frozenset({"no", "sin", "ni", "nada"}),
    "pt": frozenset({"nada"}),
    "it": frozenset({"non", "né", "mai"}),
    "fr": frozenset({"non", "ni", "n"}),
    "de": frozenset({"nein"}),
}
UNTABLED: Final = "other"
"""Stands for a language that no table of the guards knows."""
_BY_LANGUAGE[""] = frozenset[str]().union(*_BY_LANGUAGE.values())
_BY_LANGUAGE[UNTABLED] = _BY_LANGUAGE[""] | words_in(
    "ei eivät älä en emme nem nincs soha nu nici ej ingen inga inget intet aldri 안 못"
)
_CONTRACTED = lazy_pattern(r"\p{L}+n't|n'\p{L}+")
_INFLECTED = lazy_pattern(r"\p{L}+m[ıiuü]yor\p{L}*|\p{L}{2,}m[ae](?:d[ıi]\p{L}*|z|m|yız|yiz|m[ıi]ş\p{L}*)")
"""A Turkish verb that holds its negation."""

_SOFT: Final = words_in(
    "stop stops stopped stopping quit quits quitting dislike dislikes disliked hate hates hated avoid avoids "
    "avoided refuse refuses refused unable lack lacks lacking former formerly except skip skips skipped hardly "
    "rarely seldom barely forbidden prohibited banned forbids prohibits deixou evita evitar recusa exceto "
    "proibido dejó evita salvo prohibido rechaza évite cessé arrêté sauf interdit refuse ehemalig ehemals früher "
    "vermeidet verboten außer"
)

_TURNING: Final = words_in(
    # English
    "stop stops stopped stopping quit quits quitting avoid avoids avoided avoiding refuse refuses refused refusing "
    "refusal skip skips skipped skipping dislike dislikes disliked hate hates hated former formerly "
    "previously except "
    "forbidden prohibited banned unable lack lacks lacking decline declines declined reject rejects rejected cancel "
    "cancels cancelled canceled abandon abandoned despise despises ex "
    # Portuguese, Spanish, Italian, French
    "deixou deixei parou parei evita evito evitar recusa recusou odeia odeio detesta detesto dejó dejé dejado evita "
    "evito odia odio rechaza rechazó smesso smette evita evitare rifiuta rifiutato arrête arrêté cessé évite éviter "
    "refuse refusé déteste interdit proibido prohibido vietato ancien exceto excepto salvo sauf tranne "
    # German, Dutch
    "aufgehört aufgegeben vermeide vermeidet verweigert abgelehnt abgesagt hasst hasse verboten ehemalig ehemalige "
    "ehemaliger ehemals früher außer meidet meide gestopt stopte vermijd vermijdt haat voormalig verboden geweigerd "
    # Russian, Chinese, Japanese, Arabic
    "бросил бросила перестал перестала избегает избегаю отказался отказалась ненавидит ненавижу توقف توقفت أتجنب "
    "يتجنب تتجنب يكره تكره أكره رفض رفضت"
)
"""Words that deny what follows them and are no negation: `stopped smoking`; denied themselves, they affirm it."""

_BLURRING: Final = words_in(
    "miss misses missed forget forgets forgot forgotten fail fails failed leave leaves left lose lost hesitate "
    "lieber rather instead "
    "oublié oublie manqué quitté quitte esqueceu esqueci faltou perdeu olvidó "
    "olvidé perdió "
    "apenas verpasst vergessen verlassen fast vergeten забыл забыла пропустил"
)
"""Words after which nothing can be said of what is denied: `missed the party`, `rarely eats meat`."""

_NEARLY: Final = words_in(
    "hardly rarely seldom barely scarcely almost nearly quase raramente casi rara rarement presque quasi selten "
    "kaum beinahe "
    "zelden nauwelijks bijna редко почти едва чуть prawie nästan"
)
"""Words after which something was not quite, or is not often."""

_UNSURE: Final = words_in(
    "sure certain know knew tell told mention mentioned realise realised realize realized decided decide "
    "clear convinced remember sicher weiß entschieden sûr sûre sais décidé "
    "seguro segura sé decidido sabe sei certeza decidiu sicuro sicura so zeker weet уверен уверена знаю решил решила"
)
"""Words that say, denied, that what follows is not known."""

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


def blurs(word: str, *, denied: bool) -> bool:
    """Tell whether what follows a word is neither denied nor affirmed.

    Example:
        >>> blurs("missed", denied=False), blurs("sure", denied=True), blurs("sure", denied=False)
        (True, True, False)
    """
    folded = word.casefold()
    return folded in _BLURRING or folded in _NEARLY or (denied and folded in _UNSURE)


def nearly(text: str) -> bool:
    """Tell whether a text tells of what nearly was or hardly is.

    Example:
        >>> nearly("We almost won."), nearly("I tried to sleep."), nearly("We won.")
        (True, True, False)
    """
    return not _NEARLY.isdisjoint(in_one_word(text.casefold()).split())


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


def in_one_word(text: str) -> str:
    """Return the text with `stopped` for turns of phrase such as `gave up`, `almost` for such as `tried to`.

    Example:
        >>> in_one_word("Ana gave up sugar.")
        'Ana stopped  sugar.'
    """
    return _ALMOST.sub("almost ", _PHRASE.sub("stopped ", text))


def negated_from(clause: str) -> int:
    """Return the place from which a clause in Chinese or Thai is negated; 0 in Japanese and Korean."""
    found = None if _KANA.search(clause) else _HAN_CUE.search(clause) or _THAI_CUE.search(clause)
    return 0 if found is None else found.start()


def unspaced_negation(clause: str) -> tuple[bool, bool]:
    """Tell whether a clause in a script without spaces is negated, and whether it may stand for a negated one."""
    cue = _JAPANESE_CUE if _KANA.search(clause) else _HAN_CUE
    hard = cue.search(clause) is not None or _OTHER_CUE.search(clause) is not None
    return hard, _HAN_SOFT.search(clause) is not None
