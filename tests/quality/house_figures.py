"""The house in figures: files and lines, lone modules, names that stand for two things, paths, and what a start costs.

`python -m tests.quality.house_figures` counts this tree; `--root FOLDER` another one, with the libraries of the Python
that runs the script. `--json FILE` keeps the count, `--against FILE` prints it beside one that was kept, and `--list`
says which modules, names and files were counted. `house_figures_before.json` is the count at e0de29d.
"""

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from tests.quality.house_starts import starts
from tests.quality.house_tree import Places, Tree, shared_pass_files

_ROOT = Path(__file__).parents[2]
_LIBRARIES = ("numpy", "sqlalchemy", "pydantic", "orjson", "cyclopts", "dependency-injector", "rich")
_LABEL = 60

Row = Mapping[str, float]
"""Figures by the columns they stand in."""
Sections = Mapping[str, Mapping[str, Row]]
"""Rows by their labels, in tables."""
Count = dict[str, Any]
"""All that is kept of a count: `measured`, `figures` (as `Sections`), and the `lists` that they count."""


def count(root: Path) -> Count:
    """Count the tree at *root*: read it, walk its paths, start its commands."""
    tree = Tree(root)
    packages = tree.packages()
    lone = tree.one_importer()
    names: dict[str, Places] = {
        "class names": tree.class_names(),
        "class names as written": tree.class_names_as_written(),
        "module names": tree.module_names(),
        "module names beyond pass packages": tree.module_names_beyond_passes(),
    }
    paths = _paths(root)
    figures: Sections = {
        "Kinds of files": tree.kinds(),
        "Packages": packages,
        "Passes": {"files that no single pass owns": {"files": shared_pass_files(packages)}},
        "Lone modules": {
            name: {"files": len(modules), "lines": sum(module.lines for module in modules)}
            for name, modules in lone.items()
        },
        "Ambiguous names": {name: {"names": len(places)} for name, places in names.items()},
        "Files entered": {name: {"files": len(files)} for name, files in paths.items()},
        "Starts": starts(root),
    }
    lists: dict[str, Places] = {
        **{name: {module.file: [f"{module.lines} lines"] for module in modules} for name, modules in lone.items()},
        **names,
        **{f"files entered: {name}": {file: [] for file in files} for name, files in paths.items()},
    }
    return {"measured": measured(root), "figures": figures, "lists": lists}


def measured(root: Path) -> dict[str, str]:
    """Return what was counted, when, and on what machine."""
    head = subprocess.run(
        ("git", "describe", "--always", "--dirty", "--abbrev=7"), cwd=root, capture_output=True, text=True, check=True
    )
    versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return {
        "state": head.stdout.strip(),
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "load": " ".join(f"{value:.1f}" for value in os.getloadavg()),
        "versions": f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions}",
    }


def printed(counted: Count, before: Count | None) -> Iterator[str]:
    """Yield the lines of the tables; with *before*, each figure as it was, as it is, and the ratio of the two."""
    for state in (before, counted):
        if state:
            yield from (f"{name}: {value}" for name, value in state["measured"].items())
            yield ""
    figures: Sections = counted["figures"]
    earlier: Sections = before["figures"] if before else {}
    for title, rows in figures.items():
        old = earlier.get(title, {})
        labels = [*old, *(label for label in rows if label not in old)]
        columns = list(dict.fromkeys(column for row in (*old.values(), *rows.values()) for column in row))
        width = 30 if before else 14
        yield f"{title:<{_LABEL}}" + "".join(f"{column:>{width}}" for column in columns)
        for label in labels:
            cells = (_cell(old.get(label, {}).get(column), rows.get(label, {}).get(column)) for column in columns)
            yield f"  {label:<{_LABEL - 2}}" + "".join(f"{now if not before else both:>{width}}" for now, both in cells)
        yield ""


def listed(counted: Count) -> Iterator[str]:
    """Yield which modules, names and files the figures are of."""
    lists: Mapping[str, Places] = counted["lists"]
    for title, items in lists.items():
        yield f"{title} ({len(items)})"
        yield from (f"  {item}  {', '.join(more)}".rstrip() for item, more in items.items())
        yield ""


def _cell(old: float | None, new: float | None) -> tuple[str, str]:
    """Return a figure as it is now, and beside what it was with the ratio of the two."""
    ratio = f"{new / old:.2f}" if old and new is not None else ""
    return _shown(new), f"{_shown(old):>9}{_shown(new):>9}{ratio:>8}"


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _paths(root: Path) -> dict[str, list[str]]:
    """Walk the paths in a process that sees the tree at *root* and was not looked at before."""
    command = (sys.executable, "-B", "-P", str(Path(__file__).with_name("house_paths.py")), str(root))
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, check=True)
    return orjson.loads(done.stdout)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def main() -> None:
    """Count, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=_ROOT, help="the tree to count; this one by default")
    parser.add_argument("--json", type=Path, help="where to keep the count")
    parser.add_argument("--against", type=Path, help="a count that was kept, to print beside this one")
    parser.add_argument("--list", action="store_true", help="say which modules, names and files were counted")
    told = parser.parse_args()
    before = orjson.loads(told.against.read_bytes()) if told.against else None
    counted = count(told.root.resolve())
    print("\n".join(printed(counted, before)))
    if told.list:
        print("\n".join(listed(counted)))
    if told.json:
        told.json.write_bytes(orjson.dumps(counted, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
