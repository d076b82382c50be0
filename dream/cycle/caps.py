"""The caps on what one step may do: retirements in a day, new records in a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentcore.stores.storage import ReadView
from dream.cycle.share_cap import ShareCap
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.options import DreamOptions
from dream.stores import DreamStores


@dataclass(slots=True)
class Caps:
    """Room for what a step proposes; lives as long as one transaction.

    Args:
        share: Room for retirements; None where nothing is retired.
        outputs: New records that the run may still write; None for no bound.
        most: New records that any run may write; None for no bound.
        written: New records that this step writes.
    """

    share: ShareCap | None
    outputs: int | None
    most: int | None = None
    written: int = 0

    @classmethod
    def of(
        cls,
        view: ReadView,
        books: DreamStores,
        options: DreamOptions,
        run_id: str,
        change_sets: Sequence[ChangeSet],
        *,
        only_proposes: bool,
    ) -> "Caps":
        """Return the room there is now for what a step of a run proposes; what waits for a person retires nothing."""
        retires = not only_proposes and any(ShareCap.weight(one) for one in change_sets)
        share = ShareCap.as_it_stands(view, books, options.consolidation) if retires else None
        if options.max_outputs is None:
            return cls(share, None)
        written = sum(int(step.report.get("outputs", 0)) for step in books.runs.steps(run_id))
        return cls(share, max(0, options.max_outputs - written), options.max_outputs)

    @property
    def retired(self) -> int:
        """Entries that this step retires, as far as the cap counts them."""
        return 0 if self.share is None else self.share.taken

    def refusal(self, change_set: ChangeSet) -> Refusal | None:
        """Take the room that *change_set* needs; the cap that has too little, and then nothing is taken."""
        ids = [change.record_id for change in change_set.changes]
        new = sum(change.before is None and change.after is not None for change in change_set.changes)
        if not self._has_room(new):
            return Refusal.of(Refused.OUTPUT_CAP, ids)
        if self.share is not None and not self.share.admits(change_set):
            return Refusal.of(Refused.SHARE_CAP, ids)
        self.written += new
        return None

    def _has_room(self, new: int) -> bool:
        """Tell whether so many new records may be written together: more than any run may, as soon as one may."""
        if self.outputs is None or self.most is None or not new:
            return True
        room = self.outputs - self.written
        return new <= room or 0 < room <= self.most < new
