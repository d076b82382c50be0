"""`dream card`: what stands on it, and what a person puts there."""

from commandline import CommandLine


def test_a_person_puts_lines_on_the_card_and_takes_them_off(cli: CommandLine):
    cli.good("remember", "Ana lives in Porto.")
    assert cli.good("card") == "The card is empty.\n"
    cli.good("card", "IDENTITY: Name is Ana.", "--why", "She said so.")
    told = cli.good("card")
    assert "IDENTITY: Name is Ana." in told
    assert "1 of 40 lines." in told
    (line,) = cli.json("card")["lines"]
    cli.good("card", "identity: Name is Ana Lima.", "--instead-of", line["id"][:8])
    assert [one["content"] for one in cli.json("card")["lines"]] == ["Name is Ana Lima."]
    (line,) = cli.json("card")["lines"]
    cli.good("card", "--remove", line["id"])
    assert cli.json("card")["lines"] == []
    history = cli.good("card", "--history")
    assert "IDENTITY: Name is Ana Lima." in history
    assert "superseded by" in history
    cli.good("undo", cli.json("runs")["runs"][0]["run_id"])
    assert [one["content"] for one in cli.json("card")["lines"]] == ["Name is Ana Lima."]


def test_a_line_that_no_card_can_have_is_refused_in_a_sentence(cli: CommandLine):
    assert "begin it with one of IDENTITY" in cli("card", "MOOD: Is tired.").complaint
    assert "it has 201 characters; write at most 200" in cli("card", "IDENTITY: " + "a" * 201).complaint
