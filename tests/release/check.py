"""Build the wheel and the sdist, and try both in clean environments: `python tests/release/check.py [PYTHON ...]`.

For each interpreter that is there (3.11 to 3.14 unless named) the plain install remembers, recalls, dreams and says
what `dream serve` needs; the extra `serve` answers over MCP and REST. It prints what an install takes on the disk.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
_MCP = textwrap.dedent("""
    import asyncio, sys, mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def main():
        start = StdioServerParameters(command=sys.argv[1], args=["--data", sys.argv[2], "mcp"])
        async with mcp.Client(stdio_client(start)) as client:
            await client.call_tool("remember", {"content": "Ana likes green tea"})
            print(len((await client.call_tool("recall", {"query": "tea"})).structured_content["memories"]))

    asyncio.run(main())
""")


def run(*command: object, expect: int = 0) -> str:
    """Run a command, and return what it printed to both streams."""
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False, env=clean)
    assert done.returncode == expect, (command, done.returncode, done.stdout[-2_000:], done.stderr[-4_000:])
    return done.stdout + done.stderr


def size(folder: Path) -> int:
    """Return how many bytes a folder holds."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def try_package(python: str, package: Path, folder: Path) -> None:
    """Install a package into an environment of its own, and use it."""
    begun = time.perf_counter()
    run(python, "-m", "venv", folder / "venv")
    place = folder / "venv" / "bin"
    empty = size(folder / "venv")
    run(place / "pip", "install", "--quiet", "--no-compile", package)
    plain, data = size(folder / "venv") - empty, folder / "data"
    assert "Ana" in run(place / "dream", "--data", data, "remember", "Ana likes tea")
    assert "Ana" in run(place / "dream", "--data", data, "recall", "tea")
    assert "unchanged" in run(place / "dream", "--data", data, "--json", "run")
    loaded = run(place / "python", "-c", "import agentcore, dream, sys; print('openai' in sys.modules)")
    assert loaded.strip() == "False", loaded
    missing = run(place / "dream", "--data", data, "serve", expect=2)
    assert "agentcore-dream[serve]" in missing, missing
    run(place / "pip", "install", "--quiet", "--no-compile", f"{package}[serve]")
    served = size(folder / "venv") - empty
    found = run(place / "python", "-c", _MCP, place / "dream", data)
    assert "2" in found.splitlines(), found
    version = run(place / "python", "--version").strip()
    seconds = time.perf_counter() - begun
    print(
        f"{version}, {package.name}: plain install {plain / 1e6:.0f} MB, with [serve] {served / 1e6:.0f} MB, "
        f"{seconds:.0f} s",
        flush=True,
    )


def main() -> int:
    """Build and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=_PYTHONS)
    asked = parser.parse_args()
    if find_spec("build") is None:
        sys.exit("The package `build` makes the wheel and the sdist, and is not installed: `pip install build`.")
    with tempfile.TemporaryDirectory() as name:
        built = Path(name) / "dist"
        run(sys.executable, "-m", "build", "--outdir", built, ROOT)
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        print(f"{wheel.name} {wheel.stat().st_size / 1e6:.1f} MB, {sdist.name} {sdist.stat().st_size / 1e6:.1f} MB")
        tried = 0
        for python in asked.pythons:
            found = shutil.which(python)
            if found is None or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
                print(f"{python}: not on this machine, not tried")
                continue
            for package in (wheel, *([sdist] if not tried else [])):
                with tempfile.TemporaryDirectory() as folder:
                    try_package(found, package, Path(folder))
            tried += 1
    return 0 if tried else 1


if __name__ == "__main__":
    sys.exit(main())
