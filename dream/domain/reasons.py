"""Reason codes: why a pass was skipped, a change refused, a run deferred."""

from enum import StrEnum


class Skip(StrEnum):
    """Why a pass did not run or had nothing to do."""

    DISABLED = "disabled"
    """Switched off by the options."""
    NOT_REQUESTED = "not_requested"
    """The run was asked for other passes."""
    MISSING = "missing"
    """Something it requires is not there; the report names it."""
    NO_WORK = "no_work"
    """Nothing new since it last looked, no backlog, nothing due."""
    NOTHING_TO_CHANGE = "nothing_to_change"
    """It looked, and found nothing that it may change."""


class Refused(StrEnum):
    """Why a proposed change was not made."""

    STALE_SOURCE = "stale_source"
    """A record changed since the pass read it; it is looked at again by the next run."""
    UNDONE_BY_PERSON = "undone_by_person"
    """A person took back this very operation before."""
    DESTROYS = "destroys"
    """It would remove a record that it may at most archive."""
    MISMATCHED = "mismatched"
    """What it calls before and after are two records."""
    TRUST_RAISED = "trust_raised"
    """It would lend a text more trust than its sources have."""
    IMPORTANCE_RAISED = "importance_raised"
    """It would lend a record more importance than its sources have."""
    REINFORCEMENT_RAISED = "reinforcement_raised"
    """It would claim observations that its sources do not have."""
    PINNED = "pinned"
    """A person pinned the record."""
    PROTECTED_CATEGORY = "protected_category"
    """A record stands in a category that no pass changes."""
    NO_REASON = "no_reason"
    """It does not say why."""


class Deferral(StrEnum):
    """Why a run did not start."""

    LEASE_HELD = "lease_held"
    """Another process is dreaming on the scope."""
    PAUSED = "paused"
    """A person paused the dreams of the scope."""


class NotUndone(StrEnum):
    """Why a change was not taken back."""

    CHANGED_SINCE = "changed_since"
    """The record changed since the run; it is left as it is."""
    FORGOTTEN = "forgotten"
    """A person asked to forget the text."""
    PURGED = "purged"
    """Retention removed the record for good."""
