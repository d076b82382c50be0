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
from dream.passes.episodes import EventType
from dream.passes.memory_consolidation import composed, keeps_meaning
from dream.passes.preferences import Sentiment

_ROOT = Path(__file__).parents[3]
_FOLDER = _ROOT / "directives"
_SAVED = {"content", "category", "tags", "importance", "sourceIds"}
_FACT = {"content", "subject", "topic", "category", "tags", "importance", "subjectTime", "sourceTurns", "quote"}
_EPISODE = {"content", "eventType", "actor", "importance", "tags", "subjectTime", "sourceTurns", "quote"}
_PREFERENCE = {"content", "sentiment", "tags", "importance", "requiresUserPermission", "sourceIds", "quote"}
_CONTRACT = {
    "dream": {"toDelete", "toSave", "supersededBy", "id", "reason", "keep", "add", *_SAVED},
    "deduction": {"search", "words", "after", "before", "in", "conclusions", "kind", "content", "premises"},
    "induction": {"search", "patterns", "content", "pattern", "premises", "against", "existing"},
    "verify-inference": {"readings", "id", "reading", "quotes", "follows", "may", "does_not"},
    "memory-mining": {"facts", *_FACT},
    "episode-dream": {"toSave", "existing", *_EPISODE},
    "pref-dream": {"toSave", "existing", "supersedes", *_PREFERENCE},
    "wisp-failure-dream": {"patterns", "classification", "skillUpdates", "pattern", "skill", "annotation"},
    "rem": {"themes", "text", "sourceIds"},
    "memory-md": {"edits", "op", "items", "text", "target", "reason"},
    "session-evaluator": {"rating", "summary"},
    "memory-rules": {"category", "tags", "importance", "subjectTime"},
    "skill-gap": {"toSave", "name", "summary", "content", "sourceTurns"},
    "skill-dream": {"toDelete", "toSave", "name", "summary", "content", "sourceNames", "seeAlso", "replacedBy"},
    "verify": {"readings", "id", "reading", "quotes", "leftOut", "says", "contradicts", "not_said"},
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
    assert set(saved) == {*_SAVED, "keep", "add"}
    sources = [records[handle] for handle in saved["sourceIds"]]
    text = composed(records[saved["keep"]], [one["text"] for one in saved["add"]])
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


def test_each_quote_of_the_example_stands_in_a_cited_turn():
    records, answer = _records("memory-mining"), _answer("memory-mining")
    assert len(answer["facts"]) == 3
    for fact in answer["facts"]:
        assert set(fact) <= _FACT
        assert set(fact) >= {"content", "category", "tags", "sourceTurns", "quote"}
        assert any(fact["quote"] in records[handle] for handle in fact["sourceTurns"])


def test_the_example_of_an_episode_holds_what_its_turns_say():
    records, answer = _records("episode-dream"), _answer("episode-dream")
    met, told = answer["toSave"]
    assert met.keys() == {"existing", "sourceTurns", "quote"}
    assert met["existing"] in records
    assert told.keys() <= _EPISODE
    assert told["eventType"] in set(EventType)
    for item in (met, told):
        assert any(item["quote"] in records[handle] for handle in item["sourceTurns"])
    said = [f"Ines: {records[handle]}" for handle in told["sourceTurns"]]
    assert _judged(told["content"], said) is not Verdict.REFUTED


def test_the_example_of_a_preference_cites_as_often_as_its_sentiment_takes():
    records, answer = _records("pref-dream"), _answer("pref-dream")
    (item,) = answer["toSave"]
    assert item.keys() == _PREFERENCE | {"supersedes"}
    assert item["supersedes"] in records
    assert (Sentiment(item["sentiment"]), len(set(item["sourceIds"]))) == (Sentiment.FRUSTRATED, 2)
    assert any(item["quote"] in records[handle] for handle in item["sourceIds"])
    said = [f"Marta: {records[handle]}" for handle in item["sourceIds"]]
    assert _judged(item["content"], said) is not Verdict.REFUTED


@pytest.mark.parametrize("name", ["episode-dream", "pref-dream"])
def test_one_of_its_examples_is_nothing(name: str):
    assert '`{"toSave": []}`' in built_in(name).text


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
