"""The peer card: what stands on it, what stood there, and what a person puts on it or takes off."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcore.domain.card import MOST_LINES, CardLine, in_order, read_line
from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.text import clean_content, fold_key
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.hosting.services import HostServices
from agentcore.stores.storage import ReadView, UnitOfWork
from dream.cycle.desk import Desk
from dream.domain.card_marks import line_mark
from dream.domain.change import Change, ChangeSet
from dream.domain.desk_decision import DeskDecision
from dream.domain.report import RunReport
from dream.options import DreamOptions

if TYPE_CHECKING:
    from dream.cycle.running.runner import Runner

SET = "card_set"
REMOVE = "card_remove"


@dataclass(frozen=True, slots=True)
class Card:
    """The card of one scope: up to 40 lines about whomever the memory is about; lives as long as the host.

    Dreams edit it line by line and give the entries that each line goes back to; a line goes with them. What a person
    sets here is theirs: no dream changes it. Each call that changes something is a run of its own, which `undo` takes
    back.

    Args:
        desk: What a person does to the memory.

    Example:
        >>> import asyncio
        >>> from agentcore import AgentHostBuilder
        >>> async def main() -> None:
        ...     async with AgentHostBuilder(None).with_memory().with_dreaming().build() as host:
        ...         await host.card.set("IDENTITY: Name is Ana.")
        ...         print(*await host.card.lines())
        >>> asyncio.run(main())
        IDENTITY: Name is Ana.
    """

    desk: Desk

    async def lines(self) -> list[CardLine]:
        """Return the lines that stand on the card, in its order."""
        return await self._read(lambda view: view.card.lines())

    async def history(self) -> list[CardLine]:
        """Return all lines that stand on the card or ever stood there, the one set last first."""
        found = await self._read(lambda view: list(view.card.every()))
        return sorted(found, key=lambda one: (one.set_at, one.id), reverse=True)

    async def set(self, line: str, *, replaces: str | None = None, why: str | None = None) -> RunReport:
        """Put a line on the card, or a person's name to one that says the same.

        Args:
            line: `SECTION: content`, such as `RELATIONSHIP: Married to Rui.`; at most 200 characters behind the colon.
            replaces: The line that gives way: its id, or the beginning of it; a full card needs one.
            why: The reason, for people.

        Raises:
            InvalidContentError: it names no section, is blank or too long, or the card is full.
            UnknownRecordError: there is no such line to give way.
        """
        section, content = read_line(clean_content(line))
        new_id = self.desk.parts.ids.new()

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet | None:
            lines = unit.card.lines()
            gone = None if replaces is None else _named(lines, replaces)
            reason = decision.told("set")
            same = next((one for one in lines if _says(one, content) and one.section is section), None)
            if same is not None and same.pinned:
                return None
            if same is None and gone is None and len(lines) >= MOST_LINES:
                raise InvalidContentError(field="card", problem=_full(lines))
            new = CardLine(
                id=new_id,
                scope=self.desk.scope,
                section=section,
                content=content,
                set_at=decision.at,
                set_by=decision.by,
                reason=reason,
                pinned=True,
            )
            going = {one.id: one for one in (gone, same) if one is not None}
            changes = [Change[CardLine](before=None, after=new, reason=reason)]
            changes += [_taken_off(one, new.id, reason, decision) for one in going.values()]
            return ChangeSet(operation=SET, changes=tuple(changes))

        return await self.desk.record(SET, decide, why=why, target=new_id)

    async def remove(self, line: str, *, why: str | None = None) -> RunReport:
        """Take a line off the card; no dream writes one of its sort from the same entries again.

        Args:
            line: Its id, the beginning of it, or the line itself.
            why: The reason, for people.

        Raises:
            UnknownRecordError: no such line stands on the card, or several begin so.
        """

        def decide(unit: UnitOfWork, decision: DeskDecision) -> ChangeSet:
            gone = _named(unit.card.lines(), line)
            change = _taken_off(gone, None, decision.told("removed"), decision)
            entries = _sources(unit, gone)
            marks = {gone.id: line_mark(gone.section, entries)} if entries else {}
            return ChangeSet(operation=REMOVE, changes=(change,), fingerprints=marks)

        return await self.desk.record(REMOVE, decide, why=why, target=line[:64], declines=True)

    async def refresh(self, *, rebuild: bool = False) -> RunReport:
        """Have a model look at the whole card again, beside what was said, in one question; a person's lines stay.

        No dream does so by itself.

        Args:
            rebuild: Write the card anew from what was said, without a look at it: lines that are not said again go.

        Raises:
            StorageError: the database failed.
        """
        runner = await asyncio.to_thread(_make_refresh, self.desk.parts, self.desk.options, is_rebuilt=rebuild)
        return await self.desk.told(await runner.run(self.desk.scope))

    async def _read(self, work: Callable[[ReadView], list[CardLine]]) -> list[CardLine]:
        return await self.desk.parts.storage.read(self.desk.scope, work)


def _make_refresh(parts: HostServices, options: DreamOptions, *, is_rebuilt: bool) -> "Runner":
    # With the passes a tenth of a second, on a thread.
    from dream.cycle.running.runner import Runner  # noqa: PLC0415
    from dream.passes import CARD_ALONE  # noqa: PLC0415

    told = options.inference.replace(card_rebuild=is_rebuilt)
    return Runner(parts, options.replace(inference=told), CARD_ALONE)


def _sources(view: ReadView, line: CardLine) -> list[MemoryEntry]:
    return view.entries.get_many([ref.id for ref in line.sources if ref.kind is SourceKind.ENTRY])


def _says(line: CardLine, content: str) -> bool:
    return fold_key(line.content) == fold_key(content)


def _named(lines: Sequence[CardLine], wanted: str) -> CardLine:
    exact = [one for one in lines if wanted == one.id or fold_key(str(one)) == fold_key(wanted)]
    found = exact or [one for one in lines if wanted and one.id.startswith(wanted)]
    if len(found) != 1:
        raise UnknownRecordError(kind="line of the card", value=wanted)
    return found[0]


def _full(lines: Sequence[CardLine]) -> str:
    first = in_order(lines)[0]
    return f"it has {MOST_LINES} lines, as many as a card may have; say which one gives way, such as {first.id}"


def _taken_off(line: CardLine, heir: str | None, reason: str, decision: DeskDecision) -> Change[CardLine]:
    status = Status.ARCHIVED if heir is None else Status.SUPERSEDED
    what = "removed" if heir is None else "replaced"
    # Without the person's words: these are kept in the journal and with the new line.
    told = f"{what} by {decision.by}"
    after = replace(line, status=status, status_reason=told, successor=heir, status_at=decision.at)
    return Change(before=line, after=after, reason=reason)
