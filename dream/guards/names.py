"""Names and acronyms: words with a capital that no rule of spelling has put there."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from dream.guards.folding import ELISION, fold_word, word_key, words_in
from dream.guards.late import late
from dream.guards.memo import TEXTS, Memo
from dream.guards.negation_words import is_negation
from dream.guards.specific import COVER, Kind, Page
from dream.guards.vocabulary import Vocabulary

WORD: Final = late(r"\p{L}[\p{L}\p{M}]*(?:'\p{L}[\p{L}\p{M}]*)*'?")
"""A word with its apostrophes; scripts without spaces give whole phrases."""

_SENTENCE_END = late(r"[.!?…:。！？\n|•]|^\s*[-*]\s|\s[-–—]\s|[\"“„«‘]\s*$")
_TITLES: Final = words_in("dr mr mrs ms prof st sr sra jr vs no nr e.g i.e approx ca etc inc mme")
_ADVERB_OR_PARTICIPLE = late(r"\p{Ll}{3,}(?:ly|ing|ed|mente|ment)")
_FORMS: Final = (("ie", "y"), ("e", ""), ("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e"), ("er", ""))
_LONE_LETTERS: Final = frozenset("iaoeyuàéóèöå")
_GERMAN_BEFORE_NOUN: Final = words_in(
    "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines mein meine "
    "meinen sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere zum zur ins vom beim diese "
    "dieser dieses diesen jede jeden jeder jedes viele alle pro"
)
_GERMAN_ENDING = late(r"\p{L}{3,}(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|ismus|tät|nis|chen)")
_GERMAN_NOUNS: Final = frozenset(
    word_key(word)
    for word in words_in(
        "tag tage woche wochen monat monate jahr jahre stunde stunden minute minuten uhr zeit morgen abend nacht "
        "mittag wochenende mann frau kind kinder sohn tochter vater mutter eltern bruder schwester freund "
        "freundin freunde familie kollege kollegin kollegen chef chefin kunde kundin kunden nutzer benutzer arzt "
        "ärztin zahnarzt zahnärztin lehrer lehrerin arbeit beruf büro firma projekt projekte vertrag termin "
        "termine treffen besprechung sitzung anruf nachricht brief rechnung rechnungen preis preise kosten miete "
        "geld euro wohnung haus zimmer raum räume küche garten straße stadt land dorf ort platz schule "
        "universität krankenhaus bank bahnhof flughafen zug bus auto fahrrad flug reise urlaub hotel essen "
        "frühstück mittagessen abendessen kaffee tee wasser milch zucker brot fleisch fisch alkohol bier wein "
        "obst gemüse hund katze katzen hunde tier tiere buch bücher film musik spiel sport sprache sprachen "
        "englisch deutsch computer rechner server daten datei dateien ordner liste fehler problem frage antwort "
        "grund ergebnis ziel regel regeln name adresse nummer klimaanlage allergie alter geburtstag"
    )
)


class Word(NamedTuple):
    """A word of a page.

    Args:
        written: As it stands, without an elided article before it.
        start: Where.
        opens: It begins a sentence, so that its capital may mean nothing.
        follows: It stands one space or hyphen behind the word before it.
        before: The word before it, folded.
    """

    written: str
    start: int
    opens: bool
    follows: bool
    before: str

    @property
    def key(self) -> str:
        """The form in which it is compared."""
        return word_key(self.written)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words of a text in reading order; linear in its length."""
    return _WORDS[text]


def _words_of(text: str) -> tuple[Word, ...]:
    found: list[Word] = []
    end, before, opens_next = 0, "", True
    for match in WORD.finditer(text):
        start, ends = match.span()
        gap, written = text[end:start], text[start:ends]
        elided = ELISION.match(written) if "'" in written else None
        if elided:
            start, written = start + elided.end(), written[elided.end() :]
        opens = opens_next
        if gap != " ":
            opens = opens or (_SENTENCE_END.search(gap) is not None and not _is_abbreviation(before, gap))
            # An opening bracket or a covered place before it means that the sentence has begun already.
            opens = opens and COVER not in gap.rsplit(".", maxsplit=1)[-1]
        found.append(Word(written, start, opens, gap in {" ", "-"}, before))
        end, before, opens_next = ends, fold_word(written), False
    return tuple(found)


def _is_abbreviation(before: str, gap: str) -> bool:
    return gap.startswith(".") and gap.strip(" ") == "." and (before in _TITLES or len(before) == 1)


def lower_case_keys(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys of the words that stand in lower case."""
    return frozenset[str]().union(*(_LOWER[text] for text in texts))


def _lower_case_keys(text: str) -> frozenset[str]:
    return frozenset(word_key(word) for word in WORD.findall(text) if word.islower())


def read_names(page: Page, vocabulary: Vocabulary, lower: frozenset[str]) -> None:
    """Find names and acronyms.

    Args:
        page: What is left when numbers, dates and literals are covered.
        vocabulary: Which words are ordinary.
        lower: Keys of words that also stand in lower case, here or in the texts beside it: they are ordinary.
    """
    shouted = _is_shouted(page.text)
    german = page.language == "de"
    for word in words_of(page.text):
        # A word in lower case is a name only if a person said so.
        if not word.written[0].isupper() and word.key not in vocabulary.always_specific:
            continue
        kind = _kind(word, vocabulary, lower, german=german, shouted=shouted)
        if kind is not None:
            page.add(kind, word.start, word.start + len(word.written), word.key)


def _kind(word: Word, vocabulary: Vocabulary, lower: frozenset[str], *, german: bool, shouted: bool) -> Kind | None:
    key = word.key
    if key in vocabulary.always_specific:
        return Kind.NAME
    written = word.written.removesuffix("'s").removesuffix("'")
    if key in vocabulary.common_words or is_negation(written):
        return None
    if _is_acronym(written) and not (shouted and key in vocabulary.sentence_openers):
        return None if shouted and key in lower else Kind.ACRONYM
    ordinary = (
        key in lower
        or (len(written) == 1 and (word.opens or key in _LONE_LETTERS))
        or (word.opens and (_seen(key, lower) or _seen(key, vocabulary.sentence_openers)))
        or (word.opens and _ADVERB_OR_PARTICIPLE.fullmatch(written[1:]) is not None)
        or (german and _is_german_noun(word))
    )
    return None if ordinary else Kind.NAME


def _seen(key: str, words: frozenset[str]) -> bool:
    """Tell whether a word, or the word that it is a regular English form of, is among others."""
    if key in words:
        return True
    for ending, instead in _FORMS:
        if len(key) > len(ending) + 2 and key.endswith(ending) and key.removesuffix(ending) + instead in words:
            return True
    return False


def _is_acronym(written: str) -> bool:
    stem = written.removesuffix("s")
    return len(stem) >= 2 and stem.isupper()


def _is_german_noun(word: Word) -> bool:
    written = word.written
    return (
        word.key in _GERMAN_NOUNS or word.before in _GERMAN_BEFORE_NOUN or _GERMAN_ENDING.fullmatch(written) is not None
    )


def _is_shouted(text: str) -> bool:
    letters = list(filter(str.isalpha, text[:2_000]))
    return len(letters) > 20 and sum(map(str.isupper, letters)) > 0.6 * len(letters)


_WORDS: Final = Memo(_words_of, room=TEXTS)
_LOWER: Final = Memo(_lower_case_keys, room=TEXTS)
