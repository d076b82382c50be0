"""Serve the demo's scripted model until interrupted: `python -m tests.demo`."""

from contextlib import suppress
from threading import Event

from tests.demo.serving import MODEL, demo_server

with demo_server() as server, suppress(KeyboardInterrupt):
    print("A scripted model for `dream demo` listens. In the terminal of the demo, type:\n")
    print(f"export OPENAI_BASE_URL={server.base_url}")
    print(f"export AGENTCORE_MODEL={MODEL}\n")
    print("Interrupt it with Ctrl+C when you are done.", flush=True)
    Event().wait()
