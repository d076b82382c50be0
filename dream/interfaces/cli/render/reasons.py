"""Puts reason codes in words for people."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from agentcore.domain.memory import MemoryEntry
from dream.domain.reasons import Deferral, NotUndone, Refused, Skip, Stop
from dream.interfaces.cli.render.text import Line, Lines, Tone, clip, counted, paragraph

if TYPE_CHECKING:
    from dream.domain.proposal import Refusal

_SHOWN = 3
"""Particulars shown of each code."""
_MAX_TEXT = 60
"""Columns shown of an entry that a refusal is about."""
_REFUSED = "refused  "
_ID = re.compile(r"\b\w{8,64}\b")
"""What may be an id of an entry; words that are none are looked up in vain."""

_WORDS = {
    Skip.DISABLED: "switched off by the options",
    Skip.NOT_REQUESTED: "the run was asked for other passes",
    Skip.MISSING: "something it needs is not there",
    Skip.NO_WORK: "nothing new, no backlog, nothing due",
    Skip.TOO_FEW_TURNS: "it waits for more turns",
    Skip.WORKSPACE: "its documents must be left alone",
    Skip.NOTHING_TO_CHANGE: "it looked, and found nothing that it may change",
    Skip.QUEUE_FULL: "enough proposals wait for you; approve or reject some first",
    Skip.REVIEW_BUDGET: "enough was proposed for one day",
    Refused.STALE_SOURCE: "a record changed meanwhile; the next run looks at it again",
    Refused.UNDONE_BY_PERSON: "a person took this very change back before",
    Refused.KEPT_APART: "a person said that these say different things",
    Refused.DESTROYS: "it would remove a record that it may at most archive",
    Refused.MISMATCHED: "what it calls before and after are two records",
    Refused.TRUST_RAISED: "it would lend a text more trust than its sources have",
    Refused.IMPORTANCE_RAISED: "it would lend a record more importance than its sources have",
    Refused.REINFORCEMENT_RAISED: "it would claim observations that its sources do not have",
    Refused.PINNED: "a person pinned the record",
    Refused.PROTECTED_CATEGORY: "the category is protected",
    Refused.NO_REASON: "it does not say why",
    Refused.TOO_FEW_OCCASIONS: "what it rests on was said on fewer than two independent occasions",
    Refused.TOO_MUCH_AGAINST: "too many occasions speak against the pattern",
    Refused.RESTATES: "it says only what one of its premises says already",
    Refused.NO_PREMISE: "it rests on a record that bears no conclusion",
    Refused.PREMISE_GONE: "what it rests on does not hold, or says something else by now",
    Refused.TOO_DEEP: "it would stand on more than two conclusions, one above the other, or on itself",
    Refused.TRANSITORY: "it tells of a passing moment or a guess instead of something that lasts",
    Refused.TOO_FEW_SOURCES: "a hypothesis rests on two records, and there were fewer",
    Refused.KNOWN_ALREADY: "every pair that could be proposed was looked at before",
    Refused.ALREADY_KNOWN: "an entry or a line of the card says it already",
    Refused.CARD_FULL: "the card is full, and no line was named that gives way",
    Refused.NEEDS_VERIFIER: "conclusions are read a second time: set `verification` to `verified`",
    Refused.MISFOUNDED: "a conclusion does not fit its premises",
    Refused.ANSWER_CUT_OFF: "the answer was cut off, and the question cannot be made smaller",
    Refused.ANSWER_UNREADABLE: "the answer holds no one clear JSON object; the next run asks again",
    Refused.ANSWER_FILTERED: "the server withheld the answer; the next run asks again",
    Refused.ANSWER_TOOL_CALL: "the model called a tool instead of answering; the next run asks again",
    Refused.TOO_MANY_ROUNDS: "the exchange had as many rounds as dreaming.model.max_rounds allows",
    Refused.CALL_FAILED: "the server refused this call; the next run asks again",
    Refused.PROMPT_TOO_LONG: "a single record is longer than what the model can read",
    Refused.PROMPT_TRUNCATED: "the server cut the prompt silently; give its model a larger context",
    Refused.BROKEN_ANSWER: "the answer is not in the shape asked for, and nothing of it is used",
    Refused.UNKNOWN_HANDLE: "it names a record that was not shown",
    Refused.HANDLE_REUSED: "it uses one record in two changes",
    Refused.NO_SOURCES: "it names no source",
    Refused.LOST_DETAIL: "it lacks something specific that its sources say",
    Refused.INVENTED_DETAIL: "it says something specific that no source says",
    Refused.TOO_LARGE: "one text of so many entries would be too long to check; they stay as they are",
    Refused.SHARE_CAP: "enough was retired or tidied for one day; it is done when there is room",
    Refused.SPLIT_IT: "it makes more than one claim, or takes more than 25 words",
    Refused.VERBATIM: "it was only kept word for word; MEMORY.md takes what is proven or verified",
    Refused.VERBATIM_CAP: "enough was kept word for word in one run; it waits, paid for, for the next",
    Refused.DENIED: "a second reading did not find it in its evidence",
    Refused.VERIFIER_UNRELIABLE: "the second reading was out of shape or wrong about what is known; it waits",
    Refused.UNVERIFIED: "it could not be read a second time; it waits with its answers for the next dream",
    Refused.UNANSWERED: "a further question could not be asked; it waits with its answers for the next dream",
    Refused.WAITED_TOO_LONG: "it waited as long as the options allow; what it was about is looked at anew",
    Refused.AWAITS_REVIEW: "a proposal about the same waits for you; it is taken up again once you decided",
    Refused.QUEUE_FULL: "enough proposals wait for you; it is taken up again once there is room",
    Refused.REVIEW_BUDGET: "enough was proposed for one day; it is taken up again on another",
    Refused.REJECTED: "you rejected it; it is not proposed again",
    Refused.DECIDED: "somebody else decided meanwhile",
    Refused.EXPIRED: "nobody approved it in time",
    Refused.OUTPUT_CAP: "enough was written in one run; it waits, paid for, for the next",
    Refused.PROTECTED_ENTRY: "too important, or seen too often, to be dropped",
    Refused.QUOTE_NOT_FOUND: "the quote stands in none of the turns it cites",
    Refused.NOT_EVIDENCE: "it rests on generated text, or on the assistant's words that nobody confirmed",
    Refused.TOO_FEW_CITATIONS: "it cites fewer records than it takes, or none that is new",
    Refused.UNRELATED: "what it brings together, or cites for something, has no word in common",
    Refused.CLOSE_CALL: "both sides are about as well founded; it is asked instead",
    Refused.NOT_LEARNABLE: "the failures came from outside; no skill can prevent them",
    Refused.INVALID_CONTENT: "its text, category or tags cannot be stored",
    Refused.SECRET: "it looks like a password, a key, a token or a card number",
    Refused.FORGOTTEN: "a person asked to forget this text",
    Refused.OFF_LIMITS: "it tells of a topic about which you want nothing kept",
    Refused.USER_TEXT: "a person wrote it; it is changed only where changes wait for approval",
    Refused.HAS_NESTED: "other items stand below it, or it below another",
    Refused.DOCUMENT_CHANGED: "somebody changed what the edits are about; what they wrote stays",
    Refused.DOCUMENT_WAITS: "the file cannot be written now; it is written as soon as it can be",
    Refused.DOCUMENT_FULL: "MEMORY.md has no room, and nothing that dreams wrote could make any",
    Refused.UNTRUSTED: "its origin is not trusted enough for MEMORY.md or the card",
    Refused.OWN_OUTPUT: "it is what a dream or a job reported, or was read in a document",
    Refused.CONTEXT_ONLY: "it would change a record that was shown for context alone",
    Refused.DISTINCT_MOMENTS: "its sources are about moments that cannot be the same",
    Refused.NO_SUCCESSOR: "it names nothing that is live, stays, and is about the same",
    Refused.WEAKER_EVIDENCE: "what would take the place is backed by less than what would go",
    Refused.MERGE_ONLY: "the cluster was shown again to be merged, not to be thinned out",
    Refused.NO_REPLACEMENT: "it retires a skill and names none that takes its place",
    Refused.NAME_TAKEN: "a skill has this name, or once had it",
    Refused.TOO_FEW_SESSIONS: "what it cites was asked for in fewer than two conversations",
    Refused.WORKED_WORSE: "the skill was like this before and failed more often",
    Refused.OVER_EAGER: "the answer would drop, or change, more of what it was shown than an answer may",
    Stop.RUN_BUDGET: "the tokens of one run are used up; the next run goes on",
    Stop.DAY_BUDGET: "the tokens of the day are used up; the first run of tomorrow goes on",
    Stop.DAY_CALLS: "the calls of the day are used up; the first run of tomorrow goes on",
    Stop.HOST_TOKENS: "all scopes together used up the tokens of the day; the first run of tomorrow goes on",
    Stop.BUDGET_TOO_SMALL: "the budget has no room for a single call, today or tomorrow",
    Stop.HOST_CALLS: "all scopes together used up the calls of the day; the first run of tomorrow goes on",
    Deferral.LEASE_HELD: "another process is dreaming on this scope; run again when it is done",
    Deferral.PAUSED: "the dreams of this scope are paused",
    Deferral.ALREADY_PENDING: "a dream was asked for before, and begins where a host is running",
    Deferral.DREAMING_OFF: "dreams are switched off here",
    Deferral.LEARNING_OFF: "nothing is learned here, so there is nothing to dream about",
    Deferral.NOT_DUE: "something happened meanwhile, so that it waits again",
    Deferral.WINDOW_SKIPPED: "its time passed while nobody watched, and is not made up for",
    NotUndone.CHANGED_SINCE: "the record changed since, and is left as it is",
    NotUndone.FORGOTTEN: "a person asked to forget the text",
    NotUndone.DOCUMENT_BARRED: "the workspace or one of its files cannot be read",
    NotUndone.PURGED: "retention removed the record for good",
    NotUndone.PROPOSAL_EXPIRED: "the change is taken back, but its proposal has expired and does not wait again",
}
_UNCOMMITTED = {
    "clean_tree": "the repository has it all as it is",
    "no_repository": "the workspace is no repository",
    "git_under_way": "somebody is in the middle of a rebase, a merge or the like; the next commit takes it along",
    "git_detached_head": "no branch is checked out; the next commit takes it along",
    "git_staged_by_others": "somebody staged another version of a file; the next commit takes it along",
    "git_locked": "another program is writing to the repository; the next commit takes it along",
    "git_off": "the options say that nothing is",
    "git_not_installed": "the extra `git` is not installed",
}
_BY_CODE = {code.value: words for code, words in _WORDS.items()}


def explained(reason: str | None) -> str:
    """Return a reason with its meaning, if it begins with a known code.

    Example:
        >>> explained("no_work")
        'nothing new, no backlog, nothing due (no_work)'
        >>> explained("missing: llm")
        'something it needs is not there (missing: llm)'
    """
    if reason is None:
        return ""
    code = reason.split(":")[0].split(" ")[0]
    return f"{_BY_CODE[code]} ({reason})" if code in _BY_CODE else reason


def committed(told: str) -> str:
    """Return the commit that a run made of its documents, or why there is none, in words.

    Example:
        >>> committed("862fcffe6f42e265d583b87d48b7511255e11024"), committed("git_off")
        ('commit 862fcffe', 'not committed: the options say that nothing is (git_off)')
    """
    return f"not committed: {_UNCOMMITTED[told]} ({told})" if told in _UNCOMMITTED else f"commit {told[:8]}"


def refused_about(refused: "Iterable[Refusal]") -> list[str]:
    """Return what may be ids of entries in the particulars that `refusal_lines` shows."""
    return [word for group in _grouped(refused).values() for detail in group[:_SHOWN] for word in _ID.findall(detail)]


def refusal_lines(
    refused: "Iterable[Refusal]", width: int, *, indent: str, entries: Mapping[str, MemoryEntry] | None = None
) -> Lines:
    """Yield a paragraph per code, how often and what it means, and below it the first particulars.

    Args:
        refused: What was refused.
        width: Columns of a line.
        indent: What stands before each line.
        entries: Entries by id, to be shown by what they say instead.
    """
    below = " " * len(indent + _REFUSED)
    for code, details in _grouped(refused).items():
        meaning = f": {_BY_CODE[code]}" if code in _BY_CODE else ""
        text = f"{counted(len(details), 'change')}, {code}{meaning}"
        yield from paragraph(text, width, first=indent + _REFUSED, tone=Tone.WARNING)
        for detail in details[:_SHOWN]:
            known = {} if code == Refused.SECRET else entries or {}  # it stays where it is: a report travels
            yield from paragraph(_told(detail, known), width, first=f"{below}- ")
        if len(details) > _SHOWN:
            yield Line(f"{below}- and {len(details) - _SHOWN} more", Tone.FAINT)


def _grouped(refused: "Iterable[Refusal]") -> Mapping[str, list[str]]:
    groups = groupby(sorted(refused, key=lambda item: item.code), key=lambda item: item.code)
    return {code: [item.detail for item in group] for code, group in groups}


def _told(detail: str, entries: Mapping[str, MemoryEntry]) -> str:
    def text(found: re.Match[str]) -> str:
        entry = entries.get(found[0])
        return found[0] if entry is None else f'"{clip(entry.content, _MAX_TEXT)}"'

    return _ID.sub(text, detail)
