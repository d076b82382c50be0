"""Log consumption: a turn that everybody has read is read no more; it stays for recall and evidence."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.stores.storage import ReadView
from agentcore.stores.values import TurnMaterial
from dream.domain.built_in_passes import LOG_CONSUMPTION
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Notes, Proposal, Work, summed
from dream.options import ConsumptionPolicy, LogOptions
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext, PassView

CONSUME: Final = "consume"
_EVERYTHING: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _LogReading:
    """How far one pass has read the log.

    Args:
        reader: The pass.
        position: Up to where it has looked, in the order of arrival; 0 if it never did.
        unread: Turns behind that position which it has to look at again, and in how many runs it failed on each.
        waiting: Turns behind it of which something waits, such as a verification.
    """

    reader: str
    position: int
    unread: Mapping[str, int]
    waiting: frozenset[str]

    @classmethod
    def of(cls, view: PassView, reader: str) -> "_LogReading":
        """Read it from the bookkeeping."""
        cursors, attempts = view.books.cursors, view.books.attempts
        unread = attempts.failed(reader, cursors.reopened(reader))
        waiting = view.books.waiting.members(reader)
        return cls(reader=reader, position=cursors.position(reader) or 0, unread=unread, waiting=waiting)


@dataclass(frozen=True, slots=True)
class _Terms:
    """Which turns may be consumed, as the readers stand.

    Args:
        reach: No turn after this position is.
        held: Turns before it that somebody has to look at again.
        given_up: Turns on which readers failed too often, and those readers.
    """

    reach: int
    held: frozenset[str]
    given_up: Mapping[str, tuple[str, ...]]


class LogConsumption(DeclaredPass, declaration=LOG_CONSUMPTION):
    """Marks turns as consumed once every enabled reader has read them (`docs/explanation/failures-and-consumption.md`).

    A turn that a reader has to look at again waits for it, though not for ever: after `dreaming.log.attempts` runs in
    which the reader asked about it in vain, the turn is consumed without it. Without a single enabled reader the log
    is left alone: whoever is switched on later finds it whole.
    """

    async def has_work(self, context: DreamContext) -> Work:
        """Turns that were there when the run began and that nobody has to read any more."""
        terms = await _terms(context)
        return Work(len(_ready(await _material(context, terms, _EVERYTHING), terms)))

    async def propose(self, context: DreamContext) -> Proposal:
        """Consume the next of them, and remember those that somebody still holds."""
        terms = await _terms(context)
        size, limit = context.options.step_size, context.options.step_size + len(context.reopened)
        found = await _material(context, terms, limit)
        page = found[: _length(found, terms, size)]
        ready = [item.id for item in _ready(page, terms)]
        waiting = [item.id for item in page if item.id in terms.held and item.id not in context.reopened]
        turns = await context.read(lambda view: view.turns.get_many(ready))
        marks = {turn.id: fingerprint(CONSUME, turn) for turn in turns}
        declined = await context.withheld(set(marks.values()))
        consumed = [turn for turn in turns if marks[turn.id] not in declined]
        given_up = Counter(reader for turn in consumed for reader in terms.given_up.get(turn.id, ()))
        return Proposal(
            change_sets=tuple(_change_sets(context, consumed, marks, terms)),
            notes={"consumed": len(consumed), "waiting": len(waiting), "given_up": dict(sorted(given_up.items()))},
            cursor=max([context.cursor, *(item.position for item in page)]),
            looked_at=tuple(ready),
            reopen=tuple(waiting),
            done=page == found and len(found) < limit,
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the steps; turns that a reader never managed are counted per reader."""
        given_up: Counter[str] = Counter()
        for note in notes:
            given_up.update(note.get("given_up", {}))
        return {
            **summed(notes, "consumed", "waiting"),
            **({"given_up": dict(sorted(given_up.items()))} if given_up else {}),
        }


async def _terms(context: DreamContext) -> _Terms:
    readings = await context.read(lambda view: [_LogReading.of(view, reader) for reader in context.log_readers])
    if not readings:
        return _Terms(0, frozenset(), {})
    options = context.options.log
    if options.policy is ConsumptionPolicy.AFTER_CYCLE:
        reach = max(reading.position for reading in readings)
        return _Terms(min(reach, context.log_end), frozenset(), {})
    reach = min(reading.position for reading in readings)
    held, given_up = _held(readings, options)
    return _Terms(min(reach, context.log_end), held, given_up)


def _held(readings: Sequence[_LogReading], options: LogOptions) -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """Return the turns that wait for a reader, and those that wait no longer because it failed too often."""
    given_up: defaultdict[str, list[str]] = defaultdict(list)
    held: set[str] = set()
    for reading in readings:
        tired = set(_tired(reading, options.attempts))
        held |= reading.unread.keys() - tired
        held |= reading.waiting
        for turn_id in tired:
            given_up[turn_id].append(reading.reader)
    return frozenset(held), {turn_id: tuple(readers) for turn_id, readers in given_up.items() if turn_id not in held}


def _tired(reading: _LogReading, attempts: int) -> Iterable[str]:
    return (turn_id for turn_id, failed in reading.unread.items() if failed >= attempts)


async def _material(context: DreamContext, terms: _Terms, limit: int) -> list[TurnMaterial]:
    """Return unconsumed turns within reach, in the order of arrival: new ones, and those that had to wait."""

    def look(view: ReadView) -> list[TurnMaterial]:
        return view.turns.material(after=context.cursor, also=context.reopened, limit=limit)

    if terms.reach <= context.cursor and not context.reopened:
        return []
    return [item for item in await context.read(look) if item.position <= terms.reach]


def _ready(page: Iterable[TurnMaterial], terms: _Terms) -> list[TurnMaterial]:
    return [item for item in page if item.id not in terms.held]


def _length(found: Sequence[TurnMaterial], terms: _Terms, most: int) -> int:
    """Return how many of *found* hold *most* that are ready."""
    ready = [place for place, item in enumerate(found, 1) if item.id not in terms.held]
    return ready[most - 1] if len(ready) > most else len(found)


def _change_sets(
    context: DreamContext, turns: Sequence[Turn], marks: Mapping[str, str], terms: _Terms
) -> Iterable[ChangeSet]:
    """Yield one change set for each session."""
    sessions: defaultdict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        sessions[turn.session_id].append(turn)
    for _, said in sorted(sessions.items()):
        changes = tuple(
            Change[Turn](before=turn, after=replace(turn, consumed_at=context.as_of), reason=_reason(turn, terms))
            for turn in said
        )
        yield ChangeSet(operation=CONSUME, changes=changes, fingerprints={turn.id: marks[turn.id] for turn in said})


def _reason(turn: Turn, terms: _Terms) -> str:
    failed = terms.given_up.get(turn.id)
    return f"{' and '.join(failed)} failed on it too often" if failed else "everybody who reads the log has read it"
