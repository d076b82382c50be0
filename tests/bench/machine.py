"""Where the figures were measured."""

import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

_LIBRARIES = (
    "numpy",
    "sqlalchemy",
    "orjson",
    "pydantic",
    "dependency-injector",
    "snowballstemmer",
    "regex",
    "cyclopts",
)


def described() -> str:
    """Return date, machine, load and versions as a Markdown list."""
    versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    lines = [
        f"Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load average before: {load}",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB RAM, {platform.system()}",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory_gb() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
