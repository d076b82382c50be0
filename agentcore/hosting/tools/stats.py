"""Defines the tool my_stats: what an agent may know about its own memory and dreams."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.domain.memory import Status
from agentcore.domain.temporal import to_text
from agentcore.hosting.memory import Memory
from agentcore.hosting.tools.tool import Result, Tool, ToolName

if TYPE_CHECKING:
    from agentcore.hosting.workspace import AgentWorkspace
    from dream.cycle.dreams import Dreams

_STATS: Final = (
    "Tell how your memory stands: how many memories there are, when you dreamt last and what came of it, and the last "
    "entry of your diary. Call it when somebody asks what you remember or whether you dream."
)
_LONGEST_ENTRY: Final = 2_000
"""Characters of the diary's last entry that are shown."""


@dataclass(frozen=True, slots=True)
class MyStatsAction:
    """Counts, the last dream, and the last entry of the diary.

    Args:
        memory: What is counted.
        workspace: Where the diary is, if the host has one.
        dreams: What tends the memory, if the host has them.
    """

    memory: Memory
    workspace: "AgentWorkspace | None"
    dreams: "Dreams | None"

    @property
    def tool(self) -> Tool:
        """What the model sees."""
        return Tool(name=ToolName.MY_STATS, description=_STATS, parameters=(), run=self._stats)

    async def _stats(self) -> Result:
        counts = {status.value: await self.memory.count(status=status) for status in Status}
        return {"memories": counts, "last_dream": await self._last_dream(), "last_diary_entry": await self._diary()}

    async def _last_dream(self) -> Result | None:
        if self.dreams is None:
            return None
        dreamt = (run for run in await self.dreams.runs(limit=20) if run.kind.value == "dream" and run.finished_at)
        last = next(dreamt, None)
        if last is None:
            return None
        return {"at": to_text(last.started_at), "outcome": last.outcome.value, "changes": last.changes}

    async def _diary(self) -> str | None:
        if self.workspace is None:
            return None
        from agentcore.workspace.folder import DREAMS  # noqa: PLC0415 - most hosts have no workspace

        _, heading, entry = ("\n" + await self.workspace.read(DREAMS)).rpartition("\n## ")
        return f"## {entry}".strip()[:_LONGEST_ENTRY] if heading else None
