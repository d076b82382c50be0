"""Defines a change set that waits until a person approves it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from agentcore.domain.evidence import EvidenceVerdict, united_evidence, with_verdict
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import to_image
from agentcore.domain.temporal import to_text
from dream.domain.change import JournalRow

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from agentcore.domain.evidence import Evidence
    from agentcore.domain.records import Record
    from agentcore.domain.scope import Scope
    from dream.domain.change import Change, ChangeSet


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingProposal:
    """One operation that a pass proposed and nobody decided yet.

    Args:
        proposal_id: What `approve` and `reject` take.
        scope: Whose memory.
        run_id: The run that proposed it.
        pass_name: The pass that did.
        proposed_at: When.
        expires_at: When it is dropped unless somebody decides.
        change_set: What it would change, on the records as the pass read them.
        reader: The pass's own other reader that found it; empty for the pass itself.
        members: What the pass would have to look at again, should a record move; empty for the records themselves.
    """

    proposal_id: str
    scope: Scope
    run_id: str
    pass_name: str
    proposed_at: datetime
    expires_at: datetime
    change_set: ChangeSet
    reader: str = ""
    members: tuple[str, ...] = ()

    def to_look_at_again(self, moved: Collection[str]) -> tuple[str, list[str]]:
        """Return the reader that has to look again, and at what, now that the records *moved*."""
        mine = [change.record_id for change in self.change_set.changes if change.before is not None]
        stale = [record_id for record_id in mine if record_id in moved]
        reader = f"{self.pass_name}/{self.reader}" if self.reader else self.pass_name
        is_member = not self.members or set(stale) <= set(self.members)
        return reader, stale if is_member else list(self.members) if stale else []

    @property
    def approved(self) -> ChangeSet:
        """What a person approves: what nobody had read beside its evidence, the person has."""
        change_set = self.change_set
        known = {one for change in change_set.changes for one in getattr(change.before, "evidence", ())}
        return replace(change_set, changes=tuple(_as_approved(change, known) for change in change_set.changes))

    @property
    def rows(self) -> tuple[JournalRow, ...]:
        """What the journal would say of it, were it approved: its diff."""
        return tuple(
            JournalRow(
                scope=self.scope,
                run_id=self.run_id,
                step=0,
                pass_name=self.pass_name,
                number=1,
                operation=self.change_set.operation,
                kind=change.kind,
                record_id=change.record_id,
                before=_image(change.before),
                after=_image(change.after),
                reason=change.reason,
                fingerprint=self.change_set.fingerprints.get(change.record_id),
                recorded_at=self.proposed_at,
                scrubbed=False,
            )
            for change in self.change_set.changes
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream review show --json` prints."""
        told = ("kind", "id", "reason", "before", "after")
        return {
            "proposal_id": self.proposal_id,
            "run_id": self.run_id,
            "pass": self.pass_name,
            "operation": self.change_set.operation,
            "proposed_at": to_text(self.proposed_at),
            "expires_at": to_text(self.expires_at),
            "changes": [{name: row.to_json()[name] for name in told} for row in self.rows],
        }


_PERSON: Final = "person"


def _as_approved(change: Change[Record], known: Collection[Evidence]) -> Change[Record]:
    """Return a change of an entry whose new words, and new evidence, a person found to be true."""
    before, after = change.before, change.after
    if not isinstance(after, MemoryEntry):
        return change
    is_worded = not isinstance(before, MemoryEntry) or before.content != after.content
    read = [one for one in after.evidence if is_worded or one not in known]
    unread = [one for one in read if one.verdict is EvidenceVerdict.UNVERIFIED]
    if not unread:
        return change
    told = with_verdict(unread, EvidenceVerdict.VERIFIED, verified_by=_PERSON)
    left = [one for one in after.evidence if one not in unread]
    return replace(change, after=replace(after, evidence=united_evidence([left, told])))


def _image(record: Record | None) -> str | None:
    return None if record is None else orjson.dumps(to_image(record), option=orjson.OPT_SORT_KEYS).decode()
