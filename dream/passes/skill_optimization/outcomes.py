"""How skills did: which sessions failed, and what each use came to."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.signals import Feedback, FeedbackKind, Rating
from agentcore.domain.skill import Skill, SkillUse
from dream.passes.protocol import PassView
from dream.passes.skill_optimization.lineage import Lineage
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
    """Uses by the name of the skill, failures and retries by session, each in the order of time; the past of skills."""

    uses: Mapping[str, Sequence[SkillUse]]
    failures: Mapping[str, Sequence[Feedback]]
    retries: Mapping[str, Sequence[Retry]]
    lineage: Lineage

    @classmethod
    def read(cls, view: PassView, as_of: datetime) -> "Outcomes":
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
        failing = {name for name, mine in uses.items() if any(use.session_id in failures for use in mine)}
        lineage = Lineage.read(view, used=uses.keys(), failing=failing)
        return cls(dict(uses), dict(failures), find_retries(calls), lineage)

    def against(self, skill: Skill, *, since: datetime) -> list[Feedback]:
        """Return the failures of sessions that used *skill* as it is now, or what went into it; none before *since*.

        What happened before the last rewrite is no word on the present text; a merge that keeps all is no rewrite.
        """
        found = {
            one.id: one
            for session, start in self._sessions(skill).items()
            for one in self.failures.get(session, ())
            if one.occurred_at >= max(since, start or since)
        }
        return sorted(found.values(), key=lambda one: (one.occurred_at, one.id))

    def retried(self, skill: Skill, *, since: datetime) -> list[Retry]:
        """Return the retries in sessions that used *skill* as it is now, those before *since* left out."""
        found = [
            one
            for session, start in self._sessions(skill).items()
            for one in self.retries.get(session, ())
            if one.failed[0].occurred_at >= max(since, start or since)
        ]
        return sorted(found, key=in_time)

    def tally(self, text: Skill, skill_id: str, *, until: datetime | None) -> tuple[int, int]:
        """Return how many uses a text had, and how many of them were in sessions that failed.

        Args:
            text: A skill, or a former text of it.
            skill_id: Whose text it is.
            until: When it was rewritten; None if it is in use.
        """
        stretches = self.lineage.stretches(text, skill_id, until=until)
        within = [use for one in stretches for use in self.uses.get(one.name, ()) if one.holds(use.occurred_at)]
        return len(within), sum(use.session_id in self.failures for use in within)

    def _sessions(self, skill: Skill) -> dict[str, datetime | None]:
        """Return the sessions that used *skill* as it is now, each with the beginning of the text that it used."""
        return {
            use.session_id: stretch.since
            for stretch in self.lineage.stretches(skill)
            for use in self.uses.get(stretch.name, ())
            if stretch.holds(use.occurred_at)
        }
