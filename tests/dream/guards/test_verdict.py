"""What the judge of words finds of single texts."""

from datetime import UTC, datetime

import pytest

from dream.guards.verdict import EvidenceText, Verdict, judge

SATURDAY = datetime(2025, 6, 14, 9, tzinfo=UTC)


def said(*texts: str, speaker: str | None = "Ana", is_person: bool = True) -> list[EvidenceText]:
    return [EvidenceText(text=text, speaker=speaker, is_person=is_person, said_at=SATURDAY) for text in texts]


def entries(*texts: str) -> list[EvidenceText]:
    return said(*texts, speaker=None)


def verdict(statement: str, evidence: list[EvidenceText], *, whole: bool = False) -> Verdict:
    return judge(statement, evidence, whole=whole).verdict


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("ana PAYS sixty euros", "Ana pays sixty euros."),
        ("Ana pays 60 euros.", "Ana pays \uff16\uff10\u200b euros!"),
        ("Ana lives in Porto.", "I live in Porto."),
        ("Ana doesn't eat meat.", "I don't eat meat."),
        ("Ana really likes her job.", "I really like my job."),
        ("Ana's sister never tries fish.", "My sister never tries fish."),
        ("Ana wollte nach Rom.", "Ich wollte nach Rom."),
        ("Ana住在北京。", "我住在北京。"),
        ("Ana is 30.", "I am 30."),
        ("Ana moved to Rome. Ana loves her new flat.", "I moved to Rome. I love my new flat."),
    ],
)
def test_a_sentence_of_the_evidence_is_proven_up_to_case_punctuation_digits_and_who_speaks(statement: str, text: str):
    assert verdict(statement, said(text)) is Verdict.PROVEN


@pytest.mark.parametrize("speaker", ["Person0", "ana_92", "ana@example.com", "PC-7"])
def test_the_name_of_a_speaker_is_no_made_up_code(speaker: str):
    talk = said("I moved to house number 12.", speaker=speaker)
    assert verdict(f"{speaker} now lives in house number 12.", talk) is Verdict.UNDECIDED
    assert verdict(f"{speaker} now lives in house number 88.", talk) is Verdict.REFUTED
    assert verdict("Person1 now lives in house number 12.", talk) is Verdict.REFUTED


def test_a_number_in_the_name_of_a_speaker_counts_nothing():
    assert verdict("User 17 has 17 cats.", said("I have cats.", speaker="User 17")) is Verdict.REFUTED


def test_you_is_the_other_one_where_exactly_two_speak():
    talk = [*said("You owe me 20 euros."), *said("Fine.", speaker="Bo")]
    assert verdict("Bo owes Ana 20 euros.", talk) is Verdict.PROVEN
    assert verdict("Bo owes Ana 20 euros.", [*talk, *said("Me too.", speaker="Cy")]) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("I stay home.", "If it rains, I stay home."),
        ("I stay home.", "If it rains\nI stay home."),
        ("I hate fish.", "My sister said: I hate fish."),
        ("I hate fish.", '"Listen. I hate fish. Really." That is what she said.'),
        ("I love Mondays.", "I love Mondays. Yeah right."),
        ("I love Mondays.", "I love Mondays 🙃 so much. I love Mondays."),
        ("Ana moves to Rome.", "I move to Rome. Maybe."),
        ("Ana moves to Rome.", "Worst case. I move to Rome."),
        ("I drink.", "My favourite song: I smoke. I drink. I live."),
        ("I drink.", "He said, 'I smoke. I drink. I live.'"),
        ("It is 5 degrees.", "It is \u22125 degrees."),
        ("I smoke.", "Do I smoke?"),
        ("I smoke.", "I smoke. Well, not any more."),
        ("I live in Rome.", "I live in Rome. Just kidding."),
        ("Eat meat.", "Never:\n- eat meat.\n- smoke."),
        ("Ana likes dogs.", "I like my dog."),
        ("Bo lives in Porto.", "I live in Porto."),
        ("I live there.", "Imagine I move to Rome. I live there."),
    ],
)
def test_what_is_lifted_out_of_a_condition_an_attribution_irony_or_a_question_is_not_proven(statement: str, text: str):
    assert verdict(statement, said(text)) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "later", ["Actually, it is Lisbon.", "Not any more.", "No, that was last year.", "Nein, doch nicht."]
)
def test_what_a_later_turn_may_take_back_is_not_proven(later: str):
    assert verdict("I live in Porto.", said("I live in Porto.")) is Verdict.PROVEN
    assert verdict("I live in Porto.", said("I live in Porto.", later)) is Verdict.UNDECIDED


def test_what_an_assistant_said_proves_nothing_and_refutes_nothing():
    told = said("Ana pays 60 euros.", speaker="Assistant", is_person=False)
    assert verdict("Ana pays 60 euros.", told) is Verdict.UNDECIDED
    assert verdict("Ana pays 61 euros.", told) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Ana pays 430 dollars.", "I pay 340 dollars."),
        ("Ana moved on 16 March 2024.", "I moved on 14 March 2024."),
        ("Ana uses port 9434.", "I use port 9443."),
        ("Ana wrote to b@example.org.", "I wrote to a@example.org."),
        ("Ana runs `make clean`.", "I run `make check`."),
        ("Ana owns house 12C.", "I own house 12B."),
        ("Ana moved to Lisbon.", "I moved to Porto."),
        ("Ana carries 61 kg.", "I carry 61 litres."),
        ("Ana eats meat.", "I don't eat meat."),
        ("Ana does not eat meat.", "I eat meat."),
    ],
)
def test_a_hard_value_that_nothing_gives_and_a_flat_denial_refute(statement: str, text: str):
    assert verdict(statement, said(text)) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Ana pays 720 euros a year.", "I pay 60 euros a month."),
        ("Ana went on 13 June 2025.", "I went yesterday."),
        ("Ana has 25 cousins.", "Mam dwadzieścia pięć kuzynek."),
        ("Ana's rent is 1,400.", "我的房租一千四。"),
        ("It takes Ana 500 minutes.", "It takes me eight hours and twenty minutes."),
        ("Ana was born in 1991.", "I am 34."),
        ("Ana runs 5,000 metres.", "I run five kilometres."),
        ("Ana ate 80 % of it.", "我打八折。"),
        ("Ana met Zofia.", "I met Zosia."),
        ("Ana has a 10-A-Automat.", "I have an old Automat, 10 A."),
        ("Ana camps from 5 to 12 August 2025.", "I camp from Saturday 5 to Saturday 12 August."),
        ("Ana met Иван.", "I met Ivan."),
        ("Ana arrives at 15:00.", "I arrive at three."),
        ("Ana pays about 1,000.", "I pay 985."),
    ],
)
def test_what_was_shown_yields_refutes_nothing(statement: str, text: str):
    assert verdict(statement, said(text)) is Verdict.UNDECIDED


def test_a_value_that_stands_beside_the_evidence_refutes_nothing_and_proves_nothing():
    beside = said("The rent is 985.", speaker="Bo")
    assert judge("Ana pays 985.", said("I pay that."), beside=beside).verdict is Verdict.UNDECIDED
    assert judge("The rent is 985.", said("I pay that."), beside=beside).verdict is Verdict.UNDECIDED


def test_a_denial_that_somebody_said_too_refutes_nothing():
    assert verdict("Ana does not eat meat.", said("I eat meat.", "I do not eat meat.")) is Verdict.UNDECIDED


def test_a_merge_is_proven_if_it_is_all_sentences_of_all_texts_once():
    texts = entries("Ana has a dog. It is old.", "Ana lives in Porto.", "Ana lives in Porto")
    assert verdict("Ana lives in Porto. Ana has a dog. It is old.", texts, whole=True) is Verdict.PROVEN
    assert verdict("Ana has a dog. It is old.", texts, whole=True) is Verdict.UNDECIDED
    assert verdict("Ana has a dog. Ana lives in Porto. It is old.", texts, whole=True) is Verdict.UNDECIDED
    assert verdict("Ana has a dog. It is old. Ana lives in Porto. It is.", texts, whole=True) is Verdict.UNDECIDED


def test_a_merge_of_entries_that_deny_each_other_is_not_proven():
    texts = entries("Ana eats meat.", "Ana does not eat meat.")
    assert verdict("Ana eats meat. Ana does not eat meat.", texts, whole=True) is Verdict.UNDECIDED


def test_the_steps_of_a_skill_keep_their_order():
    steps = entries("Tea\n1. Boil water.\n2. Warm the pot.\n3. Pour.")
    assert verdict("Tea\n- Boil water.\n- Warm the pot.\n- Pour.", steps, whole=True) is Verdict.PROVEN
    assert verdict("Tea\n1. Warm the pot.\n2. Boil water.\n3. Pour.", steps, whole=True) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("text", "lost"),
    [("Ana's port is 2222 and she lives in Porto.", "2222"), ("Ana in Porto was born on 3 May 1990.", "3 May 1990")],
)
def test_a_merge_that_loses_a_hard_value_is_refuted_by_it(text: str, lost: str):
    found = judge("Ana lives in Porto.", entries(text), whole=True)
    assert found.verdict is Verdict.REFUTED
    assert lost in str(found.details[0])
    assert verdict("Ana lives in Porto.", entries(text)) is Verdict.UNDECIDED


def test_nothing_said_proves_nothing():
    assert verdict("", said("")) is Verdict.UNDECIDED
    assert verdict("", [], whole=True) is Verdict.UNDECIDED
    assert verdict("Ana smokes.", []) is Verdict.UNDECIDED
