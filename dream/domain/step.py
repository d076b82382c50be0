"""Describes steps: the batch one asks about, what it is about to do, what its row reports, and what waits of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import from_text, to_text
from dream.domain.change import ChangeSet
from dream.domain.declaration import Reads
from dream.domain.proposal import Proposal, Refusal
from dream.domain.reasons import WAITS_FOR_ROOM
from dream.domain.rounds import AskedRound, Round, ShownPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from dream.domain.phases import PhaseHit
    from dream.domain.proposal import Notes
    from dream.domain.rounds import Version


@dataclass(frozen=True, slots=True)
class FormerPositions:
    """Where records stood, in the order that passes read in, that a step moved or removed.

    Args:
        positions: Their positions, by id.
        read_by: Which of them each reader had looked at.
    """

    positions: Mapping[str, int]
    read_by: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What a step adds to the report of its pass.

    Args:
        accepted: Changes made.
        proposed: Change sets that wait for a person.
        retired: Entries retired, as far as the share cap counts them.
        outputs: New records written.
        verbatim: How many of them keep word for word what was said.
        purged: Records removed for good.
        looked_at: Items dealt with.
        refused: What was not done, and why.
        notes: Findings, plain JSON values.
        backlog: Items left for later runs.
        seconds: Time it took.
        reopened: Ids put into the pass's reopened set.
        packed: Whether the step packed the batches that the run asks about.
        batch: Number of the answered batch; None for a step without a question.
        of: Number of the packed batch that it is, or is a part of.
        is_last: Whether it ends that batch.
        rounds: The rounds of its exchange, where there was more than the first.
        stopped: Which budget ended the pass.
        reads: What the pass's cursor counts, where an undo took the cursor away.
        proposals: Proposals whose approval it is, or takes back.
        former: What an undo of it puts back in its place in the order of arrival; None for nothing.
    """

    accepted: int = 0
    proposed: int = 0
    retired: int = 0
    outputs: int = 0
    verbatim: int = 0
    purged: int = 0
    looked_at: int = 0
    refused: tuple[Refusal, ...] = ()
    notes: Notes = field(default_factory=dict[str, Any])
    backlog: int = 0
    seconds: float = 0.0
    reopened: tuple[str, ...] = ()
    packed: bool = False
    batch: str | None = None
    of: str | None = None
    is_last: bool = False
    rounds: tuple[AskedRound, ...] = ()
    stopped: str | None = None
    reads: Reads | None = None
    proposals: tuple[str, ...] = ()
    former: FormerPositions | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what the step's row keeps: the counts always, the rest where it says something."""
        told = {name: getattr(self, name) for name in _COUNTS}
        more = {name: getattr(self, name) for name in _MORE}
        return {
            **told,
            "refused": [[item.code, item.detail] for item in self.refused],
            "notes": dict(self.notes),
            "reopened": list(self.reopened),
            **({"rounds": [one.to_json() for one in self.rounds]} if self.rounds else {}),
            **({"proposals": list(self.proposals)} if self.proposals else {}),
            **({"former": [dict(self.former.positions), dict(self.former.read_by)]} if self.former else {}),
            **{name: value for name, value in more.items() if value is not None and value is not False and value != 0},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> StepReport:
        """Read what `to_json` wrote; a row of an undo or a plan of earlier versions says less."""
        reads = values.get("reads")
        known: dict[str, Any] = {name: values[name] for name in (*_COUNTS, *_MORE, "notes") if name in values}
        known["refused"] = tuple(Refusal(code, detail) for code, detail in values.get("refused", ()))
        known["rounds"] = tuple(AskedRound.from_json(one) for one in values.get("rounds", ()))
        known["reopened"] = tuple(values.get("reopened", ()))
        known["proposals"] = tuple(values.get("proposals", ()))
        known["reads"] = None if reads is None else Reads(reads)
        known["former"] = FormerPositions(*values["former"]) if "former" in values else None
        return cls(**known)


_COUNTS = ("accepted", "proposed", "retired", "outputs", "purged", "looked_at", "backlog", "seconds")
_MORE = ("verbatim", "packed", "batch", "of", "is_last", "stopped", "reads")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """A step that is about to be committed.

    Args:
        proposal: What to do.
        batch: What its row keeps: for a packing the batches, else ids and versions; those of its changes if None.
        reader: The cursor it moves, if it is not the pass's own: the name after the pass's.
        reopen: Ids that the next run has to look at again.
        exchange: The exchange it is about; None where nothing was asked.
        waited: Ids of waiting exchanges that wait no longer, or are among *waits* again.
        waits: Exchanges that wait as they stand.
        report: What is known of its report before it is committed.
        planned_from: Where the cursor stood when a plan took the step; None where there was none, or no plan.
        is_planned: Whether a plan took it, so that the cursor may have moved on since.
    """

    proposal: Proposal
    batch: list[list[Any]] | None = None
    reader: str = ""
    reopen: tuple[str, ...] = ()
    exchange: WaitingExchange | None = None
    waited: tuple[str, ...] = ()
    waits: tuple[WaitingExchange, ...] = ()
    report: StepReport = field(default=StepReport())
    planned_from: int | None = None
    is_planned: bool = False

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of what the question was about, if it is an answered batch."""
        return () if self.report.batch is None else tuple(str(record_id) for record_id, _ in self.batch or ())

    def cursor_after(self, before: int | None) -> int | None:
        """Return where the cursor goes that stands at *before*: never back behind what was read since a plan."""
        if not self.is_planned or before == self.planned_from or self.proposal.cursor is None:
            return self.proposal.cursor
        return max(before or 0, self.proposal.cursor)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: all of it, as a plan keeps it."""
        return {
            "proposal": self.proposal.to_json(),
            "batch": self.batch,
            "reader": self.reader,
            "reopen": list(self.reopen),
            "waited": list(self.waited),
            "waits": [one.to_json() for one in self.waits],
            "report": self.report.to_json(),
            "planned_from": self.planned_from,
        }

    @classmethod
    def from_json(cls, scope: Scope, values: Mapping[str, Any]) -> StepDraft:
        """Read what `to_json` wrote."""
        return cls(
            proposal=Proposal.from_json(scope, values["proposal"]),
            batch=values["batch"],
            reader=values["reader"],
            reopen=tuple(values["reopen"]),
            waited=tuple(values["waited"]),
            waits=tuple(WaitingExchange.from_json(scope, one) for one in values["waits"]),
            report=StepReport.from_json(values["report"]),
            planned_from=values["planned_from"],
            is_planned=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The records one call is about; which they are and in which version is frozen for the run.

    Handles count along `members` and then `beside`, so that an answer means the same records whenever it is read.

    Args:
        number: Its name within the pass and run: `3`, its halves `3.1` and `3.2`.
        kind: What the pass wants of it, such as `cluster` or `feedback`.
        members: The records it settles; each record is a member of at most one batch, or of one for each slice of it.
        beside: Records shown with them, which it does not settle.
        reader: Name of a cursor of its own, for records that the pass's cursor does not count; "" for the pass's.
        cursor: Where that cursor stands once the batch is settled.
        waited: Id of the waiting exchange that it goes on with; "" for a new one.
        spans: Which slices it shows of members that no prompt has room for; several of one in a question each.
    """

    number: str
    kind: str
    members: tuple[Version, ...]
    beside: tuple[Version, ...] = ()
    reader: str = ""
    cursor: int | None = None
    waited: str = ""
    spans: tuple[ShownPart, ...] = ()

    @property
    def member_ids(self) -> tuple[str, ...]:
        """Ids of the members."""
        return tuple(record_id for record_id, _ in self.members)

    @property
    def record_ids(self) -> tuple[str, ...]:
        """Ids of all that is shown, in the order of the handles."""
        return tuple(record_id for record_id, _ in (*self.members, *self.beside))

    @property
    def sections(self) -> int:
        """Questions that it takes to show a record of which it shows more than one slice; else 1."""
        return max(1, len(self.spans) - len({one.record_id for one in self.spans}) + 1)

    def halves(self) -> tuple[Batch, Batch] | None:
        """Return the batch in two, for an answer or a prompt that was too long; None if it has one member.

        Example:
            >>> [half.number for half in Batch(number="3", kind="", members=(("a", 1), ("b", 1))).halves() or ()]
            ['3.1', '3.2']
        """
        if len(self.members) < 2:
            return None
        middle = len(self.members) // 2
        parts = (self.members[:middle], self.members[middle:])
        first, second = (
            replace(self, number=f"{self.number}.{place}", members=part) for place, part in enumerate(parts, 1)
        )
        return first, second

    def to_json(self) -> list[Any]:
        """Return what a step row keeps."""
        members, beside = ([list(one) for one in side] for side in (self.members, self.beside))
        told = [self.number, self.kind, members, beside, self.reader, self.cursor]
        if self.spans:
            return [*told, self.waited, [list(one) for one in self.spans]]
        return [*told, self.waited] if self.waited else told

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Batch:
        """Read what `to_json` wrote."""
        number, kind, members, beside, reader, cursor, *more = values
        return cls(
            number=number,
            kind=kind,
            members=tuple((record_id, version) for record_id, version in members),
            beside=tuple((record_id, version) for record_id, version in beside),
            reader=reader,
            cursor=cursor,
            waited=more[0] if more else "",
            spans=tuple(ShownPart(*one) for one in more[1]) if more[1:] else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What a model pass will ask about in a run.

    Args:
        batches: In the order in which they are committed.
        change_sets: What needs no model; it touches no record of a batch.
        cursor: Position up to which the pass has then looked; None if it reads nothing by position.
        looked_at: Ids that need no call: they leave the pass's reopened set.
        reopen: Ids behind the cursor that a later run has to look at again.
        refused: What was left out, and why.
        backlog: Items left for later runs, those of `batches` aside.
        notes: Findings for the report.
        phases: Entries that a phase met; kept unless one of *change_sets* is refused.
    """

    batches: tuple[Batch, ...] = ()
    change_sets: tuple[ChangeSet, ...] = ()
    cursor: int | None = None
    looked_at: tuple[str, ...] = ()
    reopen: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    backlog: int = 0
    notes: Notes = field(default_factory=dict[str, Any])
    phases: tuple[PhaseHit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingExchange:
    """An exchange with the model that could not be ended in its run: a later one goes on with its answers.

    Args:
        exchange_id: What identifies it within the scope.
        run_id: The run that asked, or the plan that was applied.
        pass_name: The pass.
        reason: Why it waits, a code of `Refused`.
        since: Since when.
        runs: How many runs took it up since then.
        tried_in: The last of these; "" for none.
        batch: What it is about; None for change sets that waited before exchanges did.
        rounds: The answered rounds; None if a `forget` emptied them.
        change_sets: What waits of the changes that it gave: to be made, or to be decided.
        records: The records that it showed, with the versions they had.
    """

    exchange_id: str
    run_id: str
    pass_name: str
    reason: str
    since: datetime
    runs: int = 0
    tried_in: str = ""
    batch: Batch | None = None
    rounds: tuple[Round, ...] | None = ()
    change_sets: tuple[ChangeSet, ...] = ()
    records: tuple[Version, ...] = ()

    @property
    def waits_for_room(self) -> bool:
        """Whether its changes are decided, and are made as soon as there is room."""
        return self.reason in WAITS_FOR_ROOM

    @property
    def reader(self) -> str:
        """The cursor that its members are counted by: the name after the pass's, "" for the pass's own."""
        return "" if self.batch is None else self.batch.reader

    @property
    def member_ids(self) -> tuple[str, ...]:
        """Ids of what it settles."""
        return () if self.batch is None else self.batch.member_ids

    @property
    def shown(self) -> tuple[Version, ...]:
        """All that it showed."""
        beside = () if self.batch is None else (*self.batch.members, *self.batch.beside)
        return (*beside, *(version for one in self.rounds or () for version in one.shown))

    def waiting_for(self, reason: str, change_sets: Sequence[ChangeSet]) -> WaitingExchange:
        """Return it as it waits on with these change sets; what waits for two reasons becomes two."""
        key = self.exchange_id if reason == self.reason else exchange_id(self.exchange_id, reason)
        return replace(self, exchange_id=key, reason=reason, change_sets=tuple(change_sets))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: all of it, as a plan keeps it."""
        return {
            "id": self.exchange_id,
            "run_id": self.run_id,
            "pass": self.pass_name,
            "reason": self.reason,
            "since": to_text(self.since),
            "runs": self.runs,
            "tried_in": self.tried_in,
            "batch": None if self.batch is None else self.batch.to_json(),
            "rounds": None if self.rounds is None else [one.to_json() for one in self.rounds],
            "changes": [one.to_json() for one in self.change_sets],
            "records": [list(one) for one in self.records],
        }

    @classmethod
    def from_json(cls, scope: Scope, values: Mapping[str, Any]) -> WaitingExchange:
        """Read what `to_json` wrote."""
        batch, rounds = values["batch"], values["rounds"]
        return cls(
            exchange_id=values["id"],
            run_id=values["run_id"],
            pass_name=values["pass"],
            reason=values["reason"],
            since=from_text(values["since"]),
            runs=values["runs"],
            tried_in=values["tried_in"],
            batch=None if batch is None else Batch.from_json(batch),
            rounds=None if rounds is None else tuple(map(Round.from_json, rounds)),
            change_sets=tuple(ChangeSet.from_json(scope, one) for one in values["changes"]),
            records=tuple((record_id, version) for record_id, version in values["records"]),
        )


def exchange_id(*parts: str) -> str:
    """Return what identifies a waiting exchange: the same parts give the same, so that a plan needs no new id.

    Example:
        >>> len(exchange_id("a run", "a pass", "1", "unverified"))
        32
    """
    return blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()
