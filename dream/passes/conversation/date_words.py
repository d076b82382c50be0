"""Words of relative dates in seven languages, folded and without accents as `dream.guards.folding.fold` leaves them.

Each table is a text: a value, and the words that have it.
"""

from typing import Final

import regex

from dream.guards.calendar_words import SHORT_WEEKDAYS, WEEKDAYS
from dream.guards.folding import fold
from dream.guards.number_words import WORDS


def _table(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.strip().splitlines())
    return {word.strip(): value.strip() for value, _, words in lines for word in words.split("|")}


def _numbers(text: str) -> dict[str, int]:
    return {word: int(value) for word, value in _table(text).items()}


DAYS: Final = _numbers(
    """
     0: today|tonight|this morning|this afternoon|this evening
    -1: yesterday|last night
    -2: the day before yesterday
     1: tomorrow
     2: the day after tomorrow
     0: heute
    -1: gestern
    -2: vorgestern
     1: morgen
     2: ubermorgen
     0: aujourd'hui|ce matin|ce soir
    -1: hier
    -2: avant-hier
     1: demain
     2: apres-demain
     0: hoy|esta manana|esta tarde|esta noche
    -1: ayer|anoche
    -2: anteayer|antes de ayer
     1: manana
     2: pasado manana
     0: hoje
    -1: ontem
    -2: anteontem
     1: amanha
     2: depois de amanha
     0: oggi|stamattina|stasera
    -1: ieri
    -2: l'altro ieri|ieri l'altro
     1: domani
     2: dopodomani
     0: vandaag|vanavond
    -1: gisteren|gisteravond
    -2: eergisteren
     2: overmorgen
    """
)
"""Days from the day on which it was said."""

NOT_BEHIND: Final = "la guten am jeden"
"""Words behind which `mañana` and `morgen` are a time of day."""

SPOKEN_IN: Final = {"hier": "fr", "morgen": "de"}
"""Words that mean something else in another language: read only in a text of their own."""

UNITS: Final = _table(
    """
    day: day|days|tag|tage|tagen|jour|jours|dia|dias|giorno|giorni|dag|dagen
    week: week|weeks|woche|wochen|semaine|semaines|semana|semanas|settimana|settimane|weken
    fortnight: fortnight|fortnights
    weekend: weekend|wochenende|week-end|fin de semana|fim de semana
    month: month|months|monat|monate|monaten|mois|mes|meses|mese|mesi|maand|maanden
    year: year|years|jahr|jahre|jahren|an|ans|annee|annees|ano|anos|anno|anni|jaar|jaren
    """
)
"""What a word for a stretch of the calendar stands for."""
STRETCHES: Final = {word: unit for word, unit in UNITS.items() if unit != "day"}
"""Those that can be the last or the next one: the last day of a journey is no yesterday."""

WEEKDAY_NAMES: Final = {name: number for name, number in WEEKDAYS.items() if name not in SHORT_WEEKDAYS}
"""Weekdays that no text means otherwise, Monday first."""

BEFORE: Final = _numbers(
    """
    -1: last|past|previous|letzte|letzten|letzter|letztes|vorig|vorige|vorigen|voriges|vergangene|vergangenen|afgelopen
     0: this|diese|diesen|dieser|dieses|ce|cet|cette|este|esta|esse|essa|neste|nesta|nesse|nessa|questo|questa|deze
     1: next|coming|nachste|nachsten|nachster|nachstes|kommende|kommenden|kommendes|proximo|proxima
     1: prossimo|prossima|volgend|volgende|komend|komende
    """
)
"""Where a stretch lies, by the word before it: the one before, this one, the one after."""

AFTER: Final = _numbers(
    """
    -1: dernier|derniere|passe|passee|pasado|pasada|passado|passada|scorso|scorsa
     1: prochain|prochaine|proximo|proxima|que viene|que vem|prossimo|prossima
    """
)
"""The same by the word behind it."""

COUNTS: Final = {
    # Longer ones hardly stand before a stretch, and each costs time in the patterns.
    **{fold(word): value for words in WORDS.values() for word, value in words.items() if 0 < value <= 20},
    **{fold(word): value for words in WORDS.values() for word, value in words.items() if value in range(20, 101, 10)},
    **_numbers(
        """
        1: a|an|one|ein|eine|einem|einer|einen|un|une|una|um|uma|uno|een
        2: a couple of
        """
    ),
}
"""Numbers that stand before a stretch."""

ABOUT: Final = (
    "(?:(?:about|almost|nearly|roughly|around|over|more than|at least|just over|some|etwa|fast|rund|ungefahr|uber"
    "|mehr als|gut|knapp|environ|presque|plus de|casi|unos|unas|mas de|quase|cerca de|mais de|quasi|circa|piu di"
    "|ongeveer|bijna|meer dan|ruim) )?"
)
"""Words by which a stretch is not counted exactly."""
FOR_HOW_LONG: Final = (
    r"(?:for )?{about}{count} {unit} now",
    r"(?:been|going on) {about}{count} {unit}(?: since)?",
    r"(?<=\bbeen\b[^.!?;\n]{{0,40}}\b){about}{count} {unit}(?! ago)",
    r"(?:for|over) the (?:last|past) {about}{count} {unit}",
    r"(?<=\b(?:have|has|been|ve)\b[^.!?;\n]{{0,60}}\b)for {about}{count} {unit}",
    r"(?:since|schon|seit|jetzt|nun|depuis|ca fait|cela fait|desde hace|da|al|sinds) {about}{count} {unit}",
    r"(?:llevo|lleva|llevamos|llevan) {about}{count} {unit}",
    r"(?:ha|faz|hace|tem|sono|e) {about}{count} {unit} (?:que|che)",
)
"""How people say since when something has been so."""
AGO: Final = (
    r"{count} {unit} (?:ago|back|atras|fa|geleden)",
    r"(?:vor|il y a|hace|ha|faz) {about}{count} {unit}",
)
AHEAD: Final = (r"{count} {unit} from now", r"(?:in|dans|en|em|dentro de|daqui a|tra|fra) {count} {unit}")
"""How distance from the day is said; the second way ahead can also say how long something took."""

_TURNS: Final = (
    "turn|turns|turned|turning|werde|wird|wurde|geworden|cumplo|cumple|cumpli|cumplio|faco|faz|fiz|fez|compio|compie"
    "|word|wordt|werd"
)
AGES: Final = (
    rf"(?:{_TURNS}) {{count}}(?: (?:anos|anni|jaar|jahre))?",
    r"{count} (?:years old|jahre alt|jaar oud)",
)
"""How an age is told; the second way leaves open whether the birthday was this year."""

EAST_ASIAN: Final = {
    **{word: ("day", n) for word, n in _numbers("-1: 昨日|昨天\n0: 今日|今天\n1: 明日|明天\n2: 明後日|后天").items()},
    **{word: ("week", n) for word, n in _numbers("-1: 先週|上周\n0: 今週\n1: 来週|下周").items()},
    **{word: ("month", n) for word, n in _numbers("-1: 先月|上个月\n0: 今月|这个月\n1: 来月|下个月").items()},
    **{word: ("year", n) for word, n in _numbers("-1: 去年|昨年\n0: 今年\n1: 来年|明年").items()},
}
"""Words of Japanese and Chinese, which have no spaces around them, as a unit and how many of it."""
EAST_ASIAN_AGO: Final = r"(?P<count>\d{1,3}|[一二三四五六七八九十])(?P<unit>日|天|週間|周|[ヶかカ]月|个月|年)(?:半)?前"
EAST_ASIAN_UNITS: Final = {"日": "day", "天": "day", "週": "week", "周": "week", "年": "year"}

ORDINAL: Final = r"(?:(?P<day>\d{1,2})(?:st|nd|rd|th)|(?:dia|am|le) (?P<day>\d{1,2})(?!\d|[.:,/-]\d| (?:uhr|h)\b))"
"""A day of a month that is not named."""

_HALF_YEARS: Final = {
    "6 months": "half a year|(?:ein|einem) halbe[sn] jahr|medio ano|meio ano|mezzo anno|(?:een )?half jaar",
    "18 months": "a year and a half|one and a half years|anderthalb jahren?|eineinhalb jahren?|un an et demi"
    "|(?:un )?ano y medio|(?:um )?ano e meio|un anno e mezzo|anderhalf jaar",
}


def in_whole_months(folded: str) -> str:
    """Return folded text with half years told in months, which can be counted back.

    Example:
        >>> in_whole_months("for a year and a half now")
        'for 18 months now'
    """
    for months, words in _HALF_YEARS.items():
        folded = regex.sub(rf"\b(?:{words})\b", months, folded)
    return folded
