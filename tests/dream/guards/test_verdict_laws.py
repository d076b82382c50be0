"""Laws of the judge of words, for any texts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import assume, given, strategies as st

from dream.guards.verdict import EvidenceText, Verdict, judge

NAMES = ("Ana", "Bo", "Zofia", "Rui")
VERBS = ("pays", "sold", "likes", "needs", "wrote", "found")
THINGS = ("bread", "houses", "a bicycle", "letters", "the old piano", "boats")
PLACES = ("in Porto", "near the church", "at home", "since May", "every week")


@st.composite
def plain_sentences(draw: st.DrawFn) -> str:
    """Return an English sentence that denies nothing and counts something."""
    number = draw(st.integers(min_value=3, max_value=99_999))
    parts = [draw(st.sampled_from(words)) for words in (NAMES, VERBS, THINGS, PLACES)]
    return f"{parts[0]} {parts[1]} {number} {parts[2]} {parts[3]}."


def entries() -> st.SearchStrategy[EvidenceText]:
    return st.builds(
        EvidenceText,
        text=st.one_of(plain_sentences(), st.text(max_size=60)),
        speaker=st.sampled_from([None, "Ana", "Bo"]),
        is_person=st.booleans(),
        said_at=st.one_of(
            st.none(), st.integers(0, 900).map(lambda days: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=days))
        ),
    )


STATEMENTS = st.one_of(plain_sentences(), st.text(max_size=80))
EVIDENCE = st.lists(entries(), max_size=4)
_IN_WORDS = {VERBS[2]: "does not like", VERBS[3]: "does not need", VERBS[0]: "does not pay"}


@given(statement=STATEMENTS, evidence=EVIDENCE, whole=st.booleans(), data=st.data())
def test_judging_is_the_same_each_time_and_in_any_order(
    statement: str, evidence: list[EvidenceText], whole: bool, data: st.DataObject
):
    shuffled = data.draw(st.permutations(evidence))
    first = judge(statement, evidence, whole=whole)
    assert judge(statement, evidence, whole=whole) == first
    again = judge(statement, shuffled, whole=whole)
    assert again.verdict is first.verdict
    assert {str(one) for one in again.details} == {str(one) for one in first.details}


@given(statement=STATEMENTS, evidence=EVIDENCE, more=EVIDENCE)
def test_more_evidence_never_refutes_a_text_by_a_hard_value(
    statement: str, evidence: list[EvidenceText], more: list[EvidenceText]
):
    assume(judge(statement, evidence).verdict is not Verdict.REFUTED)
    found = judge(statement, [*evidence, *more])
    assert all(one.kind == "negation" for one in found.details)


@given(statement=STATEMENTS, evidence=EVIDENCE, more=EVIDENCE)
def test_what_stands_beside_the_evidence_never_refutes(
    statement: str, evidence: list[EvidenceText], more: list[EvidenceText]
):
    assume(judge(statement, evidence).verdict is not Verdict.REFUTED)
    assert judge(statement, evidence, beside=more).verdict is not Verdict.REFUTED


@given(said=plain_sentences(), more=st.lists(plain_sentences(), max_size=3))
def test_a_text_that_is_a_sentence_of_its_evidence_is_proven(said: str, more: list[str]):
    evidence = [EvidenceText(text=text) for text in (said, *more)]
    assert judge(said, evidence).verdict is Verdict.PROVEN
    assert judge(said.upper().rstrip("."), evidence).verdict is Verdict.PROVEN


@given(said=plain_sentences(), data=st.data())
def test_another_digit_is_never_proven(said: str, data: st.DataObject):
    places = [place for place, character in enumerate(said) if character.isdigit()]
    place = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from([one for one in "0123456789" if one != said[place]]))
    changed = f"{said[:place]}{digit}{said[place + 1 :]}"
    assert judge(changed, [EvidenceText(text=said)]).verdict is not Verdict.PROVEN
    assert judge(changed, [EvidenceText(text=said)], whole=True).verdict is not Verdict.PROVEN


@given(said=plain_sentences(), whole=st.booleans())
def test_a_denial_put_in_or_left_out_is_never_proven(said: str, whole: bool):
    name, verb, rest = said.split(" ", 2)
    denied = f"{name} {_IN_WORDS.get(verb, f'never {verb}')} {rest}"
    assert judge(denied, [EvidenceText(text=said)], whole=whole).verdict is Verdict.REFUTED
    assert judge(said, [EvidenceText(text=denied)], whole=whole).verdict is Verdict.REFUTED


@given(said=st.lists(plain_sentences(), min_size=1, max_size=4, unique=True), data=st.data())
def test_all_sentences_of_all_texts_in_any_order_are_proven_and_one_less_is_not(said: list[str], data: st.DataObject):
    evidence = [EvidenceText(text=text) for text in said]
    joined = data.draw(st.permutations(said))
    assert judge(" ".join(joined), evidence, whole=True).verdict is Verdict.PROVEN
    assert judge(" ".join(joined[1:]), evidence, whole=True).verdict is not Verdict.PROVEN


@given(said=plain_sentences(), mark=st.sampled_from(["\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad"]), data=st.data())
def test_format_characters_change_no_verdict(said: str, mark: str, data: st.DataObject):
    place = data.draw(st.integers(0, len(said)))
    evidence = [EvidenceText(text=said)]
    assert judge(f"{said[:place]}{mark}{said[place:]}", evidence).verdict is Verdict.PROVEN
    hidden = [replace(evidence[0], text=f"{said[:place]}{mark}{said[place:]}")]
    assert judge(said, hidden).verdict is Verdict.PROVEN


@given(statement=st.text(max_size=200), evidence=EVIDENCE, whole=st.booleans())
def test_any_text_is_judged(statement: str, evidence: list[EvidenceText], whole: bool):
    judge(statement, evidence, beside=evidence, whole=whole)
