"""A store that lives a scripted life: its folder, clock, ids and model, and what the life leaves behind."""

import asyncio
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.clock import SystemClock
from agentcore.ids import RandomIds
from agentcore.llm import ChatRequest
from agentcore.testing import ManualClock, ScriptedChatClient, SequentialIds
from dream import DreamOptions, Dreams, RunReport
from dream.interfaces.cli import main
from dream.options import ModelOptions
from tests.oracle.model import Rule, asking, by_rule

START = datetime(2025, 6, 2, 8, tzinfo=UTC)
"""A Monday."""
_SESSION_EVALUATOR = "session-evaluator"
_MANY = 1_000

ID = re.compile(r"\b[a-z][a-z-]*-\d{6}\b")
"""What `SequentialIds` gives."""
Document = dict[str, Any]


def usual(**changes: Any) -> DreamOptions:
    """Return options with one call at a time, so that prompts have an order, and nothing that works by itself."""
    modes = {_SESSION_EVALUATOR: "off", **changes.pop("modes", {})}
    return DreamOptions(**{"model": ModelOptions(calls_in_flight=1), "modes": modes, **changes})


@dataclass
class Life:
    """One store and everybody who uses it; lives as long as its recipe.

    Args:
        folder: Where its files lie.
        name: The store's. Ids begin with it, for passes remember a run by its id, and two lives must not share one.
        rule: How its model answers.
    """

    folder: Path
    name: str
    rule: Rule | None = by_rule
    options: DreamOptions = field(default_factory=usual)
    has_workspace: bool = False
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    scopes: list[Scope] = field(default_factory=lambda: [Scope.default()])
    noted: list[Document] = field(default_factory=list[Document])
    commands: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def __post_init__(self) -> None:
        self.ids = SequentialIds(self.name)
        self.model: ScriptedChatClient = asking(self._answer)
        self.workspace.mkdir(parents=True, exist_ok=True)

    def _answer(self, request: ChatRequest) -> Any:
        assert self.rule is not None
        return self.rule(request)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def host(self, *, in_background: bool = False) -> Host:
        """Return the host of one part of the life; nothing works by itself unless told to."""
        builder = AgentHostBuilder(self.data, clock=self.clock, ids=self.ids).with_memory().with_conversation_log()
        builder.with_skills().with_feedback().with_wisps().with_tool_calls()
        if self.rule is not None:
            builder.with_llm(self.model)
        if self.has_workspace:
            builder.with_workspace(self.workspace)
        return builder.with_dreaming(self.options, in_background=in_background).build()

    async def dream(self, scope: Scope | None = None, **asked: Any) -> RunReport:
        """Dream once, in a host of its own."""
        async with self.host() as host:
            return await self.of(host, scope).run(**asked)

    def of(self, host: Host, scope: Scope | None = None) -> Dreams:
        """Return the dreams of a scope."""
        return host.dreams if scope is None else host.for_scope(scope).dreams

    def later(self, **time: float) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(**time))

    async def say(self, host: Host, session: str, *said: str, scope: Scope | None = None) -> None:
        """Log what Ana said, a minute apart; `assistant: ...` is the assistant's."""
        log = host.conversation if scope is None else host.for_scope(scope).conversation
        for text in said:
            is_hers = not text.startswith("assistant: ")
            content = text.removeprefix("assistant: ")
            role = "user" if is_hers else "assistant"
            await log.append(session_id=session, role=role, content=content, speaker="Ana" if is_hers else None)
            self.later(minutes=1)

    def note(self, **document: Any) -> None:
        """Keep a document beside what the store holds, such as a plan."""
        self.noted.append(document)

    async def command(self, *arguments: str) -> str:
        """Run the command line on the store and return what it printed; no host may be open."""
        return await asyncio.to_thread(self._command, arguments)

    def _command(self, arguments: Sequence[str]) -> str:
        where = ["--data", str(self.data), *(["--workspace", str(self.workspace)] if self.has_workspace else [])]
        with self._machine(), redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out:
            code = main([*where, *arguments])
            out.flush()
            told = out.buffer.getvalue().decode()  # pyright: ignore[reportAttributeAccessIssue]
        assert code == 0, (arguments, code, told)
        return told

    @contextmanager
    def _machine(self) -> Iterator[None]:
        """Have the command line, which asks the machine, take instants and ids from the life, and no settings."""
        now, new = SystemClock.now, RandomIds.new
        settings = {name: os.environ.pop(name) for name in [*os.environ] if name.startswith("AGENTCORE_")}
        SystemClock.now, RandomIds.new = lambda _: self.clock.now(), lambda _: self.ids.new()
        try:
            yield
        finally:
            SystemClock.now, RandomIds.new = now, new
            os.environ |= settings

    async def left(self) -> list[Document]:
        """Return everything that the life leaves: records, journals, reports, documents, prompts, commands."""
        documents: list[Document] = []
        for scope in self.scopes:
            documents += [await self._export(scope), *await self._dreams(scope)]
        documents += [{"noted": one} for one in self.noted]
        for path in sorted(self.workspace.glob("*.md")):
            documents.append({"file": path.name, "lines": path.read_text("utf-8").splitlines()})
        for words in [("status",), *self.commands]:
            told = await self.command("--json", *words)
            documents.append({"command": " ".join(words), "lines": _listed(orjson.loads(told))})
        return documents

    async def _export(self, scope: Scope) -> Document:
        lines = (await self.command("--scope", str(scope), "export")).splitlines()
        return {"export": str(scope), "lines": [orjson.loads(line) for line in in_order(lines)]}

    async def _dreams(self, scope: Scope) -> list[Document]:
        documents: list[Document] = []
        async with self.host() as host:
            dreams = self.of(host, scope)
            for report in reversed(await dreams.runs(limit=_MANY)):
                rows = [_shortened(row.to_json()) for row in await dreams.diff(report.run_id)]
                calls = _by_batch([call.to_json() for call in await dreams.calls(report.run_id)])
                told = report.to_json()
                documents.append({"lines": [_telling(one) for one in told.pop("passes")], "report": told})
                documents += [{"journal": report.run_id, "lines": rows}] if rows else []
                documents += [{"calls": report.run_id, "lines": calls}] if calls else []
            waiting = [one.to_json() for one in await dreams.proposals()]
            documents += [{"waiting": str(scope), "lines": waiting}] if waiting else []
        return documents


def in_order(lines: Sequence[str]) -> list[str]:
    """Return the lines of an export by kind and text; by id they stand as batches drew ids, which is a race."""
    kinds = list(dict.fromkeys(map(_kind, lines)))
    return sorted(lines, key=lambda line: (kinds.index(_kind(line)), ID.sub("", line), line))


def _kind(line: str) -> str:
    return orjson.loads(line).get("kind", "")


def _telling(report: Document) -> Document:
    """Return a pass's report without the fields that say nothing: most passes of most runs do nothing."""
    return {name: value for name, value in report.items() if value or value is False}


def _by_batch(calls: list[Document]) -> list[Document]:
    """Return calls by pass and batch: which of a pass is over first means nothing."""
    passes = list(dict.fromkeys(call["pass"] for call in calls))
    return sorted(calls, key=lambda call: (passes.index(call["pass"]), call["batch"], call["attempt"] or 0))


def _listed(document: Any) -> list[Any]:
    """Return the parts of a document, each short enough for a line of a diff."""
    return document if isinstance(document, list) else [{name: value} for name, value in document.items()]


def _shortened(row: Document) -> Document:
    """Return a row whose `after` holds only what differs from `before`: half of the journal is images twice."""
    before, after = row["before"], row["after"]
    if before is None or after is None:
        return row
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    gone = sorted(before.keys() - after.keys())
    unchanged = {name: before[name] for name in ("id", "content", "name") if name in before}
    told = {name: before[name] for name in before if name in changed or name in gone}
    return row | {"before": unchanged | told, "after": changed, "gone": gone}


def fingerprint(text: str) -> str:
    """Return what stands for a text that is written down elsewhere."""
    return blake2b(text.encode(), digest_size=5).hexdigest()
