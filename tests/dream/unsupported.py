"""What no answer of a model may do to a memory, found without asking the passes or their guards.

The words are compared in the plainest way there is: every run of digits and every word with a capital must stand in a
source. That is less than the guards look for, and knows nothing of how they look for it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agentcore.domain import Feedback, MemoryEntry, SourceKind, Status, Trust, Turn
from dream.options import DreamOptions

_DIGITS = re.compile(r"\d+")
_ACRONYM = re.compile(r"\b[A-Z]{2,}(?![a-z])")
_NEAR = 2
"""How far away a turn may stand whose numbers a statement may name."""
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER_WORDS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
_NAMES = frozenset(
    {"mallory", "zoltan", "moscow", "nasa", "porto", "paris", "march", "ana", "rui", "marta", "norte", "mio", "lua"}
)
"""Names that tests tell the truth and lies about: nowhere in a text are they ordinary words."""
_GERMAN = re.compile(r"\b(?:das|der|die|und|nicht|ist|alle|den|auf|über|ab)\b")
_LEARNED = 0.5
"""The most importance of what feedback taught."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A memory before and after an answer.

    Args:
        before: Every entry as it was, by id.
        after: Every entry as it is.
        shown: Ids of the records that the question was about.
        turns: What was said, by id.
        feedback: What came back, by id.
        computed: Words and numbers that follow from the time of a turn, by its id.
        options: What the dreams were told.
        observations: How many more times than before something may have been seen.
    """

    before: Mapping[str, MemoryEntry]
    after: Mapping[str, MemoryEntry]
    shown: frozenset[str]
    turns: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    feedback: Mapping[str, Feedback] = field(default_factory=dict[str, Feedback])
    computed: Mapping[str, str] = field(default_factory=dict[str, str])
    options: DreamOptions = field(default_factory=DreamOptions)
    observations: int = 1

    def is_protected(self, category: str) -> bool:
        roots = [root.casefold() for root in self.options.protected_categories]
        return any(category.casefold() == root or category.casefold().startswith(f"{root}/") for root in roots)

    def absorbed_by(self, entry_id: str) -> list[MemoryEntry]:
        """What went into an entry, as it was."""
        return [
            self.before[one.id] for one in self.after.values() if one.successor == entry_id and one.id in self.before
        ]

    def entries_of(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """The entries it cites, as they were."""
        cited = [source.id for source in entry.sources if source.kind is SourceKind.ENTRY]
        return [self.before[one] for one in cited if one in self.before]

    def turns_of(self, entry: MemoryEntry) -> list[Turn]:
        """The turns it cites."""
        cited = [source.id for source in entry.sources if source.kind is SourceKind.TURN]
        return [self.turns[one] for one in cited if one in self.turns]

    def near(self, turn: Turn) -> list[str]:
        """The numbers and acronyms of the turns at most two places away in its session."""
        session = sorted(
            (one for one in self.turns.values() if one.session_id == turn.session_id),
            key=lambda one: (one.occurred_at, one.id),
        )
        place = session.index(turn)
        beside = session[max(0, place - _NEAR) : place + _NEAR + 1]
        return [word for one in beside for word in (*_DIGITS.findall(one.content), *_ACRONYM.findall(one.content))]

    def texts_of(self, entry: MemoryEntry) -> list[str]:
        """What the sources of an entry say."""
        texts: list[str] = []
        for source in entry.sources:
            if source.kind is SourceKind.ENTRY and source.id in self.before:
                old = self.before[source.id]
                texts += [old.content, *old.tags]
            elif source.kind is SourceKind.TURN and source.id in self.turns:
                turn = self.turns[source.id]
                said = f"{turn.speaker or turn.role} {turn.occurred_at:%Y-%m-%d}"
                texts += [turn.content, said, self.computed.get(source.id, ""), *self.near(turn)]
            elif source.kind is SourceKind.FEEDBACK and source.id in self.feedback:
                signal = self.feedback[source.id]
                texts += [signal.summary, signal.detail or ""]
        return texts


def unsupported(scene: Scene) -> list[str]:
    """Return every change that nothing supports, in words."""
    faults = [f"{entry_id} is gone" for entry_id in scene.before if entry_id not in scene.after]
    for entry_id, now in scene.after.items():
        old = scene.before.get(entry_id)
        if old is None:
            faults += _of_new(now, scene)
        elif old != now:
            faults += _of_retired(old, now, scene) if not now.is_active else _of_changed(old, now, scene)
    return faults


def made_up(text: str, sources: Iterable[str]) -> list[str]:
    """Return the numbers and the words with a capital that stand in no source.

    A capital at the beginning of a sentence, or anywhere in German, makes no name.

    Example:
        >>> made_up("Cats: Ana has 3 since June.", ["Ana has three cats."])
        ['June']
    """
    told = "\n".join(sources)
    words = {word.casefold() for word in _WORD.findall(told)}
    numbers = {_plain(digits) for digits in _DIGITS.findall(told)}
    numbers |= {number for word, number in _NUMBER_WORDS.items() if word in words}
    invented = [digits for digits in _DIGITS.findall(text) if _plain(digits) not in numbers]
    return invented + [word for word in _names(text) if word.casefold() not in words]


def _names(text: str) -> Iterator[str]:
    is_german = _GERMAN.search(text) is not None
    for found in _WORD.finditer(text):
        word = found.group()
        before = text[: found.start()].rstrip()[-1:]
        is_inside = before.isalnum() or before in {",", "'", "\u2019"}
        if word.casefold() in _NAMES or (word[0].isupper() and len(word) > 1 and is_inside and not is_german):
            yield word


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _of_new(now: MemoryEntry, scene: Scene) -> Iterator[str]:
    yield from _of_sources(now, scene)
    yield from _of_ranks(now, scene)
    if scene.is_protected(now.category):
        yield f"{now.id} is filed under {now.category}"
    if not now.is_active:
        yield f"{now.id} was born retired"
    yield from (f"{now.id} makes up {one!r}" for one in made_up(now.content, scene.texts_of(now)))


def _of_sources(now: MemoryEntry, scene: Scene) -> Iterator[str]:
    if not now.sources:
        yield f"{now.id} has no source"
    known = {SourceKind.ENTRY: scene.before, SourceKind.TURN: scene.turns, SourceKind.FEEDBACK: scene.feedback}
    for source in now.sources:
        # A merge also names the turns that its entries were made of.
        inherited = any(source in entry.sources for entry in scene.before.values())
        if source.id not in known.get(source.kind, {}) and not inherited:
            yield f"{now.id} cites {source}, which does not exist"
    if any(turn.generated for turn in scene.turns_of(now)):
        yield f"{now.id} rests on generated text"


def _of_ranks(now: MemoryEntry, scene: Scene) -> Iterator[str]:
    entries, turns = scene.entries_of(now), scene.turns_of(now)
    if now.trust > min([Trust.STATED if turns else Trust.CONFIRMED, *(one.trust for one in (*entries, *turns))]):
        yield f"{now.id} is trusted more than its sources"
    if turns and not entries:
        if now.base >= scene.options.consolidation.protect_importance:
            yield f"{now.id} protects itself"
    elif now.base > max((entry.base for entry in entries), default=_LEARNED):
        yield f"{now.id} is more important than its sources"
    if now.pinned and not any(entry.pinned for entry in entries):
        yield f"{now.id} pins itself"


def _of_retired(old: MemoryEntry, now: MemoryEntry, scene: Scene) -> Iterator[str]:
    if not old.is_active:
        yield f"{old.id} was retired before and changed"
        return
    # Until when it held is told as it is superseded, and never else.
    ended = now.valid_until if now.status is Status.SUPERSEDED else old.valid_until
    retired = {"status": now.status, "status_reason": now.status_reason, "status_at": now.status_at}
    if replace(old, **retired, successor=now.successor, valid_until=ended) != now:
        yield f"{old.id} was rewritten as it was retired"
    if old.id not in scene.shown:
        yield f"{old.id} was retired though the question was not about it"
    if scene.is_protected(old.category):
        yield f"{old.id} was retired though it stands in {old.category}"
    if not now.status_reason:
        yield f"{old.id} was retired without a reason"
    if now.successor is None:
        yield from _of_dropped(old, now, scene)
    else:
        yield from _of_succeeded(old, now, scene)


def _of_dropped(old: MemoryEntry, now: MemoryEntry, scene: Scene) -> Iterator[str]:
    terms = scene.options.consolidation
    if now.status is not Status.ARCHIVED:
        yield f"{old.id} was superseded by nothing"
    if old.pinned or old.base >= terms.protect_importance or old.reinforcement_count >= terms.protect_reinforced:
        yield f"{old.id} was dropped though it is protected"


def _of_succeeded(old: MemoryEntry, now: MemoryEntry, scene: Scene) -> Iterator[str]:
    heir = scene.after.get(now.successor or "")
    if heir is None or not heir.is_active:
        yield f"the successor of {old.id} is not live"
        return
    if old.pinned and not heir.pinned:
        yield f"{old.id} lost its pin"
    if now.status is Status.ARCHIVED:
        yield from (f"{heir.id} lost {one!r} of {old.id}" for one in made_up(old.content, [heir.content]))


def _of_changed(old: MemoryEntry, now: MemoryEntry, scene: Scene) -> Iterator[str]:
    absorbed = scene.absorbed_by(old.id)
    if not old.is_active:
        yield f"{old.id} came back"
    if now.trust > old.trust:
        yield f"{old.id} is trusted more than before"
    if now.base > max([old.base, *(one.base for one in absorbed)]):
        yield f"{old.id} is more important than before"
    if now.pinned != old.pinned and not any(one.pinned for one in absorbed):
        yield f"{old.id} changed its pin"
    if now.own_count > old.own_count + scene.observations:
        yield f"{old.id} counts more than one observation"
    fresh = [source for source in now.sources if source not in old.sources]
    if any(source.kind is SourceKind.TURN and source.id not in scene.turns for source in fresh) and not absorbed:
        yield f"{old.id} cites a turn that does not exist"
    if (now.content, now.category, now.tags) != (old.content, old.category, old.tags):
        if old.id not in scene.shown and now.content != old.content:
            yield f"{old.id} was rewritten though the question was not about it"
        if now.category != old.category and (scene.is_protected(old.category) or scene.is_protected(now.category)):
            yield f"{old.id} went from {old.category} to {now.category}"
        sources = [old.content, *(one.content for one in absorbed)]
        yield from (f"{old.id} makes up {one!r}" for one in made_up(now.content, sources))
        yield from (f"{old.id} lost {one!r}" for one in made_up(old.content, [now.content]))
