"""`dream hypotheses`, `dream claims` and `dream reflect`."""

import json
from pathlib import Path

from commandline import CommandLine

HIVES = "Ana sold her beehives in Porto"
FLAT = "The flat in Porto has no garden for beehives"
OTHERS = ("Rui plays chess on Sundays", "The boiler is checked each autumn", "Bo learns Finnish at night school")


def test_a_person_sees_a_guess_confirms_it_and_takes_that_back(cli: CommandLine, tmp_path: Path):
    told = [{"content": HIVES, "created_at": "2025-05-01T10:00:00Z"}]
    told += [{"content": text, "created_at": "2025-06-01T10:00:00Z"} for text in (FLAT, *OTHERS)]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    cli.good("import", str(file))
    assert "Nothing was guessed." in cli.good("hypotheses")
    run = cli.json("hypotheses", "run")["run_id"]
    (found,) = cli.json("hypotheses")["hypotheses"]
    assert (found["status"], found["cycle_run_id"]) == ("proposed", run)
    name = found["dream_id"][:8]
    assert "unproven" in cli.good("hypotheses", "list", "--state", "proposed")
    assert "rarity=" in cli.good("hypotheses", "show", name)
    assert "is no memory but a hypothesis." in cli.good("why", found["dream_id"])
    assert name not in cli.good("recall", "beehives")
    assert f"Related guesses, unproven:\n{name}" in cli.good("recall", "beehives", "--related-dreams", "1")
    told = cli.good("hypotheses", "resolve", name, "promote_candidate", "--feedback", "Ana lives in Porto.")
    assert "promoted, nothing speaks against it" in told
    assert "It is promoted already" in cli.good(
        "hypotheses", "resolve", name, "promote_candidate", "--feedback", "Ana lives in Porto."
    )
    assert [one["state"] for one in cli.json("claims")["claims"]] == ["promoted"]
    assert "Ana lives_in Porto" in cli.good("claims")
    cli.good("undo", cli.json("runs")["runs"][0]["run_id"])
    assert cli.json("claims")["claims"] == []
    assert cli.json("reflect")["undecided"] == 1
    assert "1  undecided" in cli.good("reflect")


def test_a_person_takes_a_claim_through_its_gate_and_answers_what_it_asks(cli: CommandLine):
    for place in ("Acme", "Globex"):
        cli.good("remember", f"Ana works at {place}.")
        entry = cli.json("recall", place)["hits"][0]["entry"]["id"]
        cli.good("claims", "assert", "Ana", "works_at", place, "--source", f"entry:{entry}")
        claim = next(one["id"] for one in cli.json("claims")["claims"] if one["object"] == place)
        assert "entailed" in cli.good("claims", "verify", claim[:8])
        assert ("asked" in cli.good("claims", "promote", claim[:8])) == (place == "Globex")
    asked = cli.good("questions")
    assert f"keep {claim[:8]}" in asked
    assert "distinct" not in asked
    question = cli.json("questions")["questions"][0]["id"]
    assert '"Ana works at Globex."' in cli.good("answer", question[:8], "keep", claim[:8])


def test_a_claim_is_taken_from_some_of_the_words_of_a_memory(cli: CommandLine):
    cli.good("remember", "He told me that Ana works at Acme, and she is glad.")
    entry = cli.json("recall", "Acme")["hits"][0]["entry"]["id"]
    taken = ("claims", "assert", "Ana", "works_at", "Acme", "--source", f"entry:{entry}")
    told = ("--quote", "Ana works at Acme", "--when", "2024", "--confidence", "0.8")
    (claim,) = cli.json(*taken, *told)["claims"]
    assert (claim["quote"], claim["subject_time"], claim["confidence"]) == ("Ana works at Acme", "2024", 0.8)
    assert cli.json(*taken, "--negated")["claims"][0]["negated"] is True
    assert "it does not stand in" in cli(*taken, "--quote", "Ana works at Globex").complaint
    assert "0 to 1" in cli(*taken, "--confidence", "2").complaint
    assert len(cli.json("claims")["claims"]) == 2


def test_what_is_missing_is_said_in_a_sentence(cli: CommandLine):
    cli.good("remember", HIVES)
    assert "write show ID" in cli("hypotheses", "show").complaint
    assert "none in this scope" in cli("hypotheses", "show", "nothing").complaint
    assert "write verify ID" in cli("claims", "verify").complaint
    assert "write assert SUBJECT" in cli("claims", "assert", "Ana", "works_at", "Acme").complaint
    assert "give 0 to 20" in cli("recall", "Ana", "--related-dreams", "21").complaint
    assert "write reinforce" in cli("hypotheses", "resolve", "nothing").complaint
