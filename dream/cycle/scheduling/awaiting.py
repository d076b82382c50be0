"""What a person has to decide first: work that no dream can do before."""

from typing import Final

from agentcore.stores.storage import ReadView
from dream.cycle.proposing import Queue
from dream.domain.reasons import Refused
from dream.domain.report import RunKind
from dream.options import ReviewOptions
from dream.stores import dream_stores

_LOOKED_BACK: Final = 20
"""Runs among which the pass's last one is looked for."""
_HAS_ROOM_LATER: Final = frozenset({Refused.REVIEW_BUDGET, Refused.SHARE_CAP, Refused.OUTPUT_CAP})


def is_full(view: ReadView, options: ReviewOptions) -> bool:
    """Tell whether so many proposals wait, or were made today, that no pass may make another."""
    return Queue.as_it_stands(view, dream_stores(view), options).full is not None


def awaits_review(view: ReadView, pass_name: str) -> bool:
    """Tell whether all that a pass left over in its last run waits for proposals that nobody decided since.

    Args:
        view: A view of the scope.
        pass_name: A pass that only proposes.
    """
    for run in dream_stores(view).runs.newest(limit=_LOOKED_BACK):
        if run.kind is RunKind.SKIPPED:
            continue
        if run.kind is not RunKind.DREAM:
            return False  # somebody decided, or took something back
        told = next((one for one in run.passes if one.name == pass_name), None)
        if told is not None:
            codes = {refusal.code for refusal in told.refused}
            return Refused.AWAITS_REVIEW in codes and not codes & _HAS_ROOM_LATER
    return False
