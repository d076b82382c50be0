"""The language of the how-to page is added as the page says: by its file alone, in a copy of the folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, blocks

_ASKED = """
from datetime import date
from agentcore.hosting.correction_detector import is_correction
from dream.guards import EvidenceText, judge, language_of, relative_dates

print(language_of("La Núria és amb els seus gats"))
print(relative_dates("Vaig amb ella demà", date(2026, 4, 14))[0].readings[0])
print(is_correction("Això no és correcte."))
said = [EvidenceText(text="La Núria ha vist els seus gats amb ella.", speaker="Núria")]
print(judge("La Núria mai ha vist els seus gats amb ella.", said).verdict)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with the house in it, whose languages are a copy."""
    (tmp_path / "agentcore").mkdir()
    for part in (ROOT / "agentcore").iterdir():
        if part.name != "lexicon":
            (tmp_path / "agentcore" / part.name).symlink_to(part)
    for name in ("dream", "directives"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "agentcore" / "lexicon", tmp_path / "agentcore" / "lexicon")
    return tmp_path


def _answers(house: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(house), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", _ASKED]
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)


def _file_of_the_page() -> str:
    page = DOCS / "how-to" / "add-a-language.md"
    return next(block.text for block in blocks(page) if block.file_name == "ca.toml")


def test_a_new_language_is_one_file(copy: Path):
    before = _answers(copy).stdout.split()
    (copy / "agentcore" / "lexicon" / "ca.toml").write_text(_file_of_the_page(), "utf-8")
    after = _answers(copy)
    assert after.stderr == ""
    assert after.stdout.split() == ["ca", "2026-04-15", "True", "refuted"]
    assert before[0] != "ca"


def test_a_file_with_an_unknown_entry_is_refused_by_name(copy: Path):
    (copy / "agentcore" / "lexicon" / "ca.toml").write_text("mesos = 'gener'\n", "utf-8")
    refused = _answers(copy).stderr.splitlines()[-1]
    assert "'ca'" in refused
    assert "'mesos'" in refused
