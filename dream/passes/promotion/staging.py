"""Light: which entries came newly among the candidates of a sweep."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from agentcore.domain.instants import from_micros, to_micros
from dream.domain.phases import Phase, PhaseHit, PhaseStanding
from dream.passes.promotion.gates import Scored
from dream.passes.protocol import DreamContext

_LOOKBACK: Final = timedelta(days=2)
_MOST: Final = 100


def staged(found: Scored, phases: Mapping[str, PhaseStanding], context: DreamContext) -> tuple[PhaseHit, ...]:
    """Return the entries recalled in the last two days and since they were staged last, each once a day of the zone.

    At most a hundred, those recalled last first. Scorers that give no boost have no use for them.
    """
    if found.scorer.boost is None:
        return ()
    zone, recalls = ZoneInfo(context.options.promotion.zone), found.recalls
    today = context.as_of.astimezone(zone).date()
    rows = np.flatnonzero(recalls.last > to_micros(context.as_of - _LOOKBACK))

    def is_new(entry_id: str, last: int) -> bool:
        before = phases.get(entry_id)
        if before is None or before.light == 0:
            return True
        return before.light_last < last and from_micros(before.light_last).astimezone(zone).date() < today

    order: list[int] = rows[np.argsort(-recalls.last[rows], kind="stable")].tolist()
    ids = [recalls.ids[row] for row in order if is_new(recalls.ids[row], int(recalls.last[row]))]
    return tuple(PhaseHit(entry_id, Phase.LIGHT, context.as_of) for entry_id in ids[:_MOST])
