"""The pages hang together, and the README's two commands are what is tested."""

import re
from pathlib import Path

import pytest
from doc_pages import ROOT, page_name, pages, sections

from agentcore import llm
from dream import options

_OPTIONS_IN_A_SENTENCE = re.compile(r"(?<!`)`(\w+Options\([^`]*\))`(?!`)")
_UNTRUE = (
    "the host checks every word against its sources",
    "nothing specific is lost or invented",
    "forget that reaches every copy",
    "There is no scheduler yet",
)
"""Promises of earlier pages that a measurement or a trial refuted."""
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SET_UP = "pip install -e . && dream demo"
_TEST = "pip install -e '.[test]' && python -m pytest"


def _anchor(heading: str) -> str:
    """Return what a link calls a heading: lower case, spaces as hyphens, without punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.casefold()).replace(" ", "-")


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_link_within_the_documentation_leads_somewhere(page: Path):
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
    for link in links:
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in map(_anchor, sections(target)), link


def test_every_page_is_reached_from_the_first_one():
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = [link.partition("#")[0] for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
        waiting += [(page.parent / link).resolve() for link in links if link]
    assert {page_name(page) for page in pages()} - {page_name(page) for page in reached} == set()


@pytest.mark.parametrize("command", [_SET_UP, _TEST])
def test_the_readme_sets_up_in_one_line(command: str):
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert [line for line in lines if line == command] == [command]
    assert len([line for line in lines if line.startswith("pip install")]) == 2


def test_a_clean_clone_is_tested_with_the_command_of_the_readme():
    assert _TEST in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_options_that_a_sentence_gives_as_code_can_be_given():
    given = [code for page in pages() for code in _OPTIONS_IN_A_SENTENCE.findall(page.read_text("utf-8"))]
    assert given
    for code in given:
        eval(code, {name: getattr(home, name) for home in (llm, options) for name in home.__all__})


def test_no_page_promises_what_was_found_not_to_be_so():
    told = {page_name(page): " ".join(page.read_text("utf-8").split()) for page in pages()}
    assert [(name, claim) for name, text in told.items() for claim in _UNTRUE if claim in text] == []
