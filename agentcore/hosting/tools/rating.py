"""The tool `feedback`."""

from dataclasses import dataclass
from typing import Final

from agentcore.domain.signals import FeedbackKind
from agentcore.hosting.feedback import FeedbackLog
from agentcore.hosting.tools.parameters import ChoiceParameter, TextParameter
from agentcore.hosting.tools.tool import Result, Tool, ToolName

_DESCRIPTION: Final = (
    "Note how your work went, so that you do better next time. Call it when the user corrects you (correction), "
    "praises or criticises what you did (thumbs_up, thumbs_down), or a tool did not do what you expected "
    "(tool_failure). Say what happened and what would have been right. This is about your work; facts belong into "
    "remember."
)

# Summaries of sessions and corrections of wisps come from the harness, which knows both.
_KINDS: Final = (
    FeedbackKind.CORRECTION,
    FeedbackKind.TOOL_FAILURE,
    FeedbackKind.THUMBS_UP,
    FeedbackKind.THUMBS_DOWN,
)


@dataclass(frozen=True, slots=True)
class Rating:
    """Logs what the model says about its work.

    Args:
        feedback: Where.
        session_id: The conversation it is about.
    """

    feedback: FeedbackLog
    session_id: str

    @property
    def tool(self) -> Tool:
        """What the model sees."""
        return Tool(name=ToolName.FEEDBACK, description=_DESCRIPTION, parameters=_PARAMETERS, run=self._note)

    async def _note(self, kind: str, summary: str, detail: str | None = None) -> Result:
        signal = await self.feedback.append(session_id=self.session_id, kind=kind, summary=summary, detail=detail)
        return {"noted": signal.id}


_PARAMETERS: Final = (
    ChoiceParameter(name="kind", description="What it is.", choices=_KINDS, is_required=True),
    TextParameter(name="summary", description="What happened, in one sentence.", longest=500, is_required=True),
    TextParameter(
        name="detail", description="What would have been right, and anything else that helps.", longest=4_000
    ),
)
