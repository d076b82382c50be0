"""usage, and the alarm that run and status show."""

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from commandline import CommandLine

from agentcore.clock import SystemClock
from agentcore.domain import Scope, to_micros
from agentcore.llm import ChatMessage, ChatRequest, ChatRole, Completion, FailedTry, FinishReason, TryFailure, Usage
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage
from dream.domain import NextRound
from dream.stores import dream_stores
from dream.stores.calls import CallKey

REQUEST = ChatRequest(messages=(ChatMessage(ChatRole.USER, "Hi"),), max_output_tokens=9, purpose="x")


def _paid(cli: CommandLine, *, begun: int = 0) -> None:
    """Leave three calls of two passes behind, of which one failed and one is two days old; and some that were begun."""

    def pay(unit: UnitOfWork) -> None:
        calls = dream_stores(unit).calls
        for place, (name, given) in enumerate([("mining", 1_000), ("mining", 70), ("merging", 5)]):
            tries = (FailedTry(failure=TryFailure.TIMED_OUT, usage=Usage(input_tokens=30, output_tokens=2)),)
            completion = Completion(
                text="{}",
                finish_reason=FinishReason.STOP,
                usage=Usage(input_tokens=given, output_tokens=10),
                model="scripted",
                failed_tries=tries if name == "merging" else (),
            )
            key = CallKey(run_id="r", pass_name=name, batch_key=str(place), round=1)
            calls.save(key, asked=NextRound(REQUEST), completion=completion, record_ids=(), since=calls.forgets())
        for place in range(begun):
            key = CallKey(run_id="r", pass_name="mining", batch_key=f"begun {place}", round=1)
            calls.begin(key, Usage(input_tokens=100, output_tokens=9), model="")

    async def write() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        await storage.write(Scope.default(), pay)
        await storage.stop()

    cli.known("Ana likes tea")
    asyncio.run(write())
    with sqlite3.connect(cli.database) as connection:
        two_days = to_micros(datetime.now(UTC) - timedelta(days=2))
        connection.execute("UPDATE model_calls SET answered_at = ? WHERE input_tokens = 1000", (two_days,))


def test_usage_tells_what_all_scopes_cost_today(cli: CommandLine):
    _paid(cli)
    (cli.data / "agentcore.toml").write_text("[dreaming.model]\nhost_calls_per_day = 9\n", "utf-8")
    assert "All scopes of the host today (UTC): 3 calls of 9, 127 tokens." in cli.good("usage")
    assert cli.json("usage", "--all-scopes")["host_today"]["most_calls"] == 9


def test_usage_tells_of_calls_that_have_no_answer(cli: CommandLine):
    _paid(cli, begun=2)
    spent = {"calls": 6, "failed": 3, "input_tokens": 1_305, "output_tokens": 50}
    assert cli.json("usage")["total"] == spent | {"unanswered": 2, "unanswered_tokens": 218}
    assert "2 calls without an answer, about 218 tokens" in cli.good("usage")


def test_usage_tells_days_passes_and_models_apart(cli: CommandLine):
    _paid(cli)
    document = cli.json("usage")
    today = datetime.now(UTC).date()
    assert [(row["day"], row["pass"], row["calls"], row["failed"]) for row in document["usage"]] == [
        (str(today - timedelta(days=2)), "mining", 1, 0),
        (str(today), "merging", 2, 1),
        (str(today), "mining", 1, 0),
    ]
    assert document["total"] == {"calls": 4, "failed": 1, "input_tokens": 1_105, "output_tokens": 32}
    assert document["tokens_left_today"] == 2_000_000 - (70 + 10 + 5 + 10 + 32)


def test_usage_is_a_table_with_a_sum_and_what_is_left(cli: CommandLine):
    _paid(cli)
    lines = cli.good("usage").splitlines()
    assert lines[0].split() == ["day", "pass", "model", "calls", "failed", "tokens", "in", "tokens", "out"]
    assert lines[1].split()[1:] == ["mining", "scripted", "1", "0", "1,000", "10"]
    assert lines[-2].split() == ["total", "4", "1", "1,105", "32"]
    assert lines[-1] == "Left for today (UTC): 1,999,873 tokens."
    assert len({len(line) for line in lines[:-1]}) == 1


@pytest.mark.parametrize(("days", "calls"), [(1, 3), (2, 3), (3, 4), (36_500, 4)])
def test_usage_of_the_last_days(cli: CommandLine, days: int, calls: int):
    _paid(cli)
    assert cli.json("usage", "--days", days)["total"]["calls"] == calls


def test_usage_told_apart_by_less(cli: CommandLine):
    _paid(cli)
    (row,) = cli.json("usage", "--by", "model")["usage"]
    assert (row["model"], row["calls"], row["failed"]) == ("scripted", 4, 1)
    assert (row["input_tokens"], row["output_tokens"]) == (1_105, 32)
    rows = cli.json("usage", "--by", "pass", "--by", "model")["usage"]
    assert [row["pass"] for row in rows] == ["merging", "mining"]
    assert cli.good("usage", "--by", "pass").splitlines()[1].split() == ["merging", "2", "1", "35", "12"]


def test_usage_where_no_model_was_asked_says_that(cli: CommandLine):
    cli.make_folder()
    assert cli.good("usage").splitlines() == [
        "No model was asked for default/agent/agent in that time.",
        "Left for today (UTC): 2,000,000 tokens.",
    ]
    assert list(cli.data.iterdir()) == []


@pytest.mark.parametrize("days", ["0", "-1", "36501", "x"])
def test_usage_refuses_days_that_are_none(cli: CommandLine, days: str):
    told = cli("usage", f"--days={days}")
    assert told.code == 2
    assert "--days" in told.complaint


def test_usage_refuses_what_it_cannot_tell_apart_by(cli: CommandLine):
    told = cli("usage", "--by", "week")
    assert told.code == 2
    assert "--by" in told.complaint


def _fail_all_runs(cli: CommandLine) -> None:
    with sqlite3.connect(cli.database) as connection:
        connection.execute(
            'UPDATE runs SET report = replace(report, \'"outcome":"unchanged"\', \'"outcome":"failed"\')'
        )


def test_status_shows_dreams_that_come_to_nothing(cli: CommandLine):
    cli.known("Ana likes tea")
    for _ in range(4):
        cli.good("run", "--pass", "retention")
    assert cli.json("status")["alarm"] is None
    _fail_all_runs(cli)
    alarm = cli.json("status")["alarm"]
    assert (alarm["kind"], alarm["runs"]) == ("failed", 4)
    said = f"`dream show {alarm['run_id']} --scope default/agent/agent` says why"
    assert said in " ".join(cli.good("status").split())
    examined = cli("doctor")
    assert (examined.code, said in " ".join(examined.out.split()), "All is well." in examined.out) == (1, True, False)
    assert alarm["run_id"] in cli.good("show", alarm["run_id"])


def test_a_forecast_makes_no_plan_and_no_run(cli: CommandLine):
    cli.known("Ana likes tea")
    document = cli.json("plan", "--forecast")
    assert set(document) == {"scope", "passes", "total", "tokens_left_today"}
    assert document["total"]["calls"] == sum(one["calls"] for one in document["passes"])
    out = cli.good("plan", "--forecast")
    assert out.splitlines()[0] == "What a dream on default/agent/agent would ask the model now; nobody was asked."
    assert "Left for today (UTC): 2,000,000 tokens." in out
    assert cli.json("runs")["runs"] == []
    with sqlite3.connect(cli.database) as connection:
        assert connection.execute("SELECT count(*) FROM plans").fetchone() == (0,)


def test_a_forecast_refuses_a_pass_that_does_not_exist(cli: CommandLine):
    cli.known("Ana likes tea")
    told = cli("plan", "--forecast", "--pass", "nobody")
    assert told.code == 2
    assert "nobody" in told.complaint


def test_status_and_runs_count_what_was_removed_for_good(cli: CommandLine):
    (kept,) = cli.known("Ana likes tea")
    cli.good("archive", kept)
    with sqlite3.connect(cli.database) as connection:
        connection.execute(
            "UPDATE entries SET status_at = status_at - ?", (int(timedelta(days=91) / timedelta(microseconds=1)),)
        )
    cli.good("run", "--pass", "retention")
    for command in ("status", "runs"):
        assert "0 records changed, 1 record removed for good" in " ".join(cli.good(command).split())
