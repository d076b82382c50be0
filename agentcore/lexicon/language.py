"""Reads the words of a language from its file, `agentcore/lexicon/<code>.toml`.

A file holds lists of words and tables of them. Words are separated by white space, and `~` is a space inside of one:
`the~day~before~yesterday`. Entries marked as patterns below may be regular expressions. Words are in lower case.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from agentcore.errors import InvalidLanguageError

Words = tuple[str, ...]
ByNumber = dict[int, Words]
ByName = dict[str, Words]

INTERNATIONAL: Final = "international"
"""Stands in place of a code for the signs and symbols that every language has."""

_FOLDER: Final = Path(__file__).parent


def _by_number() -> ByNumber:
    return {}


def _by_name() -> ByName:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The words of one language; what it has no words for is empty.

    Args:
        code: Two letters of ISO 639-1, or `INTERNATIONAL`.
        markers: Words that the language cannot do without and that its neighbours lack or seldom use. A text's language
            is recognised by them: one without markers is never recognised, and its words count in texts of an unknown
            language.
        function_words: Articles, pronouns, prepositions and the like: they build sentences and name nothing.
        shared_numbers: Number words that are everyday words of another language.
        stop_words: Words that search leaves out.
        common_words: Words that are no concepts, because texts about anything have them.
        note_words: Words that notes and conversations call themselves by; no concepts either, but people ask for them.
        courtesies: Words of greeting, asking and thanking.
        numbers: Words of one number, by value, ordinals among them.
        ones: Words that are a number behind tens, as in `twenty-one`, and otherwise articles or other words.
        great_numbers: Words that multiply the number before them.
        number_link: The word inside of a number, as in `treinta y uno`.
        number_stems: Beginnings of number words, by value, where these take many endings: a text with one may count
            that many.
        multipliers: Words that multiply digits before them, by the power of ten.
        units: Spellings of each unit.
        months: Names, January being 1.
        ambiguous_months: Those of them that are other words as well.
        weekdays: Names, Monday being 1.
        short_weekdays: Those of them that are other words at the start of a sentence.
        weekday_signs: The character that tells a weekday in Chinese or Japanese.
        places: Words that tell the place of a weekday in its month; -1 is the last.
        next_month: How people say it.
        this_month: How people say it.
        days_from_now: Words for days, by their distance from the day on which it was said.
        not_before_tomorrow: Words behind which a word for tomorrow means the morning.
        spoken_here_alone: Words of `days_from_now` that mean something else in other languages.
        stretches: Words for a day, week, fortnight, weekend, month or year.
        before_stretch: Words before a stretch that say which one it is: -1 the last, 0 this, 1 the next.
        after_stretch: The same behind it.
        counts: Words that count a stretch and are no numbers otherwise: `a week`.
        half_years: Patterns of half a year and of a year and a half, by months.
        about: Words by which a stretch is not counted exactly.
        near_stretches: Words for stretches where none stands before them, such as `-1 week`; in scripts without spaces.
        for_how_long: Patterns of a stretch for which something has been so; in braces `about`, `count` and `unit`.
        since: Words before a stretch for which something has been so.
        so_long_before: The first of two words around such a stretch: `faz dois anos que`.
        so_long_behind: The second of them.
        ago_before: Words before a stretch that is past.
        ago_behind: Words behind it.
        ahead_before: Words before a stretch that is to come, or that something took.
        ahead_behind: Words behind a stretch that is to come.
        turning_age: Words before an age that somebody reaches.
        years_of_age: Words that may stand behind that age.
        years_old: Words behind an age that somebody has.
        day_of_month_before: Words before the number of a day in an unnamed month.
        first_person: Words by which a speaker is the subject.
        first_person_inside: Patterns of them, where they stand inside of a run of letters: in scripts without spaces.
        first_person_object: Words by which a speaker is the object.
        first_person_owner: Words for what is the speaker's.
        second_person: Words by which the one spoken to is subject or object.
        second_person_owner: Words for what is theirs.
        third_person_owner: Words that stand for `Ana's` where Ana was named.
        third_person_self: Words that stand for `myself` then.
        before_verbs: Words that may stand between a subject and its verb.
        third_person: Forms of verbs behind a name, by those behind I and you, where they are irregular.
        not_meant: Patterns by which one sees that something is not meant as it is said, or is so no more.
        negations: Words that deny, whatever language they stand in.
        own_negations: Words that deny in a text of this language.
        without: Words for without.
        yes: Patterns with which an answer that affirms begins.
        weak_yes: Patterns that affirm where nothing stands behind them.
        often: Patterns of answers that tell how often.
        no: Patterns that deny where nothing stands behind them.
        answer_fillers: Patterns before an answer that say nothing.
        subjects: Subjects and the commonest verbs: what has none is no clause.
        titles: Spellings of each title before a name.
        abbreviations: Words whose full stop ends no sentence.
        correction_refusals: Words with which a correction begins.
        correction_polite: Words behind which those are no correction.
        corrections: Patterns that say that something was wrong.
        corrections_inside: The same, where they may begin inside of a run of letters: in scripts without spaces.
        standing_wishes: Phrases of a wish that is to hold on; `*` is any one word of it.
        standing_openings: The same, where they count at the beginning of a clause alone.
        standing_exceptions: Phrases with such words that merely tell, such as `never been`; `...` is all words up
            to the end of the clause.
        standing_inside: The same, where they may stand inside of a run of letters: in scripts without spaces.
        secrets: Words around secrets, by what they tell (`agentcore.secrets.secret_words` says which there are).
        passing: Patterns of words for a moment or a few days, by which a text tells of nothing that lasts.
        hedges: Patterns of words by which a text is a guess.
        reasoning: Patterns of words by which a text tells how somebody came to it.
    """

    code: str
    markers: Words = ()
    function_words: Words = ()
    shared_numbers: Words = ()
    stop_words: Words = ()
    common_words: Words = ()
    note_words: Words = ()
    courtesies: Words = ()
    numbers: ByNumber = field(default_factory=_by_number)
    ones: ByNumber = field(default_factory=_by_number)
    great_numbers: ByNumber = field(default_factory=_by_number)
    number_link: Words = ()
    number_stems: ByNumber = field(default_factory=_by_number)
    multipliers: ByNumber = field(default_factory=_by_number)
    units: ByName = field(default_factory=_by_name)
    months: ByNumber = field(default_factory=_by_number)
    ambiguous_months: Words = ()
    weekdays: ByNumber = field(default_factory=_by_number)
    short_weekdays: Words = ()
    weekday_signs: ByNumber = field(default_factory=_by_number)
    places: ByNumber = field(default_factory=_by_number)
    next_month: Words = ()
    this_month: Words = ()
    days_from_now: ByNumber = field(default_factory=_by_number)
    not_before_tomorrow: Words = ()
    spoken_here_alone: Words = ()
    stretches: ByName = field(default_factory=_by_name)
    before_stretch: ByNumber = field(default_factory=_by_number)
    after_stretch: ByNumber = field(default_factory=_by_number)
    counts: ByNumber = field(default_factory=_by_number)
    half_years: ByNumber = field(default_factory=_by_number)
    about: Words = ()
    near_stretches: ByName = field(default_factory=_by_name)
    for_how_long: Words = ()
    since: Words = ()
    so_long_before: Words = ()
    so_long_behind: Words = ()
    ago_before: Words = ()
    ago_behind: Words = ()
    ahead_before: Words = ()
    ahead_behind: Words = ()
    turning_age: Words = ()
    years_of_age: Words = ()
    years_old: Words = ()
    day_of_month_before: Words = ()
    first_person: Words = ()
    first_person_inside: Words = ()
    first_person_object: Words = ()
    first_person_owner: Words = ()
    second_person: Words = ()
    second_person_owner: Words = ()
    third_person_owner: Words = ()
    third_person_self: Words = ()
    before_verbs: Words = ()
    third_person: ByName = field(default_factory=_by_name)
    not_meant: Words = ()
    negations: Words = ()
    own_negations: Words = ()
    without: Words = ()
    yes: Words = ()
    weak_yes: Words = ()
    often: Words = ()
    no: Words = ()
    answer_fillers: Words = ()
    subjects: Words = ()
    titles: ByName = field(default_factory=_by_name)
    abbreviations: Words = ()
    correction_refusals: Words = ()
    correction_polite: Words = ()
    corrections: Words = ()
    corrections_inside: Words = ()
    standing_wishes: Words = ()
    standing_openings: Words = ()
    standing_inside: Words = ()
    standing_exceptions: Words = ()
    secrets: ByName = field(default_factory=_by_name)
    passing: Words = ()
    hedges: Words = ()
    reasoning: Words = ()


@cache
def language(code: str) -> Language:
    """Return a language; its file is read once.

    Args:
        code: Two letters, or `INTERNATIONAL`; there must be a file of that name.

    Raises:
        InvalidLanguageError: the file cannot be read.

    Example:
        >>> language("fr").months[2], language("en").days_from_now[-2]
        (('février',), ('the day before yesterday',))
    """
    try:
        given = tomllib.loads((_FOLDER / f"{code}.toml").read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InvalidLanguageError(code=code, problem=str(error)) from None
    known = {one.name: one.type for one in fields(Language)}
    unknown = next((name for name in given if name not in known or name == "code"), None)
    if unknown is not None:
        raise InvalidLanguageError(code=code, problem=f"it has the unknown entry {unknown!r}")
    try:
        return Language(code=code, **{name: _READ[known[name]](value) for name, value in given.items()})
    except (AttributeError, ValueError) as error:
        raise InvalidLanguageError(code=code, problem=f"an entry has another form ({error})") from None


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages that have a file, by code, `INTERNATIONAL` among them."""
    return tuple(language(path.stem) for path in sorted(_FOLDER.glob("*.toml")))


@cache
def recognised() -> dict[str, Language]:
    """Return the languages by whose words a text's language is recognised, by code."""
    return {one.code: one for one in languages() if one.markers}


def _words(text: str) -> Words:
    return tuple(word.replace("~", " ") for word in text.split())


def _numbered(table: Mapping[str, str]) -> ByNumber:
    return {int(value): _words(words) for value, words in table.items()}


def _named(table: Mapping[str, str]) -> ByName:
    return {name.replace("~", " "): _words(words) for name, words in table.items()}


_READ: Final = cast("dict[Any, Callable[[Any], Any]]", {Words: _words, ByNumber: _numbered, ByName: _named})
