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


class Stop(StrEnum):
    """Why a model pass ended before all its batches were asked about; the rest waits for the next run."""

    RUN_BUDGET = "run_budget"
    """The next call could exceed the tokens of one run."""
    DAY_BUDGET = "day_budget"
    """The next call could exceed the tokens of the day."""


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
    ANSWER_CUT_OFF = "answer_cut_off"
    """The model's answer was cut off, and the batch cannot be made smaller."""
    ANSWER_UNREADABLE = "answer_unreadable"
    """The model's answer holds no one clear JSON object; the detail says what is wrong."""
    ANSWER_FILTERED = "answer_filtered"
    """The model's server withheld the answer."""
    ANSWER_TOOL_CALL = "answer_tool_call"
    """The model called a tool instead of answering."""
    CALL_FAILED = "call_failed"
    """The model's server refused this one call; the detail says why."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The question about a single record exceeds what the model can read."""
    BROKEN_ANSWER = "broken_answer"
    """The answer is JSON, but not in the shape asked for; nothing of it is used."""
    UNKNOWN_HANDLE = "unknown_handle"
    """It names a record that it was not shown."""
    HANDLE_REUSED = "handle_reused"
    """It uses a record in two changes."""
    NO_SOURCES = "no_sources"
    """It names no source."""
    LOST_DETAIL = "lost_detail"
    """The text lacks something specific that its sources say."""
    INVENTED_DETAIL = "invented_detail"
    """The text says something specific that no source says."""
    SHARE_CAP = "share_cap"
    """As many entries as one day allows were retired already; it is done once the cap has room."""
    PROTECTED_ENTRY = "protected_entry"
    """The entry is too important, or was seen too often, to be dropped."""
    QUOTE_NOT_FOUND = "quote_not_found"
    """The quote stands in none of the turns it cites."""
    NOT_EVIDENCE = "not_evidence"
    """What it rests on is no evidence: generated text, or the assistant's words that nobody confirmed."""
    CLOSE_CALL = "close_call"
    """The evidence for both sides is about as strong; it became an open question instead."""
    INVALID_CONTENT = "invalid_content"
    """The text, category or a tag cannot be stored."""
    SECRET = "secret"
    """The text looks like a password, a key, a token or a card number."""
    FORGOTTEN = "forgotten"
    """A person asked to forget this text."""


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
