"""How skills did: which sessions failed, and what each use came to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.signals import Feedback, FeedbackKind, Rating
from agentcore.domain.skill import Skill, SkillUse
from agentcore.stores.protocols import ReadView
from dream.passes.skill_optimization.retries import Retry, find_retries, in_time

MOST_SIGNALS: Final = 10_000
"""The newest so many uses, feedback rows and tool calls are looked at."""

_FAILURES: Final = frozenset({FeedbackKind.CORRECTION, FeedbackKind.THUMBS_DOWN})
_FAILING: Final = frozenset({Rating.POOR, Rating.FAIR})


def tells_failure(feedback: Feedback) -> bool:
    """Tell whether a signal says that its session failed; a rating is a rating, whatever the summary's words."""
    if feedback.kind is FeedbackKind.SESSION_SUMMARY:
        return feedback.rating in _FAILING
    return feedback.kind in _FAILURES


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Uses by the name of the skill, failures and retries by session, each in the order of time."""

    uses: Mapping[str, Sequence[SkillUse]]
    failures: Mapping[str, Sequence[Feedback]]
    retries: Mapping[str, Sequence[Retry]]

    @classmethod
    def read(cls, view: ReadView, as_of: datetime) -> "Outcomes":
        """Read what was logged up to *as_of*."""
        uses: defaultdict[str, list[SkillUse]] = defaultdict(list)
        failures: defaultdict[str, list[Feedback]] = defaultdict(list)
        for use in view.skill_uses.newest(limit=MOST_SIGNALS):
            if use.occurred_at <= as_of:
                uses[use.skill_name].append(use)
        for feedback in view.feedback.newest(limit=MOST_SIGNALS):
            if feedback.occurred_at <= as_of and tells_failure(feedback):
                failures[feedback.session_id].append(feedback)
        calls = [call for call in view.tool_calls.newest(limit=MOST_SIGNALS) if call.occurred_at <= as_of]
        return cls(dict(uses), dict(failures), find_retries(calls))

    def against(self, skill: Skill, *, since: datetime) -> list[Feedback]:
        """Return the failures of sessions that used *skill* as it is now, those before *since* left out.

        What happened before the last rewrite is no word on the present text.
        """
        start, sessions = max(since, skill.updated_at or since), self._sessions(skill)
        found = [one for session in sessions for one in self.failures.get(session, ()) if one.occurred_at >= start]
        return sorted(found, key=lambda one: (one.occurred_at, one.id))

    def retried(self, skill: Skill, *, since: datetime) -> list[Retry]:
        """Return the retries in sessions that used *skill* as it is now, those before *since* left out."""
        start, sessions = max(since, skill.updated_at or since), self._sessions(skill)
        found = [one for session in sessions for one in self.retries.get(session, ())]
        late = [one for one in found if one.failed[0].occurred_at >= start]
        return sorted(late, key=in_time)

    def _sessions(self, skill: Skill) -> set[str]:
        """Return the sessions that used *skill* as it is now."""
        return {
            use.session_id
            for use in self.uses.get(skill.name, ())
            if skill.updated_at is None or use.occurred_at >= skill.updated_at
        }

    def tally(self, name: str, *, since: datetime | None, until: datetime | None) -> tuple[int, int]:
        """Return how many uses of a time there were, and how many of them were in sessions that failed."""
        within = [
            use
            for use in self.uses.get(name, ())
            if (since is None or use.occurred_at >= since) and (until is None or use.occurred_at < until)
        ]
        return len(within), sum(use.session_id in self.failures for use in within)
