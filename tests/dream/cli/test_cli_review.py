"""review list, show, approve, reject, and `run --propose`."""

import subprocess
import sys

import orjson
import pytest
from commandline import ROOT, CommandLine, copies_file


@pytest.fixture
def waiting(cli: CommandLine) -> tuple[CommandLine, str]:
    """A scope on which the fold of two equal texts waits."""
    cli.good("import", copies_file(cli.data.parent))
    cli.good("run", "--propose", "--pass", "exact-fold")
    (proposal,) = cli.json("review", "list")["proposals"]
    return cli, proposal["proposal_id"]


def active(cli: CommandLine) -> int:
    return len(cli.json("memories")["entries"])


def test_what_a_run_proposes_is_listed_shown_counted_and_approved(waiting: tuple[CommandLine, str]):
    cli, proposal = waiting
    assert active(cli) == 2
    assert cli.json("status")["proposals"] == {"exact-fold": 1}
    assert "dream --data" in cli.good("status")
    assert proposal in cli.good("review", "list")
    assert proposal in cli.good("review", "list", "--pass", "exact-fold")
    shown = cli.good("review", "show", proposal[:8])
    assert "nothing was changed yet" in shown
    assert "archives" in shown
    document = cli.json("review", "show", proposal)
    assert (document["pass"], document["operation"], len(document["changes"])) == ("exact-fold", "fold", 2)
    report = cli.json("review", "approve", proposal)
    assert (report["kind"], report["changes"], report["target"]) == ("review", 2, proposal)
    assert (active(cli), cli.json("review", "list")) == (1, {"proposals": []})
    assert "review" in cli.good("runs")
    assert f"(review of {proposal})" in cli.good("show", report["run_id"])
    cli.good("undo", report["run_id"])
    assert active(cli) == 2


def test_what_is_rejected_is_gone_for_good(waiting: tuple[CommandLine, str]):
    cli, _ = waiting
    told = cli.good("review", "reject", "--all")
    assert "1 proposal rejected, no dream proposes the same again" in told
    assert "refused" not in told
    assert "Nothing waits for you" in cli.good("review", "approve", "--all")
    cli.good("run", "--pass", "exact-fold")
    assert active(cli) == 2


def test_what_is_meant_has_to_be_said_in_one_way(waiting: tuple[CommandLine, str]):
    cli, proposal = waiting
    assert "`dream review list`" in cli("review", "approve").complaint
    assert "exclude each other" in cli("review", "approve", proposal, "--all").complaint
    assert "fits none that waits" in cli("review", "show", "nobody").complaint
    assert "--propose exclude each other" in cli("run", "--plan", "x", "--propose").complaint
    assert active(cli) == 2


def test_of_two_processes_that_approve_at_once_exactly_one_does(waiting: tuple[CommandLine, str]):
    cli, proposal = waiting
    command = [sys.executable, "-m", "dream", "--data", str(cli.data), "--json", "review", "approve", proposal]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    answers = [process.communicate() for process in both]
    changed = [orjson.loads(out)["changes"] if out else 0 for out, _ in answers]
    assert sorted(changed) == [0, 2]
    assert (active(cli), len(cli.json("runs")["runs"][0]["passes"])) == (1, 1)
