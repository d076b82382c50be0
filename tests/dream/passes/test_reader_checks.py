"""Canaries are false beyond doubt and controls true beyond doubt, in every language, and look like what is asked."""

import re
from pathlib import Path

import orjson
import pytest
from reading import said, told

from dream.domain.verification import Assertion
from dream.guards.verdict import Verdict, judge
from dream.passes.reader_checks import CANARIES, CONTROLS, checks_of
from dream.passes.second_reading import VerificationCall, evidence_text
from tests.bench.second_readings import batches, statements

LISBON = told("Ana lives in Lisbon since spring.", said("I moved to Lisbon when spring came.", after=1))
VAN = told("Rui sold his yellow caravan.", said("The yellow caravan is gone, somebody bought it.", "Rui", after=2))
FILE = Path(__file__).parents[3] / "directives" / "verify-checks.json"


def texts(given: tuple[Assertion, ...]) -> list[str]:
    return [one.text for one in given]


def test_a_statement_is_told_of_somebody_who_said_something_else():
    found = checks_of([LISBON, VAN], 2)
    assert texts(found.canaries) == ["Rui lives in Lisbon since spring.", "Ana sold his yellow caravan."]
    both, other = (one.evidence for one in found.canaries)
    assert (both, other) == ((*LISBON.evidence, *VAN.evidence), LISBON.evidence)


@pytest.mark.parametrize(
    "other",
    [
        told("Rui sold his caravan.", said("Ana and I sold the yellow caravan.", "Rui", after=2)),
        told("Rui met Ana.", *LISBON.evidence),
        told("Rui lives in Lisbon.", said("Lisbon is where I moved when spring came.", "Rui", after=2)),
    ],
    ids=["who is named there", "the same record", "much the same words"],
)
def test_a_statement_is_not_told_of_somebody_it_may_be_true_of(other: Assertion):
    for number in range(4):
        swapped = texts(checks_of([LISBON, other], number).canaries)
        assert not {"Rui lives in Lisbon since spring.", "Ana sold his caravan."} & set(swapped)


def test_nobody_who_is_heard_or_named_in_the_evidence_of_a_statement_takes_its_place():
    together = told("Ana moved to Lisbon in spring.", said("We moved to Lisbon in spring, Rui!"), said("Yes!", "Rui"))
    for number in range(4):
        assert "Rui moved to Lisbon in spring." not in texts(checks_of([together, VAN], number).canaries)


@pytest.mark.parametrize("text", ["Ana pays 6400 euros.", "安娜付6400欧元。", "آنا تدفع ٦٤٠٠ يورو."])
def test_a_number_is_changed_to_one_that_nothing_gives_in_its_own_digits(text: str):
    one = told(text, said("I pay 6400 euros for it, 12000 with the garage.", "-"))
    (changed, _) = texts(checks_of([one], 2).canaries)
    assert judge(changed, [evidence_text(line) for line in one.evidence]).verdict is Verdict.REFUTED
    assert re.sub(r"\d", "0", changed) == re.sub(r"\d", "0", text)


def test_a_merge_is_told_without_one_of_its_sentences_and_in_full_as_a_control():
    sources = (
        said("Ana keeps bees.", None, role="entry"),
        said("The honey goes to the school in Braga every autumn.", None, role="entry"),
    )
    merge = told("Ana keeps bees, and their honey goes to a school in Braga.", *sources, whole=True)
    found = checks_of([merge], 2)
    assert found.canaries[0] == told("Ana keeps bees.", *sources, whole=True)
    controls = {one.text for number in range(4) for one in checks_of([merge], number).controls}
    assert "Ana keeps bees. The honey goes to the school in Braga every autumn." in controls


def test_what_is_proven_by_one_plain_sentence_serves_as_a_control():
    plain = told("Ana moved to Lisbon.", said("I moved to Lisbon."))
    taken_back = told("Ana moved to Lisbon.", said("I moved to Lisbon. No, I made that up."))
    assert plain in {one for number in range(4) for one in checks_of([VAN], number, [plain]).controls}
    assert taken_back not in {one for number in range(4) for one in checks_of([VAN], number, [taken_back]).controls}


@pytest.mark.parametrize("row", orjson.loads(FILE.read_bytes()), ids=lambda row: row["language"])
def test_where_no_canary_can_be_made_an_example_in_the_language_of_the_call_serves(row: dict[str, str]):
    asked = told(row["true"], said(row["said"], "X"))
    found = checks_of([asked], 2)
    assert set(texts(found.canaries)) == set(row["false"])
    assert texts(found.controls) == [row["true"]]


def test_a_call_without_statements_has_no_checks():
    assert checks_of([], 2).canaries == ()


def test_every_call_about_the_labelled_statements_has_its_checks_and_nothing_tells_them_apart():
    dealt = batches(statements("development"))
    for batch in dealt[::6]:
        asked = [one.assertion for one in batch]
        call = VerificationCall.of(list(enumerate(asked, 1)), 2)
        assert (len(call.canaries), len(call.controls)) == (CANARIES, CONTROLS)
        assert not {*call.canaries} & {*asked}
        handles = [handle for handle, _ in call.handled]
        assert len(set(handles)) == len(handles) == len(set(asked)) + CANARIES + CONTROLS
        again = VerificationCall.of(list(enumerate(asked, 1)), 3)
        assert not set(handles) & {handle for handle, _ in again.handled}
