"""What the guards remember of texts: long ones too, and never more than there is room for."""

from dream.guards.patterns import TEXT_ROOM, TextCache


def test_what_was_found_in_a_long_turn_is_not_looked_for_again_with_each_fact_of_it():
    looked: list[str] = []
    found = TextCache(looked.append, room=TEXT_ROOM)
    turn = "def login(): return 302\n" * 2_000

    for _ in range(50):
        found[turn]

    assert looked == [turn]


def test_a_text_that_takes_more_than_a_tenth_of_the_room_is_not_kept_and_drives_nothing_out():
    found = TextCache(len, room=100)

    assert found["Porto"] == 5
    assert found["P" * 11] == 11
    assert list(found) == ["Porto"]


def test_a_full_cache_starts_afresh():
    found = TextCache(len, room=20)

    for text in ("aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj", "kk"):
        found[text]

    assert list(found) == ["kk"]
