"""Gives a turn what it should see of what the agent knows."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentcore.domain.card import CardLine
from agentcore.domain.conversation import Turn
from agentcore.domain.filters import TurnFilter
from agentcore.domain.hypothesis import Hypothesis
from agentcore.domain.memory import MemoryEntry, SourceRef
from agentcore.domain.question import QuestionCause
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.checks import clean_limit, clean_name, clean_query
from agentcore.hosting.context_block import (
    ContextItem,
    ContextPart,
    Filling,
    Offered,
    SharedBudget,
    asking,
    candidates,
    card_item,
    document_item,
    entry_item,
    finding_item,
    hypothesis_item,
    lines_of,
    newest_first,
    skill_item,
    standard_budgets,
    standing_item,
    text_of,
    wishes,
)
from agentcore.hosting.memory_items import MemoryItem, TellingItems
from agentcore.hosting.options import ContextOptions
from agentcore.hosting.write_behind import RecallNotes
from agentcore.recall.recall import Recall
from agentcore.recall.related_hypotheses import MOST_RELATED
from agentcore.recall.results import CombinedHit, Hit, ShownRecords, lineages, retellings_last, without_repeats_first
from agentcore.recall.skills import SkillHit
from agentcore.stores.storage import ReadView, Storage

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer
    from agentcore.workspace.workspaces import Workspaces

_SESSIONS: Final = 1_000
"""Conversations remembered; the one untouched for longest is forgotten, and given everything again."""


class _Given(NamedTuple):
    """A line that was given: at which turn, the record it tells whole, and what that was made of."""

    turn: int
    tells: SourceRef | None
    goes_back_to: frozenset[SourceRef]


@dataclass(slots=True)
class SessionWindow:
    """One conversation: what was given at which of its turns; one turn at a time."""

    turn: int = 0
    """Turns that were given a context."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _given: dict[str, _Given] = field(default_factory=dict[str, _Given])

    def begin(self, length: int) -> None:
        """Begin the next turn; what was given *length* turns ago is seen no longer."""
        self.turn += 1
        self._given = {line: given for line, given in self._given.items() if self.turn - given.turn < length}

    def shows(self, line: str) -> bool:
        """Tell whether the agent still sees this line."""
        return line in self._given

    def told(self) -> ShownRecords:
        """Return what the agent still sees of what was found for it."""
        told = ShownRecords()
        for given in self._given.values():
            if given.tells is not None:
                told.add(given.tells, given.goes_back_to)
        return told

    def give(self, line: str, tells: SourceRef | None, goes_back_to: frozenset[SourceRef]) -> None:
        """Note that the agent gets this line now, with the record it tells whole and what that was made of."""
        self._given[line] = _Given(self.turn, tells, goes_back_to)


class ContextWindows:
    """The windows of all conversations of a host; lives as long as it, in memory.

    A process that starts anew knows nothing of what was given before, and gives it again.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[Scope, str], SessionWindow] = OrderedDict()

    def of(self, scope: Scope, session_id: str) -> SessionWindow:
        """Return the window of a conversation, a new one if it has none."""
        window = self._sessions.setdefault((scope, session_id), SessionWindow())
        self._sessions.move_to_end((scope, session_id))
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        return window

    def forget(self, scope: Scope, session_id: str) -> None:
        """Note that the agent sees nothing any more of what it was given in a conversation."""
        self._sessions.pop((scope, session_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What one turn is given of what the agent knows; only what its conversation does not show already.

    Args:
        text: Everything as one block, for the prompt; empty if there is nothing new.
        tokens: What the block takes, never more than the budget.
        query: What was searched for: the message, with the turns before it where that is short.
        card: Lines of the peer card, in its order.
        always: Pinned entries and preferences: what answers the message first, then the most important.
        entries: Entries that answer the message, the best first.
        turns: Turns in which a person asked for what is to hold on, then turns that answer it, the best first.
        skills: Skills that do, the best first.
        document: Items of MEMORY.md, as the file has them.
        related_dreams: Hypotheses that have to do with the message: unproven, and no memory.
    """

    text: str
    tokens: int
    query: str
    card: tuple[CardLine, ...] = ()
    always: tuple[MemoryEntry, ...] = ()
    entries: tuple[MemoryEntry, ...] = ()
    turns: tuple[Turn, ...] = ()
    skills: tuple[Skill, ...] = ()
    document: tuple[str, ...] = ()
    related_dreams: tuple[Hypothesis, ...] = ()


Findings: TypeAlias = list[CombinedHit]

_ALWAYS_READ: Final = 100
_TURNS_BEFORE: Final = 2
"""Turns before a short message that are searched for with it."""
_END_OF_A_TURN: Final = 2_000
"""Characters of each of them, its last: of a longer query recall would not read the message."""


@cache
def _tokenizer() -> "Tokenizer":
    # Who never asks for a context waits for no tokenizer.
    from agentcore.recall.tokenizer import Tokenizer  # noqa: PLC0415

    return Tokenizer()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParts:
    """What `Context` works with; lives as long as the host.

    Args:
        storage: Where records are kept.
        recall: Finds them.
        notes: Records what was needed.
        windows: Knows what the agent still sees.
        options: What a turn is given.
        workspaces: Where MEMORY.md is; None without.
    """

    storage: Storage
    recall: Recall
    notes: RecallNotes
    windows: ContextWindows
    options: ContextOptions
    workspaces: "Workspaces | None" = None


def _disputed(view: ReadView) -> dict[str, str]:
    asked = view.questions.waiting(QuestionCause.CONTRADICTION)
    return {member: question.text for question in asked for member in question.member_ids}


@dataclass(frozen=True, slots=True)
class _AtHand:
    """What needs no search."""

    recent: Sequence[Turn]
    """Turns that the agent still sees."""
    always: Sequence[MemoryEntry]
    """What is always loaded, the most important first."""
    made_of: AbstractSet[SourceRef]
    """What that goes back to."""
    disputed: Mapping[str, str]
    """Open questions about contradictions, by the id of each entry that they are about."""
    card: Sequence[CardLine]
    """The lines of the card, in its order."""


@dataclass(frozen=True, slots=True)
class _Material:
    """What may be shown, the best first."""

    always: Sequence[MemoryEntry]
    findings: Sequence[CombinedHit]
    standing: Sequence[CombinedHit]
    skills: Sequence[SkillHit]
    not_counted: int
    """Records that the search may have found, and that are shown elsewhere."""
    disputed: Mapping[str, str]
    """Open questions about contradictions, by the id of each entry that they are about."""
    card: Sequence[CardLine]
    """The lines of the card, in its order."""


class Context:
    """What one scope's memory, conversations and skills give to a turn.

    Args:
        scope: Whose they are.
        parts: What it works with.
    """

    def __init__(self, scope: Scope, *, parts: ContextParts) -> None:
        self._scope = scope
        self._parts = parts

    @property
    def scope(self) -> Scope:
        """Whose memory, conversations and skills they are."""
        return self._scope

    async def for_turn(self, session_id: str, message: str, *, budget_tokens: int) -> TurnContext:
        """Return what the agent should see before it answers *message*.

        First come the peer card, what is always loaded (what answers the message before the rest), MEMORY.md, skills,
        and what persons asked for that is to hold on, each within its share of the budget (an entry that an item of
        MEMORY.md tells is not given twice), then the entries and turns that answer best, until the budget is full; of a
        long one the sentences that answer. A bigger budget gives all that a smaller one does. What the conversation was
        given in its last turns is not given again, and a note and the turn it was taken from only where everything else
        has had its place. The entries given count as needed (see `Memory.uses`).

        Args:
            session_id: The conversation; its turns in the log that the agent still sees are left out.
            message: What the person says now; in the log or not yet.
            budget_tokens: Tokens the block may take, 0 or more.

        Raises:
            InvalidInputError: the session cannot be named so, the message is no text, or the budget is below 0.
        """
        session, text = clean_name("session id", session_id), clean_query(message)
        if budget_tokens < 0:
            raise InvalidOptionsError(field="budget_tokens", value=budget_tokens, allowed="give 0 or more")
        window = self._parts.windows.of(self._scope, session)
        async with window.lock:
            window.begin(self._parts.options.window)
            at_hand = await self._parts.storage.read(self._scope, partial(self._at_hand, session=session))
            document = await self._document()
            query = self._query(text, at_hand.recent)
            material = await self._material(query, at_hand, budget_tokens)
            guesses, related = await self._guesses(query, material, budget_tokens)
            kept = int(self._parts.options.hypotheses_share * budget_tokens) if guesses else 0
            items = [*self._chosen(material, document, window, budget_tokens - kept), *guesses]
            for item in items:
                window.give(item.line, item.tells, item.finding.goes_back_to if item.finding else frozenset())
        block = text_of(items)
        self._note(query, items, session)
        return TurnContext(
            text=block,
            tokens=self._parts.options.count_tokens(block),
            query=query,
            card=tuple(one.record for one in lines_of(items, ContextPart.CARD) if isinstance(one.record, CardLine)),
            always=tuple(
                one.record for one in lines_of(items, ContextPart.ALWAYS) if isinstance(one.record, MemoryEntry)
            ),
            entries=tuple(
                one.record for one in lines_of(items, ContextPart.MEMORY) if isinstance(one.record, MemoryEntry)
            ),
            turns=tuple(
                {
                    turn.id: turn for one in items if one.finding and isinstance(turn := one.finding.record, Turn)
                }.values()
            ),
            skills=tuple(hit.skill for hit in material.skills if any(one.record is hit.skill for one in items)),
            document=tuple(one.line for one in lines_of(items, ContextPart.DOCUMENT)),
            related_dreams=related,
        )

    async def _guesses(
        self, query: str, material: _Material, budget_tokens: int
    ) -> tuple[list[ContextItem], tuple[Hypothesis, ...]]:
        """Return lines of hypotheses that fit into their share, and the hypotheses."""
        share = int(self._parts.options.hypotheses_share * budget_tokens)
        if not share:
            return [], ()
        entries = [one.record.id for one in material.findings if isinstance(one.record, MemoryEntry)]
        found = await self._parts.recall.hypotheses.beside(self._scope, query, entries, limit=MOST_RELATED)
        lines: list[ContextItem] = []
        for one in found:
            more = [*lines, hypothesis_item(one.hypothesis)]
            if self._parts.options.count_tokens(text_of(more)) > share:
                break
            lines = more
        return lines, tuple(one.hypothesis for one in found[: len(lines)])

    def forget_window(self, session_id: str) -> None:
        """Have a conversation given everything again, as after its history was cut or summarised."""
        self._parts.windows.forget(self._scope, clean_name("session id", session_id))

    async def recall(self, query: str, k: int = 10, *, besides: str | None = None) -> Findings:
        """Return the *k* entries and turns that answer *query* best, in one ranking (see `agentcore.recall.combined`).

        An entry and a turn it was taken from are not both among the best: the worse of them stands behind all others.
        Nothing counts as needed.

        Args:
            query: What is asked; one without a word finds nothing.
            k: How many at most, 1 or more.
            besides: A conversation whose turns are left out, such as the one the agent still sees.

        Raises:
            InvalidOptionsError: *k* is below 1, or the query is no text.
        """
        k = clean_limit(k)
        turns = None if besides is None else TurnFilter(besides=clean_name("session id", besides))
        found = await self._parts.recall.together.search(self._scope, clean_query(query), k=k, turns=turns)
        return without_repeats_first(found.findings)[:k]

    def _at_hand(self, view: ReadView, *, session: str) -> "_AtHand":
        """Return what needs no search."""
        said = view.turns.session(session, limit=max(2 * self._parts.options.window, _TURNS_BEFORE + 1))
        withheld = view.withheld.turns([turn.id for turn in said])
        recent = [turn for turn in said if turn.id not in withheld]
        always = view.entries.always(self._parts.options.always_categories, limit=_ALWAYS_READ)
        made_of = lineages(view, always) if self._parts.options.always_share else {}
        return _AtHand(
            recent,
            sorted(always, key=lambda one: (-one.importance, one.id)),
            frozenset[SourceRef]().union(*made_of.values()),
            _disputed(view),
            view.card.lines() if self._parts.options.card_share else [],
        )

    def _query(self, message: str, recent: Sequence[Turn]) -> str:
        if len(message.split()) > self._parts.options.short_message_words:
            return message
        said = [turn.content for turn in recent if not turn.generated]
        before = said[:-1] if said and said[-1] == message.strip() else said
        return "\n".join([*(content[-_END_OF_A_TURN:] for content in before[-_TURNS_BEFORE:]), message])

    async def _material(self, query: str, at_hand: "_AtHand", budget: int) -> _Material:
        visible, loaded = {turn.id for turn in at_hand.recent}, {entry.id for entry in at_hand.always}
        not_counted, largest = len(loaded) + len(visible), standard_budgets(budget)[-1]
        found = await self._parts.recall.together.search(
            self._scope,
            query,
            k=candidates(largest) + not_counted,
            skills=self._parts.options.max_skills,
            fill=True,
            standing=wishes(largest) + not_counted if self._parts.options.standing_share else 0,
        )
        findings = [
            one for one in found.findings if one.record.id not in (visible if isinstance(one.record, Turn) else loaded)
        ]
        # Among the first, which every budget looks at: a bigger one must not order them anew.
        places = {one.record.id: place for place, one in enumerate(found.findings[: candidates(0)])}
        always = sorted(at_hand.always, key=lambda one: places.get(one.id, len(places)))
        told = at_hand.made_of
        standing = [one for one in found.standing if one.record.id not in visible and one.reference not in told]
        findings = retellings_last(findings, _tokenizer())
        return _Material(always, findings, standing, found.skills, not_counted, at_hand.disputed, at_hand.card)

    async def _document(self) -> Sequence[MemoryItem]:
        """Return what MEMORY.md says; nothing where there is none, or it cannot be read now."""
        if self._parts.workspaces is None or not self._parts.options.document_share:
            return ()
        from agentcore.hosting.memory_file import memory_items  # noqa: PLC0415 - most hosts have no workspace

        return await asyncio.to_thread(memory_items, self._parts.workspaces, self._scope)

    def _chosen(
        self, material: _Material, document: Sequence[MemoryItem], window: SessionWindow, budget: int
    ) -> list[ContextItem]:
        """Return the lines that are given; an entry that is contradicted with the question to ask."""
        options = self._parts.options
        filling = Filling(cache(options.count_tokens), budget)

        def new(items: Iterable[ContextItem]) -> list[ContextItem]:
            return [item for item in items if not window.shows(item.line)]

        # The card and what is always loaded have their shares first, even where all shares are more than everything.
        left = 1.0 - (options.card_share if material.card else 0.0)
        card = filling.shared(new(map(card_item, material.card)), 1.0 - left)
        always_share = min(options.always_share, left)
        left -= always_share
        written, told = self._written(document, filling, window, min(options.document_share, left))
        always = [one for one in material.always if not told.tell(one)]
        loaded = filling.shared(new(asking(entry_item(one), material.disputed) for one in always), always_share)
        left -= min(options.document_share, left) if document else 0.0
        skills = filling.shared(new(skill_item(hit.skill) for hit in material.skills), min(options.skills_share, left))
        findings = [one for one in material.findings if not told.tell(one.record)]
        items_found = [(one, asking(finding_item(one), material.disputed)) for one in findings]
        found = [(one, item) for one, item in items_found if not window.shows(item.line)]
        asked = [(one, item) for one in material.standing if not window.shows((item := standing_item(one)).line)]
        offered = Offered(found, asked, options.standing_share, material.not_counted)
        chosen = filling.found(offered, window.told(), (card, loaded, written, skills))
        shared = (one for part in (card, loaded, written, skills) for one in filling.taken(part))
        items = [*shared, *newest_first(chosen)]
        while items and options.count_tokens(text_of(items)) > budget:
            # A counter may find more in the whole than in its lines.
            items.pop()
        return items

    @staticmethod
    def _written(
        document: Sequence[MemoryItem], filling: Filling, window: SessionWindow, share: float
    ) -> tuple[SharedBudget, TellingItems]:
        """Return the lines of MEMORY.md within their share, and which of its items the agent sees then."""
        lines = [(item, document_item(item.text)) for item in document]
        written = filling.shared([line for _, line in lines if not window.shows(line.line)], share)
        given = {line.line for line in filling.taken(written)}
        seen = [item for item, line in lines if line.line in given or window.shows(line.line)]
        return written, TellingItems.of(seen)

    def _note(self, query: str, items: Sequence[ContextItem], session: str) -> None:
        hits = [
            Hit(item.record, item.finding.score)
            for item in lines_of(items, ContextPart.MEMORY)
            if item.finding is not None and isinstance(item.record, MemoryEntry)
        ]
        self._parts.notes.note(self._scope, query, hits, session_id=session)
