"""Runs cycles: opens a run or resumes one, runs its passes in order, and closes it."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.capability import Capability
from agentcore.errors import LeaseLostError, StorageUnreachableError
from agentcore.stores.storage import Origin
from dream.cycle.running.context import directives_mark
from dream.cycle.running.run_envelope import (
    RunEnvelope,
    asked_for,
    deferred,
    dream_lease,
    is_paused,
    people_before,
    scope_boundary,
)
from dream.directives import DirectiveLibrary
from dream.domain.change import FrozenDirectives
from dream.domain.declaration import Reads
from dream.domain.reasons import Deferral, Skip
from dream.domain.report import Outcome, PassOutcome, PassReport, RunKind, RunReport
from dream.errors import InvalidDirectiveError, NotAdmittedError, PausedDreamError, UnknownPassError
from dream.passes import ModelPass, arranged, library_of
from dream.stores import dream_stores
from dream.stores.runs import OpenRun

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import UnitOfWork
    from agentcore.stores.values import Lease
    from dream.cycle.running.pass_run import PassRun
    from dream.cycle.scheduling.planner import Booking
    from dream.directives import Directive
    from dream.domain.step import StepDraft
    from dream.options import DreamOptions
    from dream.passes import PassSlot
    from dream.stores.runs import StepRow


def frozen(library: DirectiveLibrary, passes: Iterable[ModelPass]) -> FrozenDirectives:
    """Read the directives that these passes send, as they are now."""
    found: dict[str, Directive] = {}
    problems: dict[str, tuple[str, str]] = {}
    for name in sorted({name for one in passes for name in one.directives}):
        try:
            found |= library.read([name])
        except InvalidDirectiveError as error:
            problems[name] = (str(library.path_of(name)), error.problem)
    return FrozenDirectives(
        texts={name: directive.text for name, directive in found.items()},
        hashes={name: directive.hash for name, directive in found.items()},
        problems=problems,
    )


def opening(scope: Scope, run: OpenRun, *, resumed: bool) -> RunReport:
    """Return the report of a run that begins, or goes on."""
    return RunReport(
        run_id=run.run_id,
        scope=scope,
        outcome=Outcome.UNCHANGED,
        as_of=run.as_of,
        started_at=run.started_at,
        resumed=resumed,
        directives=run.directives.hashes,
    )


def abandoned(scope: Scope, run: OpenRun, steps: Sequence[StepRow], now: datetime) -> RunReport:
    """Return the report of an interrupted run that is too old to go on with."""
    passes = tuple(
        PassReport(
            name=name,
            outcome=PassOutcome.APPLIED if any(_changed(step) for step in mine) else PassOutcome.UNCHANGED,
            reason="interrupted" if not mine or not mine[-1].closing else None,
            accepted=sum(step.report.accepted for step in mine),
            purged=sum(step.report.purged for step in mine),
            looked_at=sum(step.report.looked_at for step in mine),
        )
        for name in run.passes
        for mine in [[step for step in steps if step.pass_name == name]]
    )
    report = opening(scope, run, resumed=False).with_passes(passes, now)
    return dataclasses.replace(report, outcome=Outcome.PARTIAL, reason="interrupted, and too old to resume")


def _changed(step: StepRow) -> bool:
    return bool(step.report.accepted or step.report.purged)


PAUSED = f"{Deferral.PAUSED}: `dream resume` lifts it"


@dataclass(frozen=True, slots=True)
class _RunState:
    """How a run begins: afresh, or where an interrupted one stopped, with the steps it had taken by then."""

    report: RunReport
    run: OpenRun
    steps: tuple[StepRow, ...] = ()


@dataclass(frozen=True, slots=True)
class _RunRequest:
    """What a run was asked for; see `Runner.run`."""

    names: tuple[str, ...]
    now: datetime | None
    gone_on: list[RunReport] | None
    booking: Booking | None
    on_pass: Callable[[PassReport], None] | None
    on_step: Callable[[str, StepDraft], None] | None
    on_begin: Callable[[UnitOfWork, str], None] | None


class Runner:
    """Runs cycles; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        order: The passes in their order; by default the built-in table with those of the options.
    """

    def __init__(self, parts: HostServices, options: DreamOptions, order: Sequence[PassSlot] | None = None) -> None:
        self._parts = parts
        self._options = options
        self._order = arranged(options.passes) if order is None else order
        self._library = library_of(parts.data_dir, options)

    @property
    def pass_names(self) -> tuple[str, ...]:
        """The passes of a run, in order."""
        return tuple(place.name for place in self._order)

    @property
    def order(self) -> Sequence[PassSlot]:
        """The passes of a run, in order, and why each has its place."""
        return self._order

    def directives_mark(self) -> str:
        """Return what tells the directives that a run would send now from any others; it reads their files."""
        now = self._frozen(self.pass_names)
        return directives_mark({**now.hashes, **{name: str(why) for name, why in now.problems.items()}})

    def model_passes(self, passes: Collection[str] | None = None) -> list[ModelPass]:
        """Return the enabled passes that ask a model, in order; the first time it imports them, so call it on a thread.

        Args:
            passes: Only these; all by default.

        Raises:
            UnknownPassError: a pass was named that does not exist.
        """
        on = {name for name in self._selected(passes) if self._options.is_on(name)}
        found = (place.dream_pass for place in self._order if place.name in on)
        return [one for one in found if isinstance(one, ModelPass)]

    async def run(
        self,
        scope: Scope,
        *,
        passes: Collection[str] | None = None,
        now: datetime | None = None,
        gone_on: list[RunReport] | None = None,
        booking: Booking | None = None,
        on_pass: Callable[[PassReport], None] | None = None,
        on_step: Callable[[str, StepDraft], None] | None = None,
        on_begin: Callable[[UnitOfWork, str], None] | None = None,
    ) -> RunReport:
        """Run one cycle, going on with an interrupted one first.

        Args:
            scope: Whose memory.
            passes: Only these; all enabled ones by default.
            now: The instant to judge by, to simulate a later day; the clock's by default.
            gone_on: Takes the report of an interrupted run that was finished first, where it is not the one returned.
            booking: Its place in the schedule of the scope; None for a run that has none, as on a copy.
            on_pass: Told of each pass as it ends.
            on_step: Given each step that was taken, with the name of its pass, as a plan takes it again.
            on_begin: Called in the transaction that opens the run whose report is returned, or goes on with it, with
                its id; where it raises NotAdmittedError, nothing has begun.

        Raises:
            UnknownPassError: a pass was named that does not exist.
            StorageError: the database failed; what was committed stands, and the next run goes on from there.
            DreamBrokenOffError: something else failed outside the passes; the same holds.
        """
        names = self._selected(passes)
        await asyncio.to_thread(self._import_passes, names)
        admit = None if booking is None else booking.begin
        try:
            with scope_boundary(scope):
                async with dream_lease(self._parts, scope, self._options.lease, admit=admit) as lease:
                    wish = _RunRequest(names, now, gone_on, booking, on_pass, on_step, on_begin)
                    return await self._led(scope, lease, wish)
        except NotAdmittedError as error:
            return deferred(asked_for(self._parts, scope, RunKind.DREAM, None), error.reason)

    async def _led(self, scope: Scope, lease: Lease, wish: _RunRequest) -> RunReport:
        """Run under the lease; a run that is broken off leaves the schedule as if it had not begun."""
        try:
            if await is_paused(self._parts, scope):
                await self._give_up(scope, lease, wish.booking)
                return deferred(asked_for(self._parts, scope, RunKind.DREAM, None), PAUSED)
            resumed = await self._interrupted(scope)
            async with people_before(self._parts, self._options, scope).watching():
                if resumed is not None:
                    is_all = resumed.run.passes == wish.names and wish.now is None
                    held = wish if is_all else dataclasses.replace(wish, booking=None, on_begin=None)
                    report = await self._dream(lease, resumed, held)
                    if is_all or report.outcome is Outcome.DEFERRED:
                        return report
                    if wish.gone_on is not None:
                        wish.gone_on.append(report)
                return await self._dream(lease, await self._begun(scope, wish), wish)
        except (asyncio.CancelledError, NotAdmittedError, StorageUnreachableError):
            await self._give_up(scope, lease, wish.booking)
            raise

    async def _give_up(self, scope: Scope, lease: Lease, booking: Booking | None) -> None:
        """Leave the schedule as if the run had not begun, unless another process has taken the scope over."""
        if booking is None:
            return

        def leave(unit: UnitOfWork) -> None:
            with suppress(LeaseLostError):
                unit.leases.assert_held(lease)
                booking.give_up(unit)

        await self._parts.storage.write(scope, leave)

    def _selected(self, passes: Collection[str] | None) -> tuple[str, ...]:
        named = {passes} if isinstance(passes, str) else set(passes or ())
        unknown = sorted(named - set(self.pass_names))
        if unknown:
            raise UnknownPassError(name=unknown[0], known=self.pass_names)
        return tuple(name for name in self.pass_names if passes is None or name in named)

    async def _interrupted(self, scope: Scope) -> _RunState | None:
        """Return the run to go on with; those too old are closed as partial."""
        oldest = self._parts.clock.now() - self._options.resume_within

        def look(unit: UnitOfWork) -> _RunState | None:
            from dream.cycle.running.model_pass_run import reopen_unfinished  # noqa: PLC0415 - `run` has imported it

            books = dream_stores(unit)
            runs = books.runs
            for run in runs.unfinished(RunKind.PLAN):
                reopen_unfinished(books, runs.steps(run.run_id))
            runs.abandon(RunKind.PLAN, RunKind.UNDO, RunKind.RESTORE, RunKind.REVIEW)
            found = runs.unfinished()
            young = [run for run in found if run.started_at >= oldest and self._is_mine(run)]
            for run in found:
                if run not in young[-1:] and (self._is_mine(run) or run.started_at < oldest):
                    steps = runs.steps(run.run_id)
                    reopen_unfinished(books, steps)
                    runs.close(abandoned(scope, run, steps, unit.now))
            if not young:
                return None
            run = young[-1]
            report = opening(scope, run, resumed=True)
            return _RunState(report, run, tuple(runs.steps(run.run_id)))

        return await self._parts.storage.write(scope, look)

    def _is_mine(self, run: OpenRun) -> bool:
        """Tell whether a run consists of passes of this runner: a dream does not go on with a verification."""
        return not run.passes or any(name in self.pass_names for name in run.passes)

    async def _begun(self, scope: Scope, wish: _RunRequest) -> _RunState:
        started_at = self._parts.clock.now()
        directives = await asyncio.to_thread(self._frozen, wish.names)
        run = OpenRun(
            run_id=self._parts.ids.new(),
            as_of=wish.now or started_at,
            started_at=started_at,
            passes=wish.names,
            directives=directives,
            is_reading=wish.booking is not None and wish.booking.is_reading,
        )
        return _RunState(opening(scope, run, resumed=False), run)

    def _frozen(self, names: Sequence[str]) -> FrozenDirectives:
        """Read the directives that the run's model passes will send, as they are now."""
        able = {place.name for place in self._order if place.requires <= self._parts.capabilities}
        return frozen(self._library, self.model_passes(able.intersection(names)))

    async def _dream(self, lease: Lease, start: _RunState, wish: _RunRequest) -> RunReport:
        await asyncio.to_thread(self._import_passes, start.run.passes)
        booking, report = wish.booking, start.report
        begun = self._frozen_row(start.run)

        def freeze(unit: UnitOfWork) -> dict[str, Any]:
            return {**begun, "log_end": unit.turns.last_position()}

        def end(unit: UnitOfWork, report: RunReport) -> None:
            if booking is not None:
                booking.end(unit, report)

        if booking is not None:
            report = dataclasses.replace(report, trigger=booking.trigger.value, missed=booking.missed)
        envelope = RunEnvelope(
            self._parts,
            lease,
            report,
            freeze=None if report.resumed else freeze,
            ending=end,
            on_begin=wish.on_begin,
        )
        try:
            async with envelope as run:
                await self._run_passes(run, start, wish)
        except PausedDreamError:
            await self._give_up(report.scope, lease, booking)
            reason = f"{PAUSED}, and the next dream goes on with what is left"
            return dataclasses.replace(report, outcome=Outcome.DEFERRED, reason=reason)
        return envelope.report

    async def _run_passes(self, run: RunEnvelope, start: _RunState, wish: _RunRequest) -> None:
        from dream.cycle.running.pass_run import isolated  # noqa: PLC0415 - `run` has imported it

        log_end = start.run.log_end if run.report.resumed else run.frozen["log_end"]
        sharing = await self._read_together(run, start, wish, log_end)
        for place in self._order:
            name = place.name
            if name not in start.run.passes or not self._options.is_on(name):
                why = Skip.NOT_REQUESTED if self._options.is_on(name) else Skip.DISABLED
                run.passes.append(PassReport(name=name, outcome=PassOutcome.SKIPPED, reason=why))
                continue
            pass_run = sharing.get(name) or self._pass_run(run, start, place, log_end=log_end, wish=wish)
            run.passes.append(await isolated(pass_run))
            if wish.on_pass is not None:
                wish.on_pass(run.passes[-1])

    def _frozen_row(self, run: OpenRun) -> dict[str, Any]:
        """Return what the row of a run that begins keeps, for whoever goes on with it."""
        options = self._options.model_dump(mode="json")
        kept = {"passes": run.passes, "options": options, "directives": run.directives.to_json()}
        return {**kept, "is_reading": True} if run.is_reading else kept

    async def _read_together(
        self, run: RunEnvelope, start: _RunState, wish: _RunRequest, log_end: int
    ) -> Mapping[str, PassRun]:
        """Ask what passes can ask together, and return them; none unless the options say so."""
        if not self._options.reads_together or Capability.LLM not in self._parts.capabilities:
            return {}
        from dream.cycle.running.joint_reading import JointReading  # noqa: PLC0415 - as in `_dream`
        from dream.cycle.running.model_pass_run import ModelPassRun  # noqa: PLC0415
        from dream.passes.conversation.joint import JointReader  # noqa: PLC0415

        places = [one for one in self._order if one.name in start.run.passes and self._options.is_on(one.name)]
        readers = [one for one in places if isinstance(one.dream_pass, JointReader)]
        runs = [self._pass_run(run, start, one, log_end=log_end, wish=wish) for one in readers]
        await JointReading([one for one in runs if isinstance(one, ModelPassRun)]).prepare()
        return {one.name: one for one in runs}

    def _import_passes(self, names: Sequence[str]) -> None:
        """Import these passes and what runs them, for the first dream of the process.

        That takes some tenths of a second: the event loop must not stand still for so long, nor the database be locked.
        """
        from dream.cycle.documents import delivery  # noqa: PLC0415 - as above
        from dream.cycle.running import joint_reading, model_pass_run  # noqa: PLC0415

        _ = delivery, joint_reading, model_pass_run
        for place in self._order:
            if place.name in names and self._options.is_on(place.name):
                _ = place.dream_pass

    def _pass_run(
        self,
        run: RunEnvelope,
        start: _RunState,
        place: PassSlot,
        *,
        log_end: int,
        wish: _RunRequest,
    ) -> PassRun:
        from dream.cycle.running.model_pass_run import ModelPassRun  # noqa: PLC0415 - as in `_dream`
        from dream.cycle.running.pass_run import PassRun  # noqa: PLC0415

        dream_pass = place.dream_pass
        steps = [step for step in start.steps if step.pass_name.partition("/")[0] == place.name]
        shared: dict[str, Any] = {
            "parts": self._parts,
            "scope": run.report.scope,
            "options": self._options,
            "dream_pass": dream_pass,
            "run_id": run.report.run_id,
            "as_of": run.report.as_of,
            "lease": run.lease,
            "steps": steps,
            "obstacle": run.obstacle,
            "on_step": wish.on_step,
            "log_readers": _log_readers(self._order, self._options, self._parts.capabilities),
            "log_end": log_end,
            "origin": Origin.READING if start.run.is_reading else Origin.DREAM,
            "by_itself": wish.booking is not None and not wish.booking.is_manual,
        }
        if isinstance(dream_pass, ModelPass):
            sent = start.run.directives
            names = [one.name for one in self._order]
            after = [one for one in names[names.index(place.name) + 1 :] if one in start.run.passes]
            later = [one.name for one in self.model_passes(after)]
            return ModelPassRun(**shared, directives=sent.texts, problems=sent.problems, later=later)
        return PassRun(**shared)


def _log_readers(
    order: Sequence[PassSlot], options: DreamOptions, capabilities: Collection[Capability]
) -> tuple[str, ...]:
    """Return the passes that read turns to learn from them, are enabled and have what they require."""
    able = [place for place in order if options.is_on(place.name) and place.requires.issubset(capabilities)]
    return tuple(place.name for place in able if place.declaration.reads is Reads.TURNS)
