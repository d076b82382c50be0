"""A merge keeps every detail of its sources and adds none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dream.guards import DetailKind, Superseded, Vocabulary, builtin_vocabulary, coverage

_EARLY, _LATE = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)


def _found(sources: list[str], merged: str, **more: Any) -> tuple[list[str], list[str]]:
    told = coverage(sources, merged, builtin_vocabulary(), **more)
    return [item.text for item in told.lost], [item.text for item in told.invented]


def test_a_full_merge_is_accepted():
    sources = ["Ana Silva lives in Porto.", "Ana is a dentist and has two cats."]
    assert coverage(sources, "Ana Silva is a dentist in Porto with two cats.", builtin_vocabulary()).faithful


def test_a_dropped_town_and_person_are_lost():
    sources = ["The invoice from Thornbury was paid.", "Thornbury's invoice was paid by Dagny Holm."]
    assert _found(sources, "The invoice was paid.") == (["Thornbury", "Dagny", "Holm"], [])


def test_a_dropped_date_is_lost_and_a_reformatted_one_is_not():
    sources = ["The lease ends on 2026-12-31."]
    assert _found(sources, "The lease ends.") == (["2026-12-31"], [])
    assert _found(sources, "The lease ends on December 31, 2026.") == ([], [])


def test_a_date_made_coarser_is_lost_and_one_made_finer_is_invented():
    assert _found(["It ended on 3 May 2025."], "It ended in May 2025.") == (["3 May 2025"], [])
    assert _found(["It ended in May 2025."], "It ended on 3 May 2025.") == ([], ["3 May 2025"])


def test_a_date_told_in_two_parts_may_be_put_together():
    assert _found(["It ended on 3 May.", "It ended in 2025."], "It ended on 3 May 2025.") == ([], [])


def test_every_source_counts_and_the_order_is_that_of_the_sources():
    sources = ["a note on Zurich", "a note on Aarhus", "a note on Malmö", "a note on Zurich"]
    assert _found(sources, "a note") == (["Zurich", "Aarhus", "Malmö"], [])


@pytest.mark.parametrize(
    ("source", "merged"),
    [
        ("a note on Ana", "Ana's note"),
        ("a note on the Lanterns", "a Lantern note"),
        ("a note on São Paulo", "a note on Sao Paulo"),
        ("see the API", "see the APIs"),
        ("it starts at 2:00 PM", "it starts at 14:00"),
        ("it costs 1,000 EUR", "it costs €1.000"),
        ("four cards RTX 4090", "4 cards RTX 4090"),
        ("it is hal-07", "it is HAL-07"),
    ],
)
def test_another_spelling_of_the_same_is_accepted(source: str, merged: str):
    assert _found([source], merged) == ([], [])


@pytest.mark.parametrize(
    ("source", "merged", "lost"),
    [
        ("he is 10", "he was born in 2010", "10"),
        ("a note on Ann", "a note on Anna", "Ann"),
        ("it costs 60 euros", "it costs 60 dollars", "60 euros"),
        ("it is 40 seconds", "it is 40 minutes", "40 seconds"),
        ("it is at 2:00", "it is at 14:00", "2:00"),
        ("run `make a`", "run `make b`", "`make a`"),
        ("ask the IT desk", "ask it at the desk", "IT"),
        ("room 4B", "room 4 by the door", "4B"),
    ],
)
def test_what_only_looks_alike_is_not_the_same(source: str, merged: str, lost: str):
    assert lost in _found([source], merged)[0]


def test_a_name_a_number_and_an_address_that_no_source_has_are_invented():
    invented = _found(["She lives in Porto."], "She lives in Porto with Rui, since 2019 (https://a.example).")[1]
    assert invented == ["Rui", "2019", "https://a.example"]


@pytest.mark.parametrize(
    ("source", "merged"),
    [
        ("Ana does not eat meat.", "Ana eats meat."),
        ("Ana never works on Fridays.", "Ana works on Fridays."),
        ("A Ana não come carne.", "A Ana come carne."),
        ("Ana isst kein Fleisch.", "Ana isst Fleisch."),
        ("Ana ne mange pas de viande.", "Ana mange de la viande."),
        ("安娜不吃肉。", "安娜吃肉。"),
        ("アナは肉を食べない。", "アナは肉を食べる。"),
        ("ليلى لا تأكل اللحم.", "ليلى تأكل اللحم."),
        ("Helen stopped smoking.", "Helen smokes."),
    ],
)
def test_a_negation_is_conserved_both_ways(source: str, merged: str):
    lost, invented = (
        coverage([one], other, builtin_vocabulary()) for one, other in ((source, merged), (merged, source))
    )
    assert DetailKind.NEGATION in {item.kind for item in lost.lost}
    assert DetailKind.NEGATION in {item.kind for item in invented.invented}


def test_a_negation_may_move_to_another_word_for_it():
    assert _found(["Ana is not reachable on Fridays."], "On Fridays Ana is unreachable.") == ([], [])
    assert _found(["Ana has no car."], "Ana lives without a car.") == ([], [])


def test_a_negation_that_changes_its_object_is_lost():
    assert coverage(
        ["Ana does not eat meat. Ana eats fish."], "Ana eats meat and does not eat fish.", builtin_vocabulary()
    ).lost


def test_names_and_numbers_are_not_dealt_anew():
    assert _found(["Ana Silva and Rui Costa came."], "Ana Costa and Rui Silva came.")[1] == ["Ana Costa", "Rui Silva"]
    swapped = _found(["Ravi is 34 and Meera is 29."], "Ravi is 29 and Meera is 34.")
    assert swapped == ([], ["Ravi: 29", "Meera: 34"])
    assert _found(["Dr. Silva is in.", "Ana Silva is in."], "Dr. Ana Silva is in.") == ([], [])


def test_numbers_of_an_exempt_category_may_change():
    sources, merged = ["use route Kestrel after 12 failures"], "use route Kestrel after many failures"
    assert coverage(sources, merged, builtin_vocabulary(), category="anti-patterns/routing/x").faithful
    assert not coverage(sources, merged, builtin_vocabulary(), category="general").faithful


def test_an_always_specific_word_beats_a_common_one():
    vocabulary = Vocabulary(common_words=frozenset({"acme", "sage"}), always_specific=frozenset({"sage"}))
    assert [item.text for item in coverage(["ask Acme and Sage"], "ask", vocabulary).lost] == ["Sage"]


def test_a_superseded_value_gives_way_to_a_later_one():
    now = {"superseded": [Superseded(content="Ana lives in Porto.")]}
    assert _found(["Ana lives in Braga now."], "Ana lives in Braga.", **now) == ([], [])
    assert _found(["Ana lives in Braga now."], "Ana moved from Porto to Braga.", **now) == ([], [])


def test_a_superseded_value_stays_where_the_successor_is_not_later():
    old = Superseded(content="Ana lives in Porto.", is_older=False)
    assert _found(["Ana lives in Braga."], "Ana lives in Braga.", superseded=[old])[0] == ["Porto"]


@pytest.mark.parametrize(
    ("source", "merged", "behind", "invented"),
    [
        (
            "We met Ana. We saw Costa too.",
            "We met Ana Costa.",
            ["Friends: Ana Silva.", "Friends: Rui Costa."],
            "Ana Costa",
        ),
        (
            "It was 34 and 29 for Ravi and Meera.",
            "It was for Ravi 34. It was for Meera 29.",
            ["It was for Ravi 29. It was for Meera 34."],
            "Ravi: 34",
        ),
    ],
)
def test_what_the_sources_hold_in_pieces_is_still_held_against_the_texts_behind_them(
    source: str, merged: str, behind: list[str], invented: str
):
    old = [Superseded(content=text) for text in behind]
    assert _found([source], merged)[1] == []
    assert _found([source], merged, superseded=old)[1][:1] == [invented]


def test_a_cited_correction_takes_the_place_of_the_old_value_and_must_be_covered():
    old = Superseded(content="Ana works on Fridays.", correction="No, Ana does not work on Fridays.")
    assert _found([], "Ana does not work on Fridays.", superseded=[old]) == ([], [])
    assert _found([], "Ana works on Fridays.", superseded=[old])[0] != []


def test_a_rare_name_in_a_script_without_capitals_is_conserved():
    def frequency(term: str) -> int:
        return 1 if term in {"王敏", "刘洋"} else 500

    told = coverage(["王敏住在杭州"], "刘洋住在杭州", builtin_vocabulary(), document_frequency=frequency)
    assert ([item.text for item in told.lost], [item.text for item in told.invented]) == (["王敏"], ["刘洋"])
