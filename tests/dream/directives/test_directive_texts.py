"""The built-in texts: they explain what the passes read, and their examples obey their own rules."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentcore.llm import estimate_tokens
from dream.directives import KNOWN, built_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes import ORDER
from dream.passes.memory_consolidation import composed, keeps_meaning

_ROOT = Path(__file__).parents[3]
_FOLDER = _ROOT / "directives"
_SAVED = {"content", "category", "tags", "importance", "sourceIds"}
_FACT = {"content", "subject", "topic", "sourceTurns"}
_EPISODE = {"content", "eventType", "actor", "importance", "sourceTurns"}
_PREFERENCE = {"content", "sentiment", "importance", "requiresUserPermission", "sourceIds", "quote"}
_CONTRACT = {
    "dream": {"toDelete", "toSave", "supersededBy", "id", "reason", "keep", "add", *_SAVED},
    "deduction": {
        *("search", "words", "after", "before", "in", "conclusions", "kind", "content", "premises"),
        *("card", "action", "line", "section", "reason"),
    },
    "card-refresh": {"card", "action", "line", "section", "content", "premises", "reason"},
    "induction": {"search", "patterns", "content", "pattern", "premises", "against", "existing"},
    "verify-inference": {"follows", "may", "does_not"},
    "memory-mining": _FACT,
    "episode-dream": {"existing", *_EPISODE},
    "pref-dream": {"existing", "supersedes", *_PREFERENCE},
    "wisp-failure-dream": {"patterns", "classification", "skillUpdates", "pattern", "skill", "annotation"},
    "rem": {"themes", "text", "sourceIds"},
    "hypotheses": {
        *("hypotheses", "hypothesis", "what_if", "possible_outcome", "question", "sourceIds", "quotes"),
    },
    "claims": {"claims", "subject", "predicate", "object", "negated", "when", "sourceId", "quote"},
    "re-evaluate": {"readings", "guess", "record", "reading", "quote", "supports", "contradicts", "neither"},
    "memory-md": {"edits", "op", "items", "text", "target", "reason"},
    "session-evaluator": {"rating", "summary"},
    "memory-rules": {"category", "tags", "importance", "subjectTime"},
    "skill-gap": {"name", "summary", "content", "sourceTurns"},
    "skill-dream": {"toDelete", "toSave", "name", "summary", "content", "sourceNames", "seeAlso", "replacedBy"},
    "verify": {"says", "contradicts", "not_said", "incomplete"},
    "skill-optimize": {"toSave", "name", "summary", "content", "sourceNames"},
}


def _block(name: str, language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", built_in(name).text, re.DOTALL)
    return found


def _records(name: str) -> Mapping[str, str]:
    """The example's texts by handle."""
    return {found[1]: found[2] for found in re.finditer(r'^\[(\w+)\] .*"([^"]*)"$', _block(name, "text"), re.MULTILINE)}


def _answer(name: str) -> dict[str, Any]:
    return orjson.loads(_block(name, "json"))


def _judged(text: str, sources: Sequence[str]) -> Verdict:
    return judge(text, [EvidenceText(text=one) for one in sources]).verdict


def test_each_known_directive_has_a_file_and_each_file_is_known():
    assert {path.stem for path in _FOLDER.glob("*.md")} == set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_it_names_every_field_of_the_answer(name: str):
    assert {word for word in _CONTRACT[name] if f"`{word}`" not in built_in(name).text
            and f'"{word}"' not in built_in(name).text} == set()  # fmt: skip
    assert set(KNOWN[name].relies_on) <= _CONTRACT[name]


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_short_enough_to_be_paid_for_with_every_call(name: str):
    assert len(built_in(name).text.split()) <= 900
    assert estimate_tokens(built_in(name).text) <= 1_500


@pytest.mark.parametrize("name", KNOWN)
def test_it_fits_the_page_and_holds_no_place_for_a_value(name: str):
    text = built_in(name).text
    assert max(map(len, text.splitlines())) <= 130
    assert re.findall(r"\{\{|\}\}|<<<|>>>|TODO", text) == []


def test_the_example_of_a_merge_is_proven_by_its_sources():
    records, answer = _records("dream"), _answer("dream")
    (saved,) = answer["toSave"]
    assert {"sourceIds", "keep", "add"} <= set(saved) <= {*_SAVED, "keep", "add"}
    sources = [records[handle] for handle in saved["sourceIds"]]
    text = composed(records[saved["keep"]], [records[handle] for handle in saved["add"]])
    assert judge(text, [EvidenceText(text=one) for one in sources], whole=True).verdict is Verdict.PROVEN
    assert keeps_meaning(text, sources)


def test_the_example_of_a_theme_says_nothing_that_its_entries_do_not_say():
    records, answer = _records("rem"), _answer("rem")
    (theme,) = answer["themes"]
    sources = [records[handle] for handle in theme["sourceIds"]]
    assert len(sources) == 3
    assert _judged(theme["text"], sources) is not Verdict.REFUTED


def test_the_example_of_a_supersession_names_records_it_was_shown():
    records, answer = _records("dream"), _answer("dream")
    (retired,) = answer["toDelete"]
    assert set(retired) == {"id", "reason", "supersededBy"}
    assert {retired["id"], retired["supersededBy"]} <= set(records)
    assert retired["id"] not in {handle for saved in answer["toSave"] for handle in saved["sourceIds"]}


@pytest.mark.parametrize("name", ["memory-mining", "episode-dream", "pref-dream", "skill-gap", "dream"])
def test_it_says_that_nothing_is_an_answer(name: str):
    assert "empty list" in built_in(name).text


@pytest.mark.parametrize("dream_pass", [place.dream_pass for place in ORDER], ids=lambda dream_pass: dream_pass.name)
def test_the_table_knows_which_directives_a_pass_sends(dream_pass: Any):
    sent = set(getattr(dream_pass, "directives", ()))
    assert {name for name, known in KNOWN.items() if dream_pass.name in known.passes} == sent


def test_an_installed_copy_finds_its_texts_inside_the_package(tmp_path: Path):
    included = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    for package in included["packages"]:
        shutil.copytree(_ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for source, target in included["force-include"].items():
        shutil.copytree(_ROOT / source, tmp_path / target)
    ask = f"from dream.directives import built_in as b; print(*(b(name).hash for name in {tuple(KNOWN)}))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [built_in(name).hash for name in KNOWN]
