"""The demo data: from the installed package, or from the source tree it was installed from."""

import shutil
from pathlib import Path

import dream
from dream.interfaces.cli.errors import MissingExamplesError

FILES = (
    "conversation.jsonl",
    "MEMORY.md",
    "memory.jsonl",
    "skills.jsonl",
    "skill-uses.jsonl",
    "feedback.jsonl",
    "wisp-runs.jsonl",
)
"""In the order of their import: what was said before what is known of it."""


def copy_examples(target: Path) -> list[Path]:
    """Copy the demo data into the folder *target*, which is made, and return the files.

    Raises:
        MissingExamplesError: it is not there.
    """
    target.mkdir(parents=True, exist_ok=True)
    package = Path(dream.__file__).parent
    for home in (package / "_examples", package.parent / "docs" / "examples"):
        if (home / FILES[0]).is_file():
            return [Path(shutil.copy(home / name, target / name)) for name in FILES]
    raise MissingExamplesError
