"""Occasions: what a preference rests on, and how many times it was shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import SourceKind, SourceRef, Trust
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.text import normalise
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.options import PreferenceOptions
from dream.passes.conversation.evidence import Claim, Evidence, cited_turns, holds_quote, partners_of, said_before
from dream.passes.conversation.lines import Shown
from dream.passes.conversation.neighbours import near_turns
from dream.passes.conversation.statement import shortened
from dream.passes.preferences.answer import Item, Sentiment
from dream.passes.prompts import feedback_text

_OF_PEOPLE: Final = frozenset({FeedbackKind.CORRECTION, FeedbackKind.THUMBS_UP, FeedbackKind.THUMBS_DOWN})
"""Feedback that people gave; summaries, failures and retries are a machine's word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasions:
    """What a preference rests on.

    Args:
        evidence: Its turns; `quoted` is the newest one of a user where the quote stands in feedback.
        feedback: What people signalled, in the order in which it is cited.
    """

    evidence: Evidence
    feedback: tuple[Feedback, ...] = ()

    @property
    def heard(self) -> tuple[Turn, ...]:
        """Turns of people among its sources."""
        return self.evidence.heard

    @property
    def count(self) -> int:
        """Distinct occasions: a signal that only repeats a cited turn of its session is none of its own."""
        return len(self.heard) + sum(not _echoes(one, self.heard) for one in self.feedback)

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns and feedback, sorted."""
        turns = {SourceRef(SourceKind.TURN, turn.id) for turn in self.evidence.turns}
        return tuple(sorted(turns | {SourceRef(SourceKind.FEEDBACK, one.id) for one in self.feedback}))

    @property
    def trust(self) -> Trust:
        """The least trust of its turns, and never more than an inference deserves."""
        return min([Trust.INFERRED, *(turn.trust for turn in self.evidence.turns)])

    @property
    def said(self) -> list[datetime]:
        """When its turns were said."""
        return [turn.occurred_at for turn in self.evidence.turns]

    def reason(self) -> str:
        """Return why the preference is inferred, in words for people."""
        times = "once" if self.count == 1 else f"{self.count} times"
        return f'inferred from what was shown {times}, such as "{shortened(self.evidence.quote)}"'


@dataclass(frozen=True, slots=True)
class _OfTurns:
    """The part of a claim that is about turns."""

    label: str
    content: str
    handles: tuple[str, ...]
    quote: str


def occasions_of(
    item: Item,
    shown: Mapping[str, Shown],
    feedback: Mapping[str, Feedback],
    *,
    turn_handles: frozenset[str],
    feedback_handles: frozenset[str],
) -> Occasions | Refusal:
    """Return what a preference rests on, or why it must not.

    Args:
        item: The preference.
        shown: Turns of the prompt that are still as they were, by handle.
        feedback: Feedback of the prompt that is still there, by handle.
        turn_handles: All handles of turns in the prompt.
        feedback_handles: All handles of feedback in the prompt.
    """
    of_feedback = [handle for handle in item.handles if handle in feedback_handles]
    claim = _OfTurns(
        item.label, item.content, tuple(one for one in item.handles if one not in feedback_handles), item.quote
    )
    valid = cited_turns(claim, shown, turn_handles)
    if isinstance(valid, Refusal):
        return valid
    if any(handle not in feedback for handle in of_feedback):
        return Refusal(Refused.STALE_SOURCE, f"{item.label} cites feedback that is gone")
    signals = tuple(feedback[handle] for handle in of_feedback if feedback[handle].kind in _OF_PEOPLE)
    quoted = _quoted(claim, valid, signals)
    if quoted is None:
        return Refusal(Refused.QUOTE_NOT_FOUND, f"{item.label} has a quote that none of the people it cites said")
    quote = " ".join(item.quote.split()).strip(" \"'")
    turns = tuple(one.turn for one in valid)
    said = [*shown.values()]
    evidence = Evidence(
        turns,
        quoted,
        quote,
        partners_of(valid, said),
        near=near_turns(valid, said),
        before=said_before(valid, said),
    )
    return Occasions(evidence=evidence, feedback=signals)


def too_few(item: Item, occasions: Occasions, terms: PreferenceOptions) -> Refusal | None:
    """Return a refusal if a preference was not shown often enough for how strongly it was voiced."""
    least = {
        Sentiment.IRRITATED: terms.when_irritated,
        Sentiment.FRUSTRATED: terms.when_frustrated,
        Sentiment.CASUAL: terms.when_casual,
    }[item.sentiment]
    if occasions.count >= least:
        return None
    problem = f"{item.label} ({item.sentiment}) cites {occasions.count} of the {least} occasions it takes"
    return Refusal(Refused.TOO_FEW_CITATIONS, problem)


def _quoted(claim: Claim, valid: Sequence[Shown], signals: Sequence[Feedback]) -> Turn | None:
    """Return the turn of a person that holds the quote; the newest one if only feedback does."""
    heard = [one.turn for one in valid if one.turn.role == "user"]
    holder = next((turn for turn in heard if holds_quote(turn.content, claim.quote)), None)
    if holder is None and any(holds_quote(feedback_text(one), claim.quote) for one in signals):
        return heard[-1]
    return holder


def _echoes(signal: Feedback, heard: Sequence[Turn]) -> bool:
    """Tell whether a signal says what a turn of its session says: a correction detector makes one of the other."""
    text = normalise(feedback_text(signal))
    said = [normalise(turn.content) for turn in heard if turn.session_id == signal.session_id]
    return any(one in text or text in one for one in said)
