"""Fuzz every route of a server that runs in a process of its own: `python tests/dream/serving/fuzz.py [--examples N]`.

Schemathesis sends what the OpenAPI document admits and what it does not, with a token and without; the document itself
is what answers are held against. It ends with 1 if an answer deviates, and prints how many requests there were.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
from served import ServedProcess, serving_process


def run_schemathesis(
    server: ServedProcess, folder: Path, *, examples: int, token: str | None, phases: str = "coverage,fuzzing,stateful"
) -> tuple[int, int, str]:
    """Return the exit code, the number of requests, and what was printed."""
    document, events = folder / "openapi.json", folder / "events.json"
    with server.client() as client:
        document.write_bytes(client.get("/api/v1/openapi.json").content)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", server.url, "--no-color"),
        *(
            "--max-examples",
            str(examples),
            "--phases",
            phases,
            "--continue-on-failure",
            "--request-timeout",
            "60",
            "--seed",
            "20",
        ),
        *("--report", "ndjson", "--report-ndjson-path", str(events), "--suppress-health-check", "all"),
        *("--warnings", "off", "--generation-database", ":memory:"),
    ]
    if token is not None:
        command += ["--header", f"Authorization: Bearer {token}"]
    hooks = os.environ | {"SCHEMATHESIS_HOOKS": "fuzz_formats", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=hooks)
    lines = events.read_bytes().splitlines() if events.exists() else []
    requests = sum(_requests(orjson.loads(line)) for line in lines)
    return done.returncode, requests, done.stdout + done.stderr


def _requests(event: dict[str, object]) -> int:
    recorder = event.get("ScenarioFinished")
    cases = recorder.get("recorder", {}).get("interactions", {}) if isinstance(recorder, dict) else {}
    return len(cases)


def main() -> int:
    """Fuzz with a token and without."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=60, help="examples of each operation in each phase")
    asked = parser.parse_args()
    total, failed = 0, False
    with tempfile.TemporaryDirectory() as name, serving_process(Path(name)) as server:
        secret = server.token("fuzz", "--reach", "*/*/*", "--right", "admin")
        for token in (secret, None):
            code, requests, told = run_schemathesis(server, Path(name), examples=asked.examples, token=token)
            total += requests
            failed |= code != 0
            print(told if code else f"{requests:,} requests {'with' if token else 'without'} a token: no deviation")
        log = server.log.read_text(encoding="utf-8")
        print(f"{total:,} requests; the server's log has {log.count('Traceback')} tracebacks")
        failed |= "Traceback" in log
        if failed:
            print(log[-20_000:])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
