"""What a check says of directives: whose text is in force, what it leaves out, and which files nothing reads."""

import os
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from agentcore.llm.tokens import estimate_tokens
from dream.directives.table import FILE_SUFFIX, Known
from dream.domain.finding import Finding, Verdict


class InForce(Protocol):
    """A directive in the words that are in force."""

    @property
    def name(self) -> str:
        """What passes call it."""
        ...

    @property
    def text(self) -> str:
        """The words."""
        ...

    @property
    def path(self) -> Path | None:
        """The host's own file; None for the words it came with."""
        ...


def standing(directive: InForce, known: Known) -> Finding:
    """Return how a directive stands that can be used.

    Args:
        directive: Its text in force.
        known: Who sends it, and what the text should mention.
    """
    name, text, path = directive.name, directive.text, directive.path
    size = f"{estimate_tokens(text):,} tokens"
    missing = [word for word in known.relies_on if word not in text]
    if not missing:
        return Finding(name, Verdict.FINE, f"built in, {size}" if path is None else f"{path}, {size}")
    words = ", ".join(missing)
    remedy = f"say what these parts of the answer are for; `dream directives show {name} --built-in` does"
    return Finding(
        name, Verdict.NOTE, f"{path} does not mention {words}, of which the answer to {readers(known)} is made", remedy
    )


def unread_files(
    folder: Path, *, beside: Collection[str], read: Collection[Path], known: Collection[str]
) -> Iterator[Finding]:
    """Yield files of the folder of directives that nothing reads: notes of a person's, or a mistyped name.

    Args:
        folder: The folder, which need not exist.
        beside: Names of files that belong there and are no directives.
        read: Paths that directives are read from.
        known: Names of the directives there are.
    """
    names = [*(f"{name}{FILE_SUFFIX}" for name in known), *beside]
    try:
        found = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        problem = os.strerror(error.errno or 0)
        yield Finding(folder.name, Verdict.WRONG, f"{folder} cannot be listed ({problem})", "make it a readable folder")
        return
    for name in found:
        if name.startswith(".") or name in beside or folder / name in read:
            continue
        near = get_close_matches(name.casefold(), names, n=1, cutoff=0.75)
        if near or name.casefold().endswith(FILE_SUFFIX):
            yield Finding(name, Verdict.NOTE, f"{folder / name} is read by nothing", _remedy(name, near, known))


def _remedy(name: str, near: Collection[str], known: Collection[str]) -> str:
    if name in near:
        return "the option `directives` names another file for it"
    return "".join(f"perhaps you mean {one}" for one in near) or f"directives are {', '.join(known)}"


def readers(known: Known) -> str:
    """Return the passes that send a directive.

    Example:
        >>> from dream.directives import KNOWN
        >>> readers(KNOWN["memory-rules"])
        'fact-mining, memory-consolidation, episodes and preferences'
    """
    *others, last = known.passes
    return f"{', '.join(others)} and {last}" if others else last
