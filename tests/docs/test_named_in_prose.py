"""What prose calls a command or an option is one."""

import re
from pathlib import Path

import pytest

from agentcore.hosting.option_parts import effective_parts
from dream.interfaces.cli.app import ALIASES, COMMANDS
from dream.options import DreamOptions
from dream.options.levels import OptionLevels

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "adr" and page.name != "changelog.md")
FORMER = re.compile(r"^\| `[^`]+` (?=\| `)", re.MULTILINE)
"""The first of two names in a row of a table: what an option was called before."""
NOT_OURS = {"model.default", "model.dreaming"}
"""Options of a system that this one is compared with."""
ALSO_SERVICES = {
    "context",
    "conversation",
    "feedback",
    "memory",
    "sessions",
    "skills",
    "tool_calls",
    "wisps",
    "workspace",
}
"""Sections that a host has services of the same names as, whose methods are written alike."""
SPAN = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^dream (?:--[a-z-]+ \S+ )*([a-z][a-z-]+)(?: |$)")
OPTION = re.compile(r"`(?:dreaming\.)?([a-z_]+(?:\.[a-z_]+)+)`")


def words() -> set[str]:
    return {name.split()[0] for name in COMMANDS} | {alias[0] for alias in ALIASES}


def options(folder: Path) -> set[str]:
    found = [*OptionLevels(DreamOptions()).effective(), *effective_parts(folder)]
    names = {one.name for one in found}
    return names | {name[: place.start()] for name in names for place in re.finditer(r"\.", name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_each_command_in_prose_exists(page: Path):
    named = {found[1] for span in SPAN.findall(page.read_text("utf-8")) if (found := COMMAND.match(span))}
    assert named - words() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_each_option_in_prose_exists(page: Path, tmp_path: Path):
    known = options(tmp_path)
    sections = {name.split(".")[0] for name in known if "." in name} - ALSO_SERVICES
    found = OPTION.findall(FORMER.sub("", page.read_text("utf-8")))
    named = {one for one in found if one.split(".")[0] in sections and not one.endswith((".py", ".md", ".jsonl"))}
    assert named - known - NOT_OURS == set()
