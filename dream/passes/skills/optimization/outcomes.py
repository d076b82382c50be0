"""Counts how often each skill was used and failed, whatever it was called then."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agentcore.domain.memory import Status
from agentcore.domain.signals import Feedback, ToolCall
from agentcore.domain.skill import Skill, SkillUse
from agentcore.stores.storage import ReadView
from dream.passes.protocol import PassView
from dream.passes.skills.consolidation.judging import MERGE, REWRITE
from dream.passes.skills.failed_sessions import MOST_SIGNALS, tells_failure

WITHIN: Final = timedelta(minutes=30)
"""How long before the call that did a failed one may have been made."""
_MOST_FAILED: Final = 3
"""Failed calls kept of a retry, the latest."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A call that did, and the calls before it that did not.

    Args:
        worked: The call that did what it was made for.
        failed: Those of the same tool in the same session with other arguments, in the order of time.
    """

    worked: ToolCall
    failed: tuple[ToolCall, ...]


def find_retries(calls: Iterable[ToolCall]) -> dict[str, list[Retry]]:
    """Return the retries of each session, in the order of time; no failure is in two of them."""
    by_tool: defaultdict[tuple[str, str], list[ToolCall]] = defaultdict(list)
    for call in calls:
        by_tool[call.session_id, call.tool_name].append(call)
    found: defaultdict[str, list[Retry]] = defaultdict(list)
    for (session, _), mine in by_tool.items():
        found[session] += _retries(sorted(mine, key=lambda call: (call.occurred_at, call.id)))
    return {session: sorted(ones, key=in_time) for session, ones in found.items()}


def in_time(retry: Retry) -> tuple[datetime, str]:
    """Return what puts retries in the order of time."""
    return retry.worked.occurred_at, retry.worked.id


def _retries(calls: Sequence[ToolCall]) -> list[Retry]:
    """Return the retries among the calls of one tool in one session."""
    found: list[Retry] = []
    failed: list[ToolCall] = []
    for call in calls:
        if not call.succeeded:
            failed.append(call)
            continue
        since = call.occurred_at - WITHIN
        before = [one for one in failed if one.occurred_at >= since and one.arguments != call.arguments]
        if before:
            found.append(Retry(call, tuple(before[-_MOST_FAILED:])))
        failed.clear()
    return found


_KEEPS_ALL: Final = frozenset({MERGE, REWRITE})
"""Operations after which a skill says all that it said before."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a skill of this name said what another one, or the same, says now.

    Args:
        name: What it was called.
        since: Its beginning; None if it was always so.
        until: Its end; None if it lasts.
    """

    name: str
    since: datetime | None
    until: datetime | None

    def holds(self, at: datetime) -> bool:
        """Tell whether an instant is within it."""
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


@dataclass(frozen=True, slots=True)
class Lineage:
    """What is known of the past of skills.

    Args:
        parents: Retired skills by the name of the one that took their place.
        rewrites: Changes by skill id, newest first: the skill before and after, and whether it says all it said.
    """

    parents: Mapping[str, Sequence[Skill]]
    rewrites: Mapping[str, Sequence[tuple[Skill, Skill, bool]]]

    @classmethod
    def read(cls, view: PassView, *, used: Collection[str], failing: Collection[str]) -> "Lineage":
        """Read what the uses of skills need.

        Args:
            view: Where.
            used: Names under which skills were used.
            failing: Those of them that were used where something went wrong.
        """
        parents = _parents(view, used)
        heirs = {name for name, gone in parents.items() if any(one.name in failing for one in gone)}
        skills = [one for name in sorted({*failing, *heirs}) if (one := view.skills.named(name)) is not None]
        skills += [one for gone in parents.values() for one in gone]
        ids = {one.id for one in skills if one.updated_at is not None}
        rewrites: defaultdict[str, list[tuple[Skill, Skill, bool]]] = defaultdict(list)
        for row in reversed(view.books.journal.of_records(ids) if ids else []):
            before, after = row.record_before, row.record_after
            if isinstance(before, Skill) and isinstance(after, Skill):
                rewrites[row.record_id].append((before, after, row.operation in _KEEPS_ALL))
        return cls(parents, rewrites)

    def stretches(
        self, skill: Skill, skill_id: str | None = None, *, until: datetime | None = None
    ) -> Sequence[Stretch]:
        """Return the times in which the text of *skill* was in use, under its name and those of what went into it.

        Args:
            skill: A skill, or a former text of it.
            skill_id: Whose text it is, if it is a former one.
            until: When it went; None if it did not.
        """
        found: list[Stretch] = []
        open_texts = [(skill, skill_id or skill.id, until)]
        seen: set[str] = set()
        while open_texts:
            one, one_id, end = open_texts.pop()
            seen.add(one_id)
            since = self._since(one, one_id)
            found.append(Stretch(one.name, since, end))
            open_texts += [
                (parent, parent.id, gone)
                for parent in self.parents.get(one.name, ())
                if (gone := parent.status_at) is not None and parent.id not in seen
                if (since is None or gone > since) and (end is None or gone <= end)
            ]
        return found

    def _since(self, skill: Skill, skill_id: str) -> datetime | None:
        """Return when a skill began to say all that it says now; None if it always did."""
        text, since = skill.content, skill.updated_at
        for before, after, keeps_all in self.rewrites.get(skill_id, ()):
            if (after.content, after.updated_at) == (text, since):
                if not keeps_all:
                    break
                text, since = before.content, before.updated_at
        return since


def _parents(view: ReadView, used: Collection[str]) -> dict[str, list[Skill]]:
    """Return the retired skills among those used, and what they went into, by the name of their successor."""
    parents: defaultdict[str, list[Skill]] = defaultdict(list)
    live, seen = view.skills.names(), set[str]()
    wanted = view.skills.taken(set(used) - live)
    while wanted:
        seen |= wanted
        heirs: set[str] = set()
        for name in sorted(wanted):
            for skill in view.skills.ever_named(name):
                if skill.status is Status.ARCHIVED and skill.successor not in {None, skill.name}:
                    heirs.add(str(skill.successor))
                    parents[str(skill.successor)].append(skill)
        wanted = heirs - live - seen
    return dict(parents)


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
