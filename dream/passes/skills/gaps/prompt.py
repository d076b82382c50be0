"""Asks the model for missing skills: new turns, how earlier sessions began, and the skills there are."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.skill import Skill
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.recall.tokenizer import Tokenizer
from dream.domain.step import Batch
from dream.passes.answers import answer_form, item_schema
from dream.passes.commonplace import no_topics
from dream.passes.prompts import PartForm, ReaderPart, build_request, fenced, quoted, sliced
from dream.passes.protocol import ModelContext
from dream.passes.skills.answers import NewSkillDraft
from dream.passes.terms import terms_of


def catalogue_line(skill: Skill) -> str:
    """Return a skill as one line of the catalogue."""
    return f"- name={quoted(skill.name)} summary={quoted(skill.summary)}"


class Catalogue:
    """The skills there are, weighed and cut into terms once for all questions of a run; lives as long as it.

    Args:
        skills: Them, by name.

    Attributes:
        skills: Them.
        names: Their names in small letters.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = skills
        self.names = frozenset(skill.name.casefold() for skill in skills)
        self._tokens = [estimate_tokens(f"{catalogue_line(skill)}\n") for skill in skills]
        self._all = sum(self._tokens)
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, skill in enumerate(skills):
            for term in set(terms_of(f"{skill.name} {skill.summary}")):
                self._holders[term].append(place)

    def shown(self, texts: Iterable[str], *, room: int) -> list[Skill]:
        """Return the skills that fit into *room* tokens, by name; if not all do, those most like *texts*.

        Likeness is the sum of the weights of the terms that a skill's name and summary share with the texts; a term
        weighs more the fewer skills have it.
        """
        if self._all <= room:
            return list(self.skills)
        likeness = [0.0] * len(self.skills)
        for term in sorted({term for text in texts for term in terms_of(text)} & self._holders.keys()):
            holders = self._holders[term]
            weight = log(1 + len(self.skills) / len(holders))
            for place in holders:
                likeness[place] += weight
        kept: list[int] = []
        for place in sorted(range(len(self.skills)), key=lambda place: (-likeness[place], place)):
            room -= self._tokens[place]
            if room < 0:
                break
            kept.append(place)
        return [self.skills[place] for place in sorted(kept)]


_FEWEST_SESSIONS = 2
_SEVERAL, _COMMON = 6, 0.5
"""From so many sessions on, what stands in more than this share of them tells nothing."""
_SHORTEST = 2
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Openings:
    """The first messages of sessions, cut into terms.

    Args:
        turns: By session, the session begun last at the end.
        terms: By session, each term once.
        words: How each term is written most often.
        names: Terms of the names of those who speak, which no request is about.
    """

    turns: Mapping[str, Turn]
    terms: Mapping[str, frozenset[str]]
    words: Mapping[str, str]
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, openings: Sequence[Turn], tokenizer: Tokenizer) -> "Openings":
        """Read the first message of each session, in the order they were said."""
        spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        terms: dict[str, frozenset[str]] = {}
        for turn in openings:
            found = frozenset(term for term in tokenizer.tokens(turn.content) if _tells(term))
            terms[turn.session_id] = found
            for word in turn.content.split():
                cut = tokenizer.tokens(word)
                bare = word.casefold().strip(".,;:!?()[]{}\"'`*_")
                if len(cut) == 1 and cut[0] in found and len(bare) <= _LONGEST_WORD:
                    spellings[cut[0]][bare] += 1
        words = {term: _commonest(counted) for term, counted in spellings.items()}
        names = frozenset(term for turn in openings for term in tokenizer.tokens(turn.speaker or ""))
        return cls({turn.session_id: turn for turn in openings}, terms, words, names)

    def with_turns(self, turns: Iterable[Turn]) -> "Openings":
        """Return them with the terms of all that people say in these turns: a request may come late in a session."""
        said: defaultdict[str, set[str]] = defaultdict(set)
        names = set(self.names)
        for turn in turns:
            if turn.role == "user":
                said[turn.session_id].update(filter(_tells, terms_of(turn.content)))
                names.update(terms_of(turn.speaker or ""))
        more = {session: self.terms.get(session, frozenset()) | found for session, found in said.items()}
        return replace(self, terms={**self.terms, **more}, names=frozenset(names))

    def recurring(self, within: Collection[str], *, most: int) -> list[tuple[str, int]]:
        """Return terms of two sessions or more, at least one of them *within*, with the count of their sessions.

        The most frequent come first. Left out are little words and greetings of any language, whatever language a turn
        is in, the names of those who speak and, where there are several sessions, what stands in most of them.

        Example:
            >>> from datetime import UTC, datetime
            >>> from agentcore.domain.scope import Scope
            >>> at = datetime(2025, 6, 14, tzinfo=UTC)
            >>> said = {"s1": "Summarize my email", "s2": "Email again: summarizing, please", "s3": "What is the time?"}
            >>> turns = [
            ...     Turn(id=one, scope=Scope.default(), session_id=one, role="user", content=text, occurred_at=at,
            ...          recorded_at=at)
            ...     for one, text in said.items()
            ... ]
            >>> Openings.of(turns, Tokenizer()).recurring(["s1"], most=15)
            [('email', 2), ('summar', 2)]
        """
        counted = Counter(term for found in self.terms.values() for term in found)
        wanted = {term for session in within for term in self.terms.get(session, ())}
        most_sessions = len(self.terms) * (_COMMON if len(self.terms) >= _SEVERAL else 1)
        frequent = [
            (term, counted[term])
            for term in wanted - self.names
            if _FEWEST_SESSIONS <= counted[term] <= max(_FEWEST_SESSIONS, most_sessions)
        ]
        return sorted(frequent, key=lambda item: (-item[1], item[0]))[:most]

    def written(self, term: str) -> str:
        """Return how a term is written most often."""
        return self.words.get(term, term)


def _tells(term: str) -> bool:
    return len(term) >= _SHORTEST and any(map(str.isalpha, term)) and term not in no_topics()


def _commonest(counted: Counter[str]) -> str:
    return min(counted, key=lambda word: (-counted[word], word))


_FORM: Final = answer_form("skill_gaps", toSave=item_schema(NewSkillDraft))
_FIELDS: Final = """\
Each item is a new skill with "name", such as "mail/summarize", "summary", "content" in Markdown, and "sourceTurns", the
handles of the users' turns that ask for it, from two sessions or more, such as ["t1", "t7"]."""
_CONTRACT: Final = f"""\
Answer with {{"toSave": [...]}}; an empty list is a good answer. {_FIELDS}"""
_ITEMS: Final = f"Items, no rows. {_FIELDS}"
_PART: Final = PartForm("toSave", item_schema(NewSkillDraft))

_TURNS: Final = "Conversation, by session:"
_TERMS: Final = "Recurring topics, and in how many sessions:"
_CATALOGUE: Final = "Catalogue of skills:"
_NO_SKILLS: Final = "There is no skill yet."
_HANDLE: Final = "t9999"
_EARLIER: Final = " read-before"


@dataclass(frozen=True, slots=True)
class OpeningTurn:
    """A turn of a prompt.

    Args:
        handle: What the answer calls it.
        turn: It.
        is_new: Whether the batch settles it; else it is how another session began.
    """

    handle: str
    turn: Turn
    is_new: bool


def opening_turns(batch: Batch, stored: Mapping[str, Turn]) -> list[OpeningTurn]:
    """Return the turns of a batch that are as they were packed, by session, sessions in the order they began."""
    new = len(batch.members)
    found = [
        OpeningTurn(f"t{place}", sliced(batch, stored[turn_id]) if place <= new else stored[turn_id], place <= new)
        for place, (turn_id, version) in enumerate((*batch.members, *batch.beside), 1)
        if turn_id in stored and stored[turn_id].version == version
    ]
    began: dict[str, tuple[object, ...]] = {}
    for one in found:
        at = (one.turn.occurred_at, one.turn.session_id)
        began[one.turn.session_id] = min(at, began.get(one.turn.session_id, at))
    # The place in the batch tells turns of one instant apart: members stand in the order they were said.
    return sorted(found, key=lambda one: (began[one.turn.session_id], one.turn.occurred_at, int(one.handle[1:])))


def line(handle: str, turn: Turn, mark: str = "") -> str:
    """Return a turn as one line of data."""
    said_at = f"{turn.occurred_at:%Y-%m-%dT%H:%MZ}"
    return f"[{handle}] session={quoted(turn.session_id)} at={said_at} role={turn.role}{mark} {quoted(turn.content)}"


def longest_line(turn: Turn) -> str:
    """Return the line of a turn as it takes most room: what packing counts with."""
    return line(_HANDLE, turn, _EARLIER)


def frame(marker: str) -> str:
    """Return the question without any data."""
    blocks = (fenced(marker, title, ()) for title in (_TURNS, _TERMS, _CATALOGUE))
    return "\n\n".join((*blocks, f"{_hidden(99_999)}", _CONTRACT))


def question(
    context: ModelContext,
    shown: Sequence[OpeningTurn],
    *,
    recurring: Sequence[tuple[str, int]],
    openings: Openings,
    skills: Sequence[Skill],
    hidden: int,
    directives: Sequence[str],
    purpose: str,
) -> ChatRequest:
    """Return the request.

    Args:
        context: The run's.
        shown: The turns.
        recurring: Terms with the count of their sessions.
        openings: How those terms are written.
        skills: The part of the catalogue that is shown.
        hidden: How many other skills there are.
        directives: Names of the directives.
        purpose: The pass's name.
    """
    turns = [line(one.handle, one.turn, "" if one.is_new else _EARLIER) for one in shown]
    beside = _beside(context.marker, recurring, openings, skills, hidden)
    blocks = [fenced(context.marker, _TURNS, turns), *beside, _CONTRACT]
    return build_request(context, directives=directives, blocks=blocks, answer=_FORM, purpose=purpose)


def part(
    context: ModelContext,
    *,
    recurring: Sequence[tuple[str, int]],
    openings: Openings,
    skills: Sequence[Skill],
    hidden: int,
    directives: Sequence[str],
    reader: str,
) -> ReaderPart:
    """Return what the pass adds to a question that it shares; the arguments are those of `question`."""
    blocks = _beside(context.marker, recurring, openings, skills, hidden)
    return ReaderPart(reader=reader, instructions=directives, contract=_ITEMS, form=_PART, blocks=blocks)


def _beside(
    marker: str, recurring: Sequence[tuple[str, int]], openings: Openings, skills: Sequence[Skill], hidden: int
) -> list[str]:
    terms = [f"- {quoted(openings.written(term))}={count}" for term, count in recurring]
    return [
        *([fenced(marker, _TERMS, terms)] if terms else []),
        fenced(marker, _CATALOGUE, [catalogue_line(skill) for skill in skills]) if skills else _NO_SKILLS,
        *([_hidden(hidden)] if hidden else []),
    ]


def _hidden(count: int) -> str:
    return f"{count:,} more skills, less like this conversation, are not shown."
