"""Whether a statement says what was denied, or denies what was said.

A clause of the statement is contradicted if one clause of its evidence says the opposite of more of its content words
than any clause agrees with; of two that say as much, the later one holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from dream.guards.clauses import Clause, ClauseReader, are_alike, content_words, names_in, question_of, sentences_of
from dream.guards.folding import words_in
from dream.guards.languages import AGAIN, ASKING, KIN, QUESTION, TAKES_BACK, TOKEN, UNLESS
from dream.guards.negations import nearly, turns

_HALF: Final = 0.5


def taken_up(text: str, asked: str) -> str:
    """Return which sentences of a text the next one answers or says again; blank if none.

    Args:
        text: The next one.
        asked: What was said before it by somebody else.

    Example:
        >>> taken_up("Yes, please.", "You are allergic to nuts. Shall I send it?"), taken_up("Thanks!", "Eat nuts.")
        ('Shall I send it?', '')
    """
    if not asked:
        return ""
    found = [question_of(asked)] if ClauseReader.of([asked, text]).answers(text) else []
    if found and QUESTION.search(found[0]) is None:
        # "Exactly" to what was told is about all of it.
        return asked
    said = content_words(text)
    for sentence in sentences_of(asked):
        words = content_words(sentence)
        again = sum(any(are_alike(word, other) for other in said) for word in words)
        if again > 1 and again > _HALF * len(words) and sentence not in found:
            found.append(sentence)
    return " ".join(found)


def unanswered(text: str, asked: str) -> str:
    """Return the question of a text that the next one neither answers nor says again; blank if none.

    Args:
        text: The next one.
        asked: What was said before it by somebody else.

    Example:
        >>> unanswered("Ha, the rents!", "Nice. Do you live by the sea?"), unanswered("In May.", "When did you move?")
        ('Do you live by the sea?', '')
    """
    question = question_of(asked)
    open_ended = QUESTION.search(question) is None or ASKING.search(question) is not None
    return "" if open_ended or question in taken_up(text, asked) else question


def denies(text: str) -> bool:
    """Tell whether a text denies anything.

    Example:
        >>> denies("I can't stand it."), denies("I wish!")
        (True, False)
    """
    return any(clause.denies for clause in ClauseReader.of([text]).clauses(text))


_WHO: Final = words_in("user person speaker assistant nutzer nutzerin usuario usuaria utilisateur utente gebruiker")
_PREFIXES: Final = ("un", "in", "im", "ir", "dis", "non")
_ENOUGH: Final = 0.5
_MOSTLY: Final = 0.6
_LONG: Final = 5


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """A text as evidence.

    Args:
        text: What was said.
        speaker: By whom; None if nobody knows.
        asked: What was said before it by somebody else, which a bare "yes" or "no" answers.
    """

    text: str
    speaker: str | None = None
    asked: str = ""


class _EvidenceClause(NamedTuple):
    """A clause of the evidence: its place among the texts, and who said it."""

    clause: Clause
    place: int
    speaker: str | None


class _Rank(NamedTuple):
    """How much a clause of the evidence says of one of the statement; the greater one holds."""

    words: int = 0
    about: int = 0
    is_named: bool = False
    place: int = -1


def contradiction(statement: str, said: Sequence[EvidenceText]) -> str | None:
    """Return what of a statement its evidence contradicts, in words for people; None if nothing.

    Args:
        statement: What a model made of it.
        said: Its evidence, in the order it was said.

    Example:
        >>> fish = EvidenceText("I do not eat meat, but I love fish.", "Ana")
        >>> talk = [fish, EvidenceText("Not yet.", "Ana", "Ever tried sushi?")]
        >>> contradiction("Ana eats meat.", talk)
        "'Ana eats meat', against 'I do not eat meat'"
        >>> contradiction("Ana loves fish.", talk), contradiction("Ana has never tried sushi.", talk)
        (None, None)
    """
    reader = ClauseReader.of([statement, *(text for one in said for text in (one.text, one.asked))])
    speakers = frozenset[str]().union(*(content_words(one.speaker) for one in said if one.speaker))
    clauses = [_without(clause, speakers | _WHO) for clause in reader.clauses(statement)]
    said = [_following(one, said[:place]) for place, one in enumerate(said)]
    told = [
        _EvidenceClause(clause, place, one.speaker)
        for place, one in enumerate(said)
        for clause in reader.clauses(one.text, one.asked)
    ]
    evidence = _standing([_complaint(one, told) for one in told], clauses)
    dated = any(word[0].isdigit() for word in clauses[0].signs) if clauses else False
    if dated and len(clauses) > 1 and clauses[1].negated and content_words(clauses[0].text).isdisjoint(speakers):
        # "On 15 May, the plumber did not come": the day affirms nothing.
        clauses = clauses[1:]
    named = content_words(statement) & speakers
    for clause in clauses:
        found = (
            _against(clause, evidence, named, names_in(statement))
            or _outvoted(clause, evidence)
            or _denied_alone(clause, evidence)
            or _in_doubt(clause, evidence)
        )
        if found is not None:
            return f"{clause.text!r}, {found}"
    return (
        _taken_back(statement, clauses, said)
        or _without_condition(statement, said)
        or _of_another(statement, clauses, told)
    )


def _complaint(one: _EvidenceClause, told: Sequence[_EvidenceClause]) -> _EvidenceClause:
    """Return a clause with what it complains of denied: "That was a musical again", where musicals are not wanted."""
    if not any(AGAIN.search(other.clause.text) for other in told if other.place == one.place):
        return one
    others = [other.clause.signs for other in told if other.place != one.place]
    denied = {word: -1 for word in one.clause.signs if any((_match(word, signs) or 0) < 0 for signs in others)}
    return one._replace(clause=replace(one.clause, signs={**one.clause.signs, **denied}))


def _without_condition(statement: str, said: Sequence[EvidenceText]) -> str | None:
    """Return a condition that a statement turns round, or leaves out where it denies: `I won't go unless it rains`."""
    words = content_words(statement)
    for sentence in (found for one in said for found in sentences_of(one.text) if not UNLESS.search(statement)):
        main, *conditions = UNLESS.split(sentence)
        for condition in conditions:
            has_condition = any(_is_among(word, content_words(condition) - content_words(main)) for word in words)
            has_main = sum(_is_among(word, content_words(main)) for word in words) > _ENOUGH * len(content_words(main))
            if (has_condition and not denies(statement)) or (
                has_main and not has_condition and denies(statement) and denies(main)
            ):
                return f"{statement!r}, against {sentence!r}"
    return None


def _following(one: EvidenceText, earlier: Sequence[EvidenceText]) -> EvidenceText:
    """Return a text with what its speaker said before as what it answers, if a bare "Did you?" stood between."""
    before = next((other.text for other in reversed(earlier) if other.speaker == one.speaker), "")
    return replace(one, asked=before) if one.asked and before and not content_words(question_of(one.asked)) else one


def _taken_back(statement: str, clauses: Sequence[Clause], said: Sequence[EvidenceText]) -> str | None:
    """Return the text that takes back one of which alone a statement tells."""
    words = content_words(statement)
    if any(clause.denies for clause in clauses):
        return None
    for one, later in pairwise(said):
        if one.speaker == later.speaker and _takes_back(later):
            before, now = content_words(one.text), content_words(later.text)
            told = [word for word in words if _is_among(word, before) and not _is_among(word, now)]
            if told and not any(_is_among(word, now) and not _is_among(word, before) for word in words):
                return f"{statement!r}, taken back by {later.text!r}"
    return None


def _takes_back(said: EvidenceText) -> bool:
    return TAKES_BACK.search(said.text) is not None and QUESTION.search(question_of(said.asked)) is None


def _is_among(word: str, others: Iterable[str]) -> bool:
    return any(are_alike(word, other) for other in others)


def _of_another(statement: str, clauses: Sequence[Clause], told: Sequence[_EvidenceClause]) -> str | None:
    """Return a clause on somebody else of whom a statement on the speaker says nothing: `my sister smokes`."""
    first = TOKEN.findall(statement)[:1]
    words = {word for clause in clauses for word in clause.signs}
    most = {True: 0, False: 0}
    found = ""
    for one in told:
        kin = KIN.search(one.clause.text)
        meant = [word for word in words if _is_among(word, one.clause.signs)]
        is_speaker = one.speaker is not None and first == TOKEN.findall(one.speaker)[:1]
        is_other = kin is not None and is_speaker and kin["kin"].casefold() not in statement.casefold()
        if len(meant) > most[is_other]:
            most[is_other] = len(meant)
            found = one.clause.text if is_other else found
    if most[True] > most[False] and most[True] >= _MOSTLY * len(words):
        return f"{statement!r}, against {found!r}"
    return None


def _without(clause: Clause, words: frozenset[str]) -> Clause:
    # Scripts without capitals write particles as one with a name.
    uncased = tuple(word for word in words if word.lower() == word.upper())
    kept = {word: sign for word, sign in clause.signs.items() if word not in words and not word.startswith(uncased)}
    return Clause(clause.text, kept, clause.negated)


def _standing(told: Sequence[_EvidenceClause], clauses: Sequence[Clause]) -> list[_EvidenceClause]:
    """Leave out what a speaker denied and then took back, in a later text of which the statement tells."""
    affirmed = {word for clause in clauses for word, sign in clause.signs.items() if sign > 0}
    corrections = {(one.place, one.speaker) for one in told if one.clause.corrects}
    until: dict[str | None, int] = {}
    for place, speaker in corrections:
        now = [one.clause.signs for one in told if one.place == place]
        if any((_match(word, signs) or 0) > 0 for word in affirmed for signs in now):
            until[speaker] = max(place, until.get(speaker, 0))
    return [one for one in told if one.place >= until.get(one.speaker, 0)]


def _against(
    clause: Clause, evidence: Sequence[_EvidenceClause], named: frozenset[str], names: frozenset[str]
) -> str | None:
    """Return what speaks against one clause of a statement."""
    signs = clause.signs
    met = {word for word in signs if any(_match(word, one.clause.signs) is not None for one in evidence)}
    # A name that nobody said is for the coverage guard to judge.
    asked = len([word for word in signs if word in met or not (word in names or word[0].isdigit())])
    best = worst = _Rank()
    refuting = ""
    for place, one in enumerate(evidence):
        is_named = one.speaker is not None and not named.isdisjoint(content_words(one.speaker))
        for meant in _readings(signs, one.clause):
            if all(word[0].isdigit() for word in meant):
                continue
            balance = sum(sign * meant.get(word, 0) for word, sign in signs.items())
            rank = _Rank(abs(balance), len(meant), is_named, place)
            if balance > 0:
                best = max(best, rank)
            elif balance < 0 and rank > worst and len(meant) >= _ENOUGH * (asked if balance == -1 else len(met)):
                worst, refuting = rank, one.clause.text
    if worst > best:
        return f"against {refuting!r}"
    denied = clause.negated and any(sign < 0 and not turns(word) for word, sign in signs.items())
    if denied and best == _Rank() and not any(one.clause.denies for one in evidence):
        return "which nobody denied"
    return None


def _outvoted(clause: Clause, evidence: Sequence[_EvidenceClause]) -> str | None:
    """Return a word of a clause of which two texts more say the opposite than say the same."""
    for word, sign in clause.signs.items():
        votes: dict[int, int] = {}
        for one in evidence:
            said = None if word[0].isdigit() else _match(word, one.clause.signs)
            if said and sign:
                votes[one.place] = max(votes.get(one.place, -1), said * sign)
        if sum(votes.values()) < -1:
            return f"against what is said of {word!r} again and again"
    return None


def _denied_alone(clause: Clause, evidence: Sequence[_EvidenceClause]) -> str | None:
    """Return a clause that denies a word at once, as `without sugar` does, where no other affirms that word."""
    for word, sign in clause.signs.items():
        said = [match for one in evidence if (match := _match(word, one.clause.signs)) is not None]
        denying = next((one for one in evidence if (_match(word, dict.fromkeys(one.clause.nearest, 1)) or 0) > 0), None)
        if sign > 0 and denying is not None and max(said) < 0:
            return f"against {denying.clause.text!r}"
    return None


def _in_doubt(clause: Clause, evidence: Sequence[_EvidenceClause]) -> str | None:
    """Return what nearly was, or hardly is, of which a clause tells as if it were: `almost won`."""
    signs = {word: sign for word, sign in clause.signs.items() if sign > 0}
    known = [word for word in signs if any(_match(word, one.clause.signs) is not None for one in evidence)]
    unsaid = [word for word in known if not any(_match(word, one.clause.signs) for one in evidence)]
    for one in evidence:
        doubtful = [word for word in unsaid if _match(word, one.clause.signs) is not None]
        if nearly(one.clause.text) and len(doubtful) > _ENOUGH * len(known):
            return f"against {one.clause.text!r}"
    return None


def _readings(signs: Mapping[str, int], clause: Clause) -> Iterator[Mapping[str, int]]:
    """Return what a clause says of some words: by itself, and with what it takes over of the clause before."""
    found = {word: match for word in signs if (match := _match(word, clause.signs)) is not None}
    if found:
        yield found
    more = {word: match for word in signs if word not in found and (match := _match(word, clause.over)) is not None}
    own = [word for word in clause.signs if _match(word, clause.over) is None]
    meant = [_match(word, signs) is not None for word in own]
    # In "not on Mondays, only on Fridays" the one stands in the other's place; "not after six" stands beside it.
    fits = any(_match(word, signs) is None for word in clause.over) or (clause.negated and all(meant) and bool(own))
    if more and (clause.whole or fits) and (any(meant) or not clause.signs):
        yield {**more, **found}


def _match(word: str, signs: Mapping[str, int]) -> int | None:
    """Return what is said of a word: the opposite of what is said of one that a prefix such as `un-` undoes."""
    if word in signs:
        return signs[word]
    for other, sign in signs.items():
        if are_alike(word, other):
            return sign
        if _undoes(word, other) or _undoes(other, word):
            return -sign
    return None


def _undoes(one: str, other: str) -> bool:
    rests = [one.removeprefix(prefix) for prefix in _PREFIXES if one.startswith(prefix)]
    return any(len(rest) >= _LONG and are_alike(rest, other) for rest in rests)
