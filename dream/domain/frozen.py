"""Freezes the directives of a run's model passes when it begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Problem = tuple[str, str]
"""Path of a directive's file, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenDirectives:
    """The directives of a run as they were when it began: a run that resumes says the same again.

    Args:
        texts: What each says, by its name.
        hashes: The name of each text in reports.
        problems: Those that cannot be used.
    """

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: Mapping[str, Problem] = field(default_factory=dict[str, Problem])

    def to_json(self) -> dict[str, Any]:
        """Return what the run's row keeps."""
        return {
            "texts": dict(self.texts),
            "hashes": dict(self.hashes),
            "problems": {name: list(problem) for name, problem in self.problems.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "FrozenDirectives":
        """Read what `to_json` wrote."""
        problems: dict[str, Problem] = {name: (path, what) for name, (path, what) in values.get("problems", {}).items()}
        return cls(texts=values.get("texts", {}), hashes=values.get("hashes", {}), problems=problems)
