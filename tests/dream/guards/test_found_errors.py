"""The errors that reviews found: none of these falsehoods is proven by words, and none of these rewordings refuted."""

from datetime import UTC, datetime

import pytest

from dream.guards.verdict import EvidenceText, Verdict, judge

DAY = datetime(2025, 5, 8, 12, tzinfo=UTC)  # a Thursday

FALSE: dict[str, tuple[str, ...]] = {
    "a denial dropped": ("Omar may take aspirin.", "I may not take aspirin."),
    "a denial dropped, in German": ("Omar nimmt Aspirin.", "Ich nehme kein Aspirin."),
    "an opposite": ("Omar was fired in May.", "I was hired in May."),
    "an opposite of a switch": ("Omar keeps the heating on at night.", "I keep the heating off at night."),
    "roles swapped": ("Omar owes Bea 20 euros.", "Bea owes me 20 euros."),
    "a plan told as done": ("Omar moved to Malmö.", "I plan to move to Malmö."),
    "a hedge dropped": ("Omar is allergic to nuts.", "I am probably allergic to nuts."),
    "hearsay told as known": ("The firm closes in June.", "Bea says the firm closes in June."),
    "a condition dropped": ("Omar buys the van.", "If the bank agrees, I buy the van."),
    "an exception dropped": ("Omar works every day.", "I work every day but Sunday."),
    "before and after": ("Omar sold the boat before the move.", "I sold the boat after the move."),
    "more and less": ("Omar pays more than Bea.", "I pay less than Bea."),
    "some as all": ("All of the plants died.", "Some of the plants died."),
    "at least as exactly": ("Omar needs three days.", "I need at least three days."),
    "a unit": ("Omar takes 500 g.", "I take 500 mg."),
    "a rate": ("Omar earns 20 euros a day.", "I earn 20 euros an hour."),
    "net and gross": ("Omar earns 2,000 euros gross.", "I earn 2,000 euros net."),
    "per mille": ("The fee is 3 %.", "The fee is 3 ‰."),
    "a half": ("Omar walks 2 km.", "I walk 2½ km."),
    "a superscript": ("The garden has 40 m.", "The garden has 40 m²."),
    "a numeral in Chinese": ("安娜有三只猫。", "我有两只猫。"),
    "a compound number": ("Omar ist einundvierzig.", "Ich bin vierundzwanzig."),
    "a sign that changes the direction": ("Omar lives in \u202eömlaM.", "I live in Malmö."),
    "irony at its word": ("Omar loves Mondays.", "I love Mondays, sure. Not."),
    "a question": ("Omar moves to Malmö.", "Shall I move to Malmö?"),
}
LOST: dict[str, tuple[str, ...]] = {
    "a whole fact": ("Omar works in Malmö.", "Omar must not take aspirin.", "Omar works in Malmö."),
    "a condition": (
        "Omar buys the van and sells the boat.",
        "Omar buys the van if the bank agrees.",
        "Omar sells the boat.",
    ),
    "a date": ("Omar moved to Malmö.", "Omar moved to Malmö in 2019.", "Omar moved."),
}
TRUE: dict[str, tuple[str, str]] = {
    "digits for a number word": ("Omar swims 4 times a week.", "I swim four times a week."),
    "hours for minutes": ("The ride takes one and a half hours.", "The ride takes 90 minutes."),
    "an ordinal": ("Omar lives on the 3rd floor.", "I live on the third floor."),
    "thousands apart": ("The car costs 12.000 euros.", "The car costs 12,000 euros."),
    "a clock": ("The shop opens at 14:00.", "The shop opens at 2 pm."),
    "a title": ("Omar sees Doctor Lima.", "I see Dr. Lima."),
    "a date in words": ("Omar married on 3 May 2024.", "I married on 3.5.2024."),
    "the slash of an address": ("The page is https://norte.example/a.", "The page is https://norte.example/a/."),
    "an opposite denied": ("The door is open.", "The door is not shut."),
    "an age": ("Omar has a ten-year-old son.", "My son is 10 years old."),
    "a version": ("Omar runs v2.1.", "I run 2.1."),
    "a hyphen": ("Omar has no wifi.", "I have no Wi-Fi."),
    "a month in small letters": ("Omar flies in june.", "I fly in June."),
    "a begin reckoned from a duration": ("Omar has played since February 2025.", "I have played for three months now."),
    "a day reckoned": ("Omar saw the dentist on 7 May 2025.", "I saw the dentist yesterday."),
    "a sum": ("The tickets cost 60 euros.", "Two tickets, 30 euros each."),
    "not yet": ("Omar has never tried sushi.", "Sushi? Not yet, never tried it."),
}  # fmt: skip


def said(*texts: str) -> list[EvidenceText]:
    return [EvidenceText(text=text, speaker="Omar", said_at=DAY) for text in texts]


@pytest.mark.parametrize("error", FALSE)
def test_what_is_false_is_not_proven(error: str):
    statement, *texts = FALSE[error]
    assert judge(statement, said(*texts)).verdict is not Verdict.PROVEN


@pytest.mark.parametrize("error", LOST)
def test_a_merge_that_loses_something_is_not_proven(error: str):
    merge, *texts = LOST[error]
    assert judge(merge, [EvidenceText(text=text) for text in texts], whole=True).verdict is not Verdict.PROVEN


@pytest.mark.parametrize("rewording", TRUE)
def test_what_is_true_is_not_refuted(rewording: str):
    statement, text = TRUE[rewording]
    assert judge(statement, said(text)).verdict is not Verdict.REFUTED
