"""What the evidence does not prove to the letter is read a second time, by a reader who is checked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from reading import Exchange, careful, changed, item, said, told

from agentcore.domain.evidence import EvidenceVerdict
from dream.domain.reasons import Refused
from dream.domain.rounds import Round, RoundKind
from dream.domain.verification import Assertion
from dream.options import VerificationMode
from dream.passes.second_reading import MOST_STATEMENTS

LISBON = told("Ana lives in Lisbon now.", said("I moved to Lisbon in spring.", after=1))
VAN = told("Rui wants to get a van.", said("If the bank agrees I buy that old van.", "Rui", after=2))
TEA = told("Ines is fond of green tea.", said("Green tea is what keeps me going.", "Ines", after=3))
ALL = (LISBON, VAN, TEA)
TEXTS = tuple(one.text for one in ALL)
ANYBODY = careful()


def agrees(call: Any, _: Any) -> Any:
    return {"readings": [item(handle, "says", one.evidence[0].text) for handle, one in call.handled]}


def denies(call: Any, _: Any) -> Any:
    return {"readings": [item(handle, "not_said") for handle, _ in call.handled]}


def kinds(rounds: Sequence[Round]) -> list[str]:
    return [one.kind.value for one in rounds]


def values(settled: Any) -> tuple[str, ...]:
    return tuple(one.value for one in settled)


async def test_what_a_careful_reader_finds_in_the_evidence_is_taken_with_its_name_and_its_quotes():
    found, rounds = await Exchange(ALL).lived(ANYBODY)
    assert values(found.settled) == TEXTS
    assert kinds(rounds) == ["question", "verification"]
    first = found.settled[0]
    assert (first.verdict, first.verified_by, first.round) == (EvidenceVerdict.VERIFIED, "reader", 2)
    assert first.written_by == "writer"
    assert first.quotes == ("I moved to Lisbon in spring.",)
    assert (found.denied, found.undecided, found.waits) == ((), (), None)


async def test_what_the_evidence_says_itself_is_taken_without_a_second_reading():
    line = said("The ferry leaves at noon.")
    found, rounds = await Exchange([told("the ferry leaves at noon", line)]).lived(ANYBODY)
    assert (found.settled[0].verdict, found.settled[0].verified_by) == (EvidenceVerdict.PROVEN, "host")
    assert found.settled[0].written_by == "writer"
    assert kinds(rounds) == ["question"]


@pytest.mark.parametrize(
    "reader",
    [
        agrees,
        denies,
        lambda _call, _: {"readings": "yes"},
        lambda _call, _: {"readings": [{"id": 7}, "says", None]},
        lambda _call, _: {"readings": []},
        lambda _call, _: {},
        lambda call, _: {"readings": [item(handle, "SAYS!", "x") for handle, _ in call.handled]},
        lambda _call, _: {"readings": [item("s00000", "says", "x")] * 9_999},
    ],
    ids=["agrees with all", "denies all", "no list", "no items", "nothing", "cut off", "no reading", "far too much"],
)
async def test_a_reader_who_fails_the_checks_is_asked_once_more_in_another_order_and_decides_nothing(reader: Any):
    exchange = Exchange(ALL)
    found, rounds = await exchange.lived(reader)
    assert (found.settled, found.denied, found.for_review) == ((), (), ())
    assert (found.undecided, found.waits) == (TEXTS, Refused.VERIFIER_UNRELIABLE)
    assert set(kinds(rounds[1:])) == {"verification"}
    first, second = [await exchange.verified.next_call(rounds[:number]) for number in (1, 2)]
    assert first is not None
    assert second is not None
    assert {handle for handle, _ in first.handled}.isdisjoint(handle for handle, _ in second.handled)


async def test_a_reader_who_fails_once_is_believed_when_it_passes_the_second_time():
    def once(call: Any, request: Any) -> Any:
        return agrees(call, request) if call.number == 2 else ANYBODY(call, request)

    found, rounds = await Exchange(ALL).lived(once)
    assert (values(found.settled), found.waits) == (TEXTS, None)
    assert len(rounds) == 3


def _copies(one: dict[str, Any], assertion: Assertion) -> dict[str, Any]:
    return {**one, "quotes": [assertion.text]}


def _invents(one: dict[str, Any], _: Assertion) -> dict[str, Any]:
    return {**one, "quotes": ["as everybody knows"]}


def _quotes_a_letter(one: dict[str, Any], _: Assertion) -> dict[str, Any]:
    return {**one, "quotes": ["!"]}


def _quotes_nothing(one: dict[str, Any], _: Assertion) -> dict[str, Any]:
    return {**one, "quotes": []}


def _says_nothing(*_: Any) -> None:
    return None


@pytest.mark.parametrize("change", [_copies, _invents, _quotes_a_letter, _quotes_nothing, _says_nothing])
async def test_what_a_reader_calls_said_and_does_not_show_is_read_once_more_and_then_not_taken(change: Any):
    found, rounds = await Exchange(ALL).lived(changed(ANYBODY, change))
    assert (found.settled, found.waits) == ((), None)
    assert found.denied == TEXTS
    assert kinds(rounds).count("verification") == 2
    assert {one.code for one in found.refused} == {Refused.DENIED}


async def test_what_a_reader_left_out_is_read_with_the_next_call():
    def forgetful(call: Any, request: Any) -> Any:
        given = ANYBODY(call, request)["readings"]
        kept = [one for one in given if dict(call.handled)[one["id"]].text != VAN.text]
        return {"readings": kept if call.number == 2 else given}

    found, rounds = await Exchange(ALL).lived(forgetful)
    assert set(values(found.settled)) == set(TEXTS)
    assert [one.round for one in found.settled] == [2, 3, 2]
    assert rounds[2].asked.about == (2,)


async def test_of_two_readings_of_one_statement_the_denial_counts():
    def wavering(call: Any, request: Any) -> Any:
        given = ANYBODY(call, request)["readings"]
        mine = [handle for handle, one in call.handled if one.text == VAN.text]
        return {"readings": [*(item(handle, "contradicts") for handle in mine), *given]}

    found, _ = await Exchange(ALL).lived(wavering)
    assert found.denied == (VAN.text,)


async def test_quoted_records_that_refute_the_statement_by_themselves_do_not_show_it():
    rent = (said("I pay 640 euros.", after=1), said("Before that it was 5700 euros a year."))
    found, _ = await Exchange([told("Ana's rent is 5700 euros.", *rent)]).lived(
        changed(ANYBODY, lambda one, _: {**one, "quotes": ["I pay 640 euros"]})
    )
    assert (found.settled, found.denied) == ((), ("Ana's rent is 5700 euros.",))


async def test_a_clause_without_a_quote_is_not_shown():
    line = said("We sold the boat. My brother drives trucks in Norway.")
    one = told("Ana's family no longer has the boat; her sister teaches music at a school.", line)
    found, _ = await Exchange([one]).lived(changed(ANYBODY, lambda given, _: {**given, "quotes": ["the boat"]}))
    assert found.denied == (one.text,)


async def test_what_only_an_assistant_said_is_shown_by_nothing():
    lines = (said("Shall we say you take up rowing?", None, role="assistant"), said("Perhaps next year.", after=1))
    one = told("Ana takes up rowing.", *lines)
    quoting = changed(ANYBODY, lambda given, _: {**given, "quotes": ["you take up rowing"]})
    found, _ = await Exchange([one]).lived(quoting)
    assert found.denied == (one.text,)


async def test_a_merge_is_shown_only_if_every_source_has_a_quote_and_nothing_is_left_out():
    sources = (
        said("Ana keeps bees in Porto.", None, role="entry"),
        said("Ana offers honey in June.", None, role="entry"),
    )
    merge = told("Ana, who has bees in Porto, sells their honey in June.", *sources, whole=True)
    one_quote = changed(ANYBODY, lambda given, _: {**given, "quotes": ["keeps bees in Porto"]})
    left_out = changed(ANYBODY, lambda given, _: {**given, "leftOut": ["in June"]})
    assert values((await Exchange([merge]).lived(ANYBODY))[0].settled) == (merge.text,)
    assert (await Exchange([merge]).lived(one_quote))[0].denied == (merge.text,)
    found, _ = await Exchange([merge]).lived(left_out)
    assert found.denied == (merge.text,)
    assert "left out: 'in June'" in found.refused[0].detail


async def test_a_source_without_a_word_of_its_own_needs_no_quote():
    sources = (
        said("Ana keeps bees in Porto and sells honey.", None, role="entry"),
        said("Ana keeps bees.", None, role="entry"),
    )
    merge = told("In Porto Ana keeps bees and sells honey.", *sources, whole=True)
    one_quote = changed(ANYBODY, lambda given, _: {**given, "quotes": ["sells honey"]})
    assert values((await Exchange([merge]).lived(one_quote))[0].settled) == (merge.text,)


async def test_refuted_and_denied_items_are_repaired_together_once_with_the_readers_quotes_and_their_records():
    rent = told("Ana pays 7300 euros.", said("I pay 640 euros for the flat."))
    right = {
        1: told("Ana pays 640 euros for the flat.", rent.evidence[0]),
        3: told("Rui buys a van if the bank agrees.", VAN.evidence[0]),
    }
    asked: list[str] = []

    def reader(call: Any, request: Any) -> Any:
        given = careful(VAN.text)(call, request)["readings"]
        denied = {handle for handle, one in call.handled if one.text == VAN.text}
        return {
            "readings": [{**one, "quotes": ["If the bank agrees"]} if one["id"] in denied else one for one in given]
        }

    exchange = Exchange((rent, TEA, VAN), right)
    rounds = [exchange.first]
    while (question := await exchange.verified.next_round(rounds)) is not None:
        if question.kind is RoundKind.REPAIR:
            asked.append(question.request.messages[-1].content)
            rounds.append(Round(exchange.repair(), question.asked, "writer"))
        else:
            call = await exchange.verified.next_call(rounds)
            rounds.append(Round(reader(call, question.request), question.asked, "reader"))
    found = await exchange.verified.outcome(rounds)
    assert kinds(rounds) == ["question", "verification", "repair", "verification"]
    assert set(values(found.settled)) == {TEA.text, *(one.text for one in right.values())}
    assert exchange.shown == [frozenset({"t1", "t3"})]
    (text,) = asked
    assert "If the bank agrees" in text
    assert "7300" in text
    assert TEA.text not in text
    assert (found.notes["repairs"], found.notes["repaired"]) == (1, 2)


async def test_what_is_denied_again_after_its_repair_takes_the_fallback():
    wrong = told("Rui has got himself a van.", VAN.evidence[0])
    found, rounds = await Exchange((VAN,), {1: wrong}).lived(careful(VAN.text, wrong.text))
    assert (found.settled, found.denied) == ((), (wrong.text,))
    assert kinds(rounds) == ["question", "verification", "repair", "verification"]


async def test_nothing_is_read_a_second_time_in_strict_mode_and_a_person_decides():
    found, rounds = await Exchange(ALL, mode=VerificationMode.STRICT).lived(ANYBODY)
    assert (found.settled, found.denied, values(found.for_review), found.waits) == ((), (), TEXTS, None)
    assert {one.verdict for one in found.for_review} == {EvidenceVerdict.UNVERIFIED}
    assert kinds(rounds) == ["question"]


async def test_nothing_is_read_a_second_time_without_verification_and_the_fallback_is_taken():
    found, rounds = await Exchange(ALL, mode=VerificationMode.OFF).lived(ANYBODY)
    assert (found.settled, found.denied, found.for_review, found.waits) == ((), TEXTS, (), None)
    assert kinds(rounds) == ["question"]


async def test_what_was_not_read_yet_waits_and_what_is_decided_is_told_where_it_may_be_made():
    proven = told("The ferry leaves at noon", said("The ferry leaves at noon."))
    exchange = Exchange((*ALL, proven))
    found = await exchange.verified.outcome([exchange.first])
    assert (values(found.settled), found.undecided, found.waits) == ((), TEXTS, Refused.UNVERIFIED)
    in_parts = await replace(exchange.verified, in_parts=True).outcome([exchange.first])
    assert values(in_parts.settled) == (proven.text,)


WORDS = st.sampled_from(["bees", "honey", "Porto", "the ferry", "a van", "tea", "música", "雨", "boat", "school"])


@st.composite
def statements(draw: st.DrawFn) -> Assertion:
    speaker = draw(st.sampled_from(["Ana", "Rui", "Ines", "秀兰"]))
    words = draw(st.lists(WORDS, min_size=2, max_size=6))
    line = said(f"I like {' and '.join(words)}.", speaker, after=draw(st.integers(0, 9)))
    return told(f"{speaker} is fond of {words[0]}, {draw(st.integers(10, 99))} in all.", line)


@settings(max_examples=12, deadline=None)
@given(asked=st.lists(statements(), min_size=1, max_size=24, unique_by=lambda one: one.text), data=st.data())
async def test_the_same_rounds_always_give_the_same_question_however_the_reader_answers(
    asked: list[Assertion], data: st.DataObject
):
    readers = st.sampled_from([agrees, denies, ANYBODY, lambda _call, _: {}, careful(asked[0].text)])
    exchange = Exchange(asked)
    rounds = [exchange.first]
    for _ in range(20):
        question = await exchange.verified.next_round(rounds)
        assert question == await Exchange(asked).verified.next_round(list(rounds))
        if question is None or question.kind is RoundKind.REPAIR:
            break
        call = await exchange.verified.next_call(rounds)
        assert call is not None
        assert len(call.handled) <= MOST_STATEMENTS
        assert len({handle for handle, _ in call.handled}) == len(call.handled)
        rounds.append(Round(data.draw(readers)(call, question.request), question.asked, "reader"))
    found = await exchange.verified.outcome(rounds)
    parts = [*values(found.settled), *found.denied, *found.undecided]
    refuted = [] if found.waits is None else exchange.refuted()
    assert sorted([*parts, *refuted]) == sorted(one.text for one in asked)
