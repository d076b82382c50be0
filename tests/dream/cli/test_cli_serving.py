"""`dream serve` as a process that a service manager starts and ends, and `dream token`."""

import logging
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commandline import CommandLine

from dream.interfaces.cli.log_lines import logged_to_stderr


@pytest.mark.parametrize("options", [("--no-http",), ("--port", "0")], ids=["without http", "with it"])
def test_sigterm_ends_a_server_cleanly_and_what_it_did_stands(tmp_path: Path, options: tuple[str, ...]):
    command = [sys.executable, "-m", "dream", "--data", str(tmp_path / "data"), "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert str(tmp_path / "data") in server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    # The second line, about the page, comes with the first or after it.
    assert (server.returncode, out.partition(": http")[0], err) in {
        (0, "", ""),
        (0, "The page, by a link that holds once", ""),
    }


def test_without_http_the_scopes_of_the_folder_dream_by_themselves(tmp_path: Path):
    data = tmp_path / "data"
    dream = [sys.executable, "-m", "dream", "--data", str(data)]
    for category in ("a", "b"):
        subprocess.run([*dream, "remember", "Ana likes tea", "--category", category], check=True, capture_output=True)
    with subprocess.Popen([*dream, "serve", "--no-http"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        subprocess.run([sys.executable, "-c", _ASK, str(data)], check=True, capture_output=True)
        for _ in range(240):
            told = subprocess.run([*dream, "--json", "runs"], check=True, capture_output=True, text=True).stdout
            if '"finished_at":"' in told:
                break
            time.sleep(0.25)
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert '"trigger":"manual"' in told


_ASK = """
import asyncio, sys
from agentcore import AgentHostBuilder

async def main():
    builder = AgentHostBuilder(sys.argv[1]).with_memory().with_conversation_log().with_skills().with_feedback()
    async with builder.with_wisps().with_tool_calls().with_dreaming(in_background=False).build() as host:
        await host.dreams.schedule()

asyncio.run(main())
"""


@pytest.mark.parametrize("options", [("--no-http",), ("--port", "0")], ids=["without http", "with it"])
def test_a_server_logs_one_line_for_each_dream_and_says_at_once_where_it_serves(
    tmp_path: Path, options: tuple[str, ...]
):
    data = tmp_path / "data"
    dream = [sys.executable, "-m", "dream", "--data", str(data)]
    subprocess.run([*dream, "remember", "Ana likes tea"], check=True, capture_output=True)
    subprocess.run([sys.executable, "-c", _ASK, str(data)], check=True, capture_output=True)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": buffered}
    with subprocess.Popen([*dream, "serve", *options], **pipes) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            assert select.select([server.stdout], [], [], 30)[0]
            assert str(data) in server.stdout.readline()
            assert select.select([server.stderr], [], [], 90)[0]
            line = server.stderr.readline()
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
    told = (
        r"\S+Z INFO dream\.\S+ dream_ended scope=default/agent/agent run_id=\w+ kind=dream outcome=\w+ trigger=manual"
    )
    assert re.match(told, line), line


def test_a_log_line_has_the_figures_and_neither_an_error_in_words_nor_a_second_line(
    capsys: pytest.CaptureFixture[str],
):
    log = logging.getLogger("dream.tried")
    with logged_to_stderr("warning"):
        log.info("below_level")
        log.warning("documents_wait", extra={"scope": "a/b/c", "problem": "two\nlines"})
        try:
            int("Ana is pregnant")
        except ValueError:
            log.exception("request_failed")
    log.warning("after_the_block")
    first, second, *rest = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\S+Z WARNING dream\.tried documents_wait scope=a/b/c problem=two lines", first)
    assert second.endswith("request_failed")
    assert rest[-1].strip() == "ValueError"
    assert not any("Ana" in one for one in rest)


def test_a_token_is_made_listed_and_revoked(cli: CommandLine):
    made = cli("--json", "token", "create", "phone", "--reach", "home/*/ana", "--right", "read", "--days", "90")
    assert made.document["secret"].startswith("dream_")
    assert (made.document["scopes"], made.document["rights"]) == (["home/*/ana"], ["read"])
    assert cli("token", "create", "phone").code == 2
    listed = cli("token", "list")
    assert "phone  read on home/*/ana" in listed.out
    assert made.document["secret"] not in listed.out
    assert cli("token", "revoke", "phone").code == 0
    assert "revoked" in cli("token", "list").out
    assert "revoked already" in cli("token", "revoke", "phone").complaint
    assert "token list" in cli("token", "revoke", "tablet").complaint


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--host", "0.0.0.0"), "nobody has a token"),
        (("--host", "192.0.2.1"), "cannot listen on 192.0.2.1:8765"),
        (("--port", "70000"), "cannot listen on"),
    ],
)
def test_a_server_that_could_not_be_used_safely_does_not_start(
    cli: CommandLine, options: tuple[str, ...], sentence: str
):
    port = () if "--port" in options or "192" in options[1] else ("--port", "0")
    told = cli("serve", *options, *port)
    assert told.code == 2
    assert sentence in told.complaint
