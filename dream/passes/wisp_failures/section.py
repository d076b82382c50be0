"""The section of a skill that tells of a failure pattern: fenced, so that a later one takes its place."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from agentcore.domain.signals import FailureCategory
from dream.passes.wisp_failures.patterns import Pattern

_LONGEST_TITLE: Final = 100
_PLAIN: Final = re.compile(r"[^\w ./:-]+")


def holds_section(content: str, key: str) -> bool:
    """Tell whether *content* has a section on the pattern."""
    # Most skills have none, and are many.
    return f"<!-- wisp-failure {key} -->" in content and _fenced(key).search(content) is not None


def with_section(content: str, key: str, section: str) -> str:
    """Return *content* with *section* in the place of the one on the same pattern, else at its end.

    Example:
        >>> first = with_section("1. Fetch.", "k", "Check the status.")
        >>> with_section(first, "k", "Retry twice.") == with_section("1. Fetch.", "k", "Retry twice.")
        True
    """
    fenced = f"<!-- wisp-failure {key} -->\n{section}\n<!-- end wisp-failure {key} -->"
    if holds_section(content, key):
        return _fenced(key).sub(lambda _: f"\n\n{fenced}", content, count=1).strip()
    return f"{content.rstrip()}\n\n{fenced}"


def without_section(content: str, key: str) -> str:
    """Return *content* without its section on the pattern.

    Example:
        >>> without_section(with_section("1. Fetch.", "k", "Check the status."), "k")
        '1. Fetch.'
    """
    return _fenced(key).sub("", content).strip()


def section_text(pattern: Pattern, category: FailureCategory, annotation: str) -> str:
    """Return what a skill is told: what was counted by the host, then what the model makes of it."""
    first, last = pattern.failures[0].occurred_at, pattern.failures[-1].occurred_at
    step = next(iter(named(run.failed_step_id for run in pattern.failures)), None)
    tool = next(iter(named(run.failed_tool_name for run in pattern.failures)), None)
    where = "".join(f", most often at the {kind} `{name}`" for kind, name in (("step", step), ("tool", tool)) if name)
    counted = (
        f"{category.value.capitalize()}: {len(pattern.failures)} of {pattern.runs} runs failed "
        f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}{where}."
    )
    return f"## Wisp failure pattern: {_plain(pattern.description)}\n\n{counted}\n\n{annotation}"


def is_fence(text: str) -> bool:
    """Tell whether *text* could end its section, or pretend to be another."""
    return "<!--" in text or "-->" in text


def _fenced(key: str) -> re.Pattern[str]:
    name = re.escape(key)
    return re.compile(rf"\s*<!-- wisp-failure {name} -->.*?<!-- end wisp-failure {name} -->", re.DOTALL)


def named(names: Iterable[str | None]) -> dict[str, int]:
    """Return how often each step or tool is named, the most frequent first.

    Example:
        >>> named(["parse", None, "fetch", "parse"])
        {'parse': 2, 'fetch': 1}
    """
    counted = Counter(_plain(name) for name in names if name)
    return {name: counted[name] for name in sorted(counted, key=lambda name: (-counted[name], name))}


def _plain(text: str) -> str:
    """Return *text* as words of one line: nothing in it is Markdown."""
    return " ".join(_PLAIN.sub(" ", text).replace("--", " ").split())[:_LONGEST_TITLE].strip()
