"""The curl lines of the documentation work as they stand, against a server that is started as the page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "serve.md"
_BLOCK = re.compile(r"^```bash no-run curl\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_lines_work_as_they_stand(tmp_path: Path):
    (block,) = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "dream", "--data", "agent-data", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
            assert port is not None
            typed = block.replace("127.0.0.1:8765", port[0])
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail"], cwd=tmp_path, input=typed, capture_output=True, text=True, check=True
            )
        finally:
            server.terminate()
        assert server.wait(30) == 0
    assert done.stdout.count("Ana likes green tea") == 2
    assert '"run_id"' in done.stdout
    assert "urn:agentcore-dream" not in done.stdout
