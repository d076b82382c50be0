"""What a statement affirms is held against what its evidence denies, and the other way round."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from dream.guards import EvidenceText, contradiction, taken_up

CASES: list[dict[str, Any]] = [
    orjson.loads(line) for line in (Path(__file__).parent / "data" / "denials.jsonl").read_bytes().splitlines()
]
"""Written while the guard was; the last speaker of each talk is the one the statement is about.

A case with `refuted_by` is refuted by who said it, not by a denial.
"""


def refuted(case: dict[str, Any]) -> bool:
    turns = [("", ""), *case["turns"]]
    said = [
        EvidenceText(text, speaker, before if whose != speaker else "")
        for (whose, before), (speaker, text) in pairwise(turns)
        if speaker != "assistant"
    ]
    return contradiction(case["statement"], said) is not None


@pytest.mark.parametrize(("label", "most"), [("false", 0.05), ("honest", 0.02)])
def test_few_statements_are_judged_wrongly(label: str, most: float):
    cases = [case for case in CASES if case["label"] == label and "refuted_by" not in case]
    wrong = [case["statement"] for case in cases if refuted(case) != (label == "false")]
    assert len(wrong) <= most * len(cases), wrong


def test_the_cases_are_many_and_of_many_languages():
    for label in ("honest", "false"):
        languages = {case["language"] for case in CASES if case["label"] == label}
        assert (len([case for case in CASES if case["label"] == label]) >= 200, len(languages) >= 20) == (True, True)


@pytest.mark.parametrize(
    ("statement", "asked", "said", "holds"),
    [
        ("Ana eats meat.", "", "I don't eat meat but I love fish.", False),
        ("Ana loves fish.", "", "I don't eat meat but I love fish.", True),
        ("Ana has tried sushi.", "Have you ever tried sushi?", "Hmm, let me think. No, never.", False),
        ("Ana has never tried sushi.", "Have you ever tried sushi?", "Not yet.", True),
        ("Ana made no changes.", "Did you change anything?", "Nope", True),
        ("Ana did not give up chess but stuck with it.", "", "I didn't give up chess, I stuck with it.", True),
        ("Ana goes to the gym on Fridays.", "", "I never go on Mondays to the gym, only on Fridays.", True),
        ("Ana has a car.", "", "I have no car.", False),
        ("Ana does not have a car.", "", "I have a car.", False),
        ("Grandpa liked the cake.", "", "Everyone liked the cake except Grandpa.", False),
        ("Ana is unmarried.", "", "I'm not married.", True),
        ("Ana plays the oboe.", "Do you play the oboe?", "If only.", False),
        ("Ana does not play the oboe.", "Do you play the oboe?", "In your dreams!", True),
        ("Ana has not been to Oslo.", "Have you been to Oslo?", "Loads of times", False),
        ("Ana mailed the form.", "", "I forgot to mail the form, of course.", False),
        ("Ana's shed is painted.", "", "The shed is far from painted.", False),
        ("Ana's tent is nice.", "", "The tent is anything but nice.", False),
        ("Ana sees her aunt.", "", "I hardly ever see my aunt.", False),
        ("Ana won the raffle.", "", "We came close to winning the raffle.", False),
        ("Ana fixed the tap.", "", "I tried to fix the tap.", False),
        ("Ana hiked up with a map.", "", "We hiked up the steep side in the rain without a map.", False),
        ("Ana smokes.", "Any habits?", "Tom says I smoke. I don't.", False),
        ("Ana has not read Ulysses.", "", "Everyone praises Ulysses. Haven't read it.", True),
        ("Ana accepted the offer of the bank.", "", "The bank made an offer. I declined.", False),
        ("Ana is a vet.", "", "My wife is a vet, I teach maths.", False),
        ("Ana's wife is a vet.", "", "My wife is a vet, I teach maths.", True),
        ("Ana cycles if it rains.", "", "I cycle unless it rains.", False),
        ("Ana cycles unless it rains.", "", "I cycle unless it rains.", True),
        ("Ana prefers tea to coffee.", "", "Coffee over tea? No, I prefer tea to coffee.", True),
        ("On 3 May 2025 in the evening, the choir did not sing.", "", "The choir didn't sing last evening.", True),
        ("Ana may not run.", "Are you allowed to run again?", "Yes, since Monday.", False),
    ],
)
def test_a_clause_denies_what_it_speaks_of_and_nothing_else(statement: str, asked: str, said: str, holds: bool):
    assert (contradiction(statement, [EvidenceText(said, "Ana", asked)]) is None) == holds


@pytest.mark.parametrize("statement", ["Ana eats meat.", "Ana does not eat meat."])
def test_of_two_that_contradict_each_other_the_later_one_holds(statement: str):
    eats, denies = EvidenceText("I eat meat.", "Ana"), EvidenceText("I don't eat meat.", "Ana")
    affirmed = statement == "Ana eats meat."
    assert (contradiction(statement, [denies, eats]) is None) == affirmed
    assert (contradiction(statement, [eats, denies]) is None) != affirmed


def test_what_another_person_denies_of_themselves_does_not_count():
    said = [EvidenceText("I eat meat.", "Ana"), EvidenceText("I don't eat meat.", "Rui")]
    assert contradiction("Ana eats meat.", said) is None
    assert contradiction("Rui eats meat.", said) is not None


def test_a_denial_that_was_taken_back_in_other_words_refutes_nothing():
    said = [EvidenceText("I don't have a dog.", "Ana"), EvidenceText("Actually, we got one, a beagle!", "Ana")]
    assert contradiction("Ana has a dog, a beagle.", said) is None
    assert contradiction("Ana has a dog, a beagle.", said[:1]) is not None


LOUD, QUIET, LATEST = "No jingles please.", "Leave out the jingles, no jingles at all.", "A jingle again? Please!"


@pytest.mark.parametrize(("statement", "holds"), [("Ana wants jingles.", False), ("Ana wants no jingles.", True)])
def test_what_texts_deny_again_and_again_is_not_wanted(statement: str, holds: bool):
    said = [EvidenceText(text, "Ana") for text in (LOUD, QUIET, LATEST)]
    assert (contradiction(statement, said) is None) == holds


def test_what_many_texts_ask_for_is_not_refused_by_a_statement():
    said = [
        EvidenceText(text, "Ana")
        for text in ("window seat please", "A window seat as always, no aisle", "Window, thanks")
    ]
    assert contradiction("Ana does not want window seats.", said) is not None
    assert contradiction("Ana wants window seats.", said) is None


def test_a_statement_that_tells_of_nothing_but_what_was_taken_back_is_refused():
    said = [
        EvidenceText("The party is in Ghent.", "Ana"),
        EvidenceText("Scratch that, it's in Bruges.", "Ana", "Noted, Ghent."),
    ]
    assert contradiction("Ana's party is in Ghent.", said) is not None
    assert contradiction("Ana's party is in Bruges.", said) is None
    assert contradiction("Ana's party is in Ghent.", said[:1]) is None


@given(one=st.text(max_size=60), other=st.text(max_size=60), asked=st.text(max_size=60))
def test_any_texts_can_be_compared(one: str, other: str, asked: str):
    found = contradiction(one, [EvidenceText(other, "Ana", asked)])
    assert found is None or found


@pytest.mark.parametrize(
    ("reply", "asked", "found"),
    [
        ("Yes, please.", "You like jazz. Shall I book it?", "Shall I book it?"),
        ("Exactly!", "You like jazz. You live in Porto.", "You like jazz. You live in Porto."),
        ("Thanks! I moved.", "You live in Porto.", ""),
        ("I live in Porto, yes.", "You like jazz. You live in Porto.", "You live in Porto."),
        ("Nein.", "Rauchen Sie?", "Rauchen Sie?"),
    ],
)
def test_of_what_others_said_that_counts_which_is_answered_or_said_again(reply: str, asked: str, found: str):
    assert taken_up(reply, asked) == found
