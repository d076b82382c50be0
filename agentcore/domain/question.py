"""Defines a question about what is remembered that only a person can answer."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b

from agentcore.domain.evidence import SourceRef
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidContentError


class QuestionCause(StrEnum):
    """What made somebody ask."""

    NEAR_DUPLICATE = "near_duplicate"
    """The members share most of their rare words: they say the same, or contradict each other."""
    CLOSE_CALL = "close_call"
    """The members cannot both hold, and the evidence for each is about as strong."""
    CONTRADICTION = "contradiction"
    """The members contradict each other; whoever found it words the question."""


class QuestionState(StrEnum):
    """How far a question has come."""

    OPEN = "open"
    RESOLVED = "resolved"
    """Somebody said what holds (`verdict`)."""
    DISMISSED = "dismissed"
    """Somebody does not want to be asked; nothing was decided about the members."""


class QuestionVerdict(StrEnum):
    """What somebody said of the members."""

    KEPT = "kept"
    """One of them holds, and took the place of the others (`result`)."""
    REWRITTEN = "rewritten"
    """A new text took the place of all of them (`result`)."""
    DISTINCT = "distinct"
    """All of them hold and say different things: no dream puts them together, as long as their texts stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about records of one scope; asked by a dream or a person, answered by a person.

    A pass asks by `Proposal.questions` (`dream.passes.questions.question_about`). The step writer stores a question
    only if no other of its cause is open about all members, none was answered since their texts last changed,
    and nobody took it back by an undo. An open question of near-duplicates grows by members found later. `host.desk`
    lists and answers questions.

    A question is told to people as long as two of its members are active (`SqlQuestionReader.waiting`); when a
    member is forgotten, it goes, or shrinks by that member where it is an open one about near-duplicates.

    Args:
        id: Unique within the scope; `question_id` makes it of the members, so that a plan and its application agree.
        scope: Whose memory.
        cause: What made somebody ask.
        members: The records it is about, sorted, at least two; entries today.
        text: The question in words for a person. It must not quote a member: a quotation would outlive a `forget`.
        asked_at: When it was asked.
        asked_by: The pass that asked, or who else did, as in `answered_by`.
        similarity: How alike the members are at most, 0 to 1; None where that was not why it was asked.
        state: Open, resolved or dismissed.
        verdict: What was said; None unless it is resolved.
        result: The record that holds now; None unless the verdict is `kept` or `rewritten`.
        answered_by: Who answered, such as `person`; None while it is open.
        answered_at: When; None while it is open.
        reason: Why, in the words of whoever answered; None if they gave no reason.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    cause: QuestionCause
    members: tuple[SourceRef, ...]
    text: str
    asked_at: datetime
    asked_by: str
    similarity: float | None = None
    state: QuestionState = QuestionState.OPEN
    verdict: QuestionVerdict | None = None
    result: SourceRef | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None
    reason: str | None = None
    version: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Bring the members into their order, and refuse a question about fewer than two."""
        object.__setattr__(self, "members", tuple(sorted(set(self.members))))
        if len(self.members) < 2:
            raise InvalidContentError(field="members", problem="a question is about two records or more")

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.state is QuestionState.OPEN

    @property
    def member_ids(self) -> tuple[str, ...]:
        """The ids of the members."""
        return tuple(member.id for member in self.members)

    def still_answers(self, changed: datetime | None) -> bool:
        """Tell whether it is answered, and the texts of its members are the ones that the answer was about.

        Args:
            changed: When one of these texts was rewritten last; None if never.
        """
        return self.answered_at is not None and (changed is None or changed <= self.answered_at)

    def names(self, members: Collection[SourceRef]) -> bool:
        """Tell whether it is about all of *members*."""
        return set(members) <= set(self.members)


def question_id(cause: QuestionCause, members: Collection[tuple[SourceRef, int]]) -> str:
    """Return the id of a question about records in these versions.

    Example:
        >>> question_id(QuestionCause.CLOSE_CALL, [(SourceRef.parse("entry:a"), 1), (SourceRef.parse("entry:b"), 3)])
        '833b07b453cdfad87562a0775fb97f60'
    """
    told = "\x1f".join([cause.value, *sorted(f"{ref}@{version}" for ref, version in members)])
    return blake2b(told.encode(), digest_size=16).hexdigest()
