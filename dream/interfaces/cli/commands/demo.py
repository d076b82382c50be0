"""Runs `dream demo`: one dream on a ready-made memory, in a folder of its own."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dream
from agentcore.clock import Clock
from agentcore.domain.signals import Purpose
from agentcore.hosting.host import Host
from agentcore.llm.chat import ModelTier
from agentcore.llm.settings import ChatOptions
from agentcore.llm.settings_file import FILE_NAME
from dream.domain.forecast import PassForecast
from dream.interfaces.cli.commands.dreaming import named_entries
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import MissingExamplesError, OccupiedFolderError
from dream.interfaces.cli.live import live_status
from dream.interfaces.cli.render.demonstration import Arrival, Demonstration, Look, arrival_lines, demonstration_lines
from dream.interfaces.cli.session import Access, CliSession, CommandSession
from dream.interfaces.exchange.import_report import ImportReport
from dream.interfaces.exchange.importer import import_file

FILES = (
    "conversation.jsonl",
    "MEMORY.md",
    "memory.jsonl",
    "skills.jsonl",
    "skill-uses.jsonl",
    "feedback.jsonl",
    "wisp-runs.jsonl",
)
"""In the order of their import: what was said before what is known of it."""


def copy_examples(target: Path) -> list[Path]:
    """Copy the demo data into the folder *target*, which is made, and return the files.

    Raises:
        MissingExamplesError: it is not there.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    package = Path(dream.__file__).parent
    for home in (package / "_examples", package.parent / "docs" / "examples"):
        if (home / FILES[0]).is_file():
            return [Path(shutil.copy(home / name, target / name)) for name in FILES]
    raise MissingExamplesError


AS_OF = datetime(2025, 10, 12, 20, tzinfo=UTC)
"""Sunday, 12 October 2025, 21:00 in Lisbon: two minutes after the last turn of the demo's conversation."""
_WRITTEN = {"MEMORY.md": datetime(2025, 10, 10, 20, tzinfo=UTC)}
"""When a file that names no dates was written: on Friday evening, after the newest of its lines was said."""
_QUESTION = "what can Biscoito not eat?"
"""The memory holds three copies of the answer."""
_QUESTION_OF_A_MODEL = "what does an hour of Ines cost?"
"""The memory holds three rates, of which the conversation tells the one that holds now."""
_HITS = 3
_SETTINGS = f"""\
# The demo ends on {AS_OF:%Y-%m-%d}: a dream by today's date would remove most of what was said for good.
[dreaming.modes]
retention = "off"
"""


async def demo(*, model: bool = True, yes: Annotated[bool, Parameter(negative="")] = False, session: CliSession) -> int:
    """Dream once on six ready-made weeks of memory, and show before, diff, after and how to undo.

    If a model is configured, what it will be asked is counted first, and a person on a terminal decides.

    Args:
        model: Let passes ask the model that the environment names; else those that need one are skipped.
        yes: Ask the model without asking you first.
        session: Whose memory; without --data a new temporary folder.
    """
    if session.is_data_given and session.database.exists():
        raise OccupiedFolderError(path=str(session.data_dir))
    folder = session.data_dir if session.is_data_given else Path(tempfile.mkdtemp(prefix="dream-demo-"))
    scope = session.given[session.given.index("--scope") :][:2] if "--scope" in session.given else ()
    here = replace(session, data_dir=folder, url=None, given=("--data", str(folder), *scope))
    files = await asyncio.to_thread(copy_examples, folder / "examples")
    chat = here.chat() if model else None
    async with here.host(Access.CREATE, chat=chat) as host:
        arrival = await _arrive(here, host, files, chat)
        if not here.screen.as_json:
            # Before anything is spent, a person sees what will be.
            here.screen.print(arrival_lines(here, arrival))
        if chat is None or yes or _is_agreed(here, arrival):
            shown = await _demonstrate(here, host, arrival)
            _keep_all(folder)
            return told(here, shown.report, shown.to_json, lambda: demonstration_lines(here, shown))
    async with here.host(Access.CHANGE) as host:
        shown = await _demonstrate(here, host, replace(arrival, model=None, forecast=()))
    _keep_all(folder)
    return told(here, shown.report, shown.to_json, lambda: demonstration_lines(here, shown))


def _keep_all(folder: Path) -> None:
    """Have later dreams, which go by today's date, remove nothing of the demo; settings that are there stay."""
    with contextlib.suppress(FileExistsError), (folder / FILE_NAME).open("x", encoding="utf-8") as file:
        file.write(_SETTINGS)


def _is_agreed(session: CommandSession, arrival: Arrival) -> bool:
    """Ask the person on the terminal whether the model may be asked; a script has named it on purpose."""
    if session.screen.as_json or not session.screen.has_person:
        return True
    most = sum(one.most_tokens for one in arrival.forecast)
    return session.screen.ask(f"Ask {arrival.model}, for {most:,} tokens at most? [y/N]") in {"y", "yes"}


async def _arrive(session: CommandSession, host: Host, files: Sequence[Path], chat: ChatOptions | None) -> Arrival:
    dreams = host.for_scope(session.scope).dreams
    imports = [await _imported(session, host, path) for path in files]
    forecast: Sequence[PassForecast] = () if chat is None else await dreams.forecast(now=AS_OF)
    return Arrival(
        folder=session.data_dir,
        as_of=AS_OF,
        question=_QUESTION if chat is None else _QUESTION_OF_A_MODEL,
        imports=imports,
        before=await _look(session, host, _QUESTION if chat is None else _QUESTION_OF_A_MODEL),
        model=None if chat is None else chat.model_of(ModelTier.DREAMING),
        forecast=forecast,
        tokens_left=await dreams.tokens_left(),
    )


async def _demonstrate(session: CommandSession, host: Host, arrival: Arrival) -> Demonstration:
    dreams = host.for_scope(session.scope).dreams
    async with live_status(session, host):
        report = await dreams.run(now=AS_OF)
    rows = await dreams.diff(report.run_id)
    return Demonstration(
        arrival=arrival,
        report=report,
        rows=rows,
        usage=await dreams.usage(),
        tokens_left=await dreams.tokens_left(),
        named=await named_entries(host, session, report, rows),
        after=await _look(session, host, arrival.question),
    )


@dataclass(frozen=True, slots=True)
class _DemoClock(Clock):
    """A clock that stands at one instant: what a file without dates tells was known by then."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant

    async def sleep(self, duration: timedelta) -> None:
        _ = duration


async def _imported(session: CommandSession, host: Host, path: Path) -> ImportReport:
    clock = _DemoClock(_WRITTEN.get(path.name, AS_OF))
    return await import_file(host.storage, session.scope, path, clock=clock, ids=session.ids)


async def _look(session: CommandSession, host: Host, question: str) -> Look:
    services = host.for_scope(session.scope)
    hits = await services.memory.recall(question, k=_HITS, purpose=Purpose.PREVIEW)
    return Look(await services.dreams.status(), [hit.entry for hit in hits])
