"""`dream peers`: sessions of several peers, through the command."""

import pytest
from commandline import CommandLine


@pytest.fixture
def club(cli: CommandLine) -> CommandLine:
    """A command line in the workspace `club`, where Ana and a guide who observes others take part in `trip`."""
    cli.good("--scope", "club/*/*", "peers", "join", "trip", "ana")
    cli.good("--scope", "club/*/*", "peers", "join", "trip", "guide", "--observe-others")
    return cli


def peers(cli: CommandLine, *arguments: str) -> dict:
    return cli.json("--scope", "club/*/*", "peers", *arguments)


def test_the_list_tells_who_observes_whom(club: CommandLine):
    told = club.good("--scope", "club/*/*", "peers", "join", "trip", "cleo", "--observe-me", "off")
    assert "ana: observed by guide" in told
    assert "cleo: nobody learns from what it says" in told
    assert [one["name"] for one in peers(club, "list", "trip")["peers"]] == ["ana", "cleo", "guide"]
    assert [one["name"] for one in peers(club, "leave", "trip", "cleo")["peers"]] == ["ana", "guide"]
    assert "Nobody takes part" in club.good("peers", "list", "trip")


def test_observers_have_what_was_said_when_the_command_has_ended(club: CommandLine):
    said = peers(club, "say", "trip", "ana", "I am allergic to walnuts.", "--at", "2025-06-14T09:00:00Z")
    assert (said["scope"], said["observers"]) == ("club/ana/ana", ["guide"])
    (talk,) = club.json("--scope", "club/guide/ana", "sessions")["sessions"]
    assert (talk["session"], talk["turns"]) == ("trip", 1)


def test_a_peer_that_may_not_be_observed_is_not_where_its_session_says_nothing(club: CommandLine):
    assert "may be observed" in club.good("--scope", "club/*/*", "peers", "observe", "ana")
    assert peers(club, "observe", "ana", "off")["observe_me"] is False
    assert peers(club, "say", "trip", "ana", "A secret of mine.")["observers"] == []
    assert peers(club, "observe", "ana", "inherit")["observe_me"] is None
    assert peers(club, "say", "trip", "ana", "Tell everybody.")["observers"] == ["guide"]


def test_a_session_is_switched_in_all_scopes_of_its_workspace(club: CommandLine):
    peers(club, "say", "trip", "ana", "Hello.")
    told = club.json("switch", "learning", "off", "--session-id", "trip", "--all-of", "club")
    assert (told["level"], told["learning"]) == ("shared_session", False)
    assert "the session trip in all of the workspace club" in club.good(
        "switch", "learning", "inherit", "--session-id", "trip", "--all-of", "club"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["leave", "trip", "nobody"],
        ["say", "trip", "nobody", "Hello."],
        ["say", "trip", "ana", " "],
        ["say", "trip", "ana", "Hello.", "--at", "yesterday"],
        ["join", "trip", "a/b"],
        ["join", " ", "ana"],
        ["observe", "ana", "maybe"],
    ],
)
def test_a_mistake_is_told_in_one_sentence_and_changes_nothing(club: CommandLine, arguments: list[str]):
    before = peers(club, "list", "trip")
    told = club("--scope", "club/*/*", "peers", *arguments)
    assert told.code == 2
    assert told.complaint.endswith(".")
    assert peers(club, "list", "trip") == before
