"""`dream serve` as a process that a service manager starts and ends, and `dream token`."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commandline import CommandLine


@pytest.mark.parametrize("options", [("--no-http",), ("--port", "0")], ids=["without http", "with it"])
def test_sigterm_ends_a_server_cleanly_and_what_it_did_stands(tmp_path: Path, options: tuple[str, ...]):
    command = [sys.executable, "-m", "dream", "--data", str(tmp_path / "data"), "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert str(tmp_path / "data") in server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "")


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
