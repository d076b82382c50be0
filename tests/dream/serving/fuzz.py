"""Fuzz every route of a server that runs in a process of its own: `python tests/dream/serving/fuzz.py [--examples N]`.

Schemathesis sends what the OpenAPI document admits and what it does not, with a token and without; the document itself
is what answers are held against. It prints how many requests each phase sent, also of one that is cut off by a signal,
and ends with 1 if an answer deviates.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from served import ServedProcess, serving_process

_PHASES = (("coverage", True), ("fuzzing", True), ("stateful", True), ("coverage", False), ("fuzzing", False))
"""The phases of Schemathesis, with a token and without; without one no answer has a link to follow."""


def run_schemathesis(
    server: ServedProcess, folder: Path, *, examples: int, token: str | None, phases: str
) -> tuple[int | None, int, str]:
    """Return the exit code, None if it was interrupted, the number of requests, and what was printed."""
    document, events = folder / "openapi.json", folder / "events.json"
    if not document.exists():
        # Once, by the server's own token: later on that may be revoked.
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
    code, told = None, ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=hooks
    ) as process:
        try:
            told, _ = process.communicate()
            code = process.returncode
        except KeyboardInterrupt:
            process.kill()
    return code, _requests(events), told


def _requests(events: Path) -> int:
    """Return how many requests a report tells of; the last line of one that was cut off is half a line."""
    count = 0
    for line in events.read_bytes().splitlines(keepends=True) if events.exists() else []:
        event: dict[str, Any] = orjson.loads(line) if line.endswith(b"\n") else {}
        count += len(event.get("ScenarioFinished", {}).get("recorder", {}).get("interactions", {}))
    return count


def main() -> int:
    """Fuzz with a token and without."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10, help="examples of each operation in each phase")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    total, failed = 0, False
    with tempfile.TemporaryDirectory() as name, serving_process(Path(name)) as server:
        secret = server.token("fuzz", "--reach", "*/*/*", "--right", "admin")
        for phase, is_known in _PHASES:
            begun, token = time.perf_counter(), secret if is_known else None
            code, requests, told = run_schemathesis(
                server, Path(name), examples=asked.examples, token=token, phases=phase
            )
            total, failed = total + requests, failed or code != 0
            said = {None: "cut off", 0: "no deviation"}.get(code, "deviations")
            took = time.perf_counter() - begun
            known = "with a token" if is_known else "without one"
            print(f"{phase}, {known}: {requests:,} requests in {took:.0f} s, {said}", flush=True)
            if code is None:
                break
            if code:
                print(told, flush=True)
        log = server.log.read_text(encoding="utf-8")
        print(f"{total:,} requests; the server's log has {log.count('Traceback')} tracebacks")
        failed |= "Traceback" in log
        if failed:
            print(log[-20_000:])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
