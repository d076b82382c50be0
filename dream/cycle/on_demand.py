"""Makes what few uses of dreams need when it is first wanted: it loads the guards, so call these on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.cycle.running.runner import Runner

if TYPE_CHECKING:
    from agentcore.hosting.services import HostServices
    from dream.cycle.plans import PlanService
    from dream.cycle.review import ReviewService
    from dream.cycle.undo import UndoService
    from dream.options import DreamOptions


def make_verification(parts: HostServices, options: DreamOptions, budget: int | None) -> Runner:
    """Return what judges the entries that are stored and unverified."""
    from dream.passes import EXISTING  # noqa: PLC0415 - with the guards a tenth of a second, on a thread

    if budget is not None:
        options = options.replace(model=options.model.replace(tokens_per_run=budget))
    return Runner(parts, options, EXISTING)


def make_undo_service(parts: HostServices, options: DreamOptions) -> UndoService:
    """Return what takes runs back."""
    from dream.cycle.undo import UndoService  # noqa: PLC0415 - with the guards a tenth of a second, on a thread

    return UndoService(parts, options)


def make_review_service(parts: HostServices, options: DreamOptions) -> ReviewService:
    """Return what decides about proposals."""
    from dream.cycle.review import ReviewService  # noqa: PLC0415 - with the guards a tenth of a second, on a thread

    return ReviewService(parts, options)


def make_plan_service(parts: HostServices, options: DreamOptions) -> PlanService:
    """Return what makes and applies plans."""
    from dream.cycle.plans import PlanService  # noqa: PLC0415 - with the guards a tenth of a second, on a thread

    return PlanService(parts, options)
