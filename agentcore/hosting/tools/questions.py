"""Defines the tool answer_question: what a person said when the agent asked them what holds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.text import fold_key
from agentcore.errors import UnknownRecordError
from agentcore.hosting.errors import InvalidToolCallError
from agentcore.hosting.memory import Memory
from agentcore.hosting.tools.actions import LONGEST_CONTENT, refuse_unwanted
from agentcore.hosting.tools.tool import Parameter, Result, TextParameter, Tool, ToolName

if TYPE_CHECKING:
    from dream.cycle.desk import AskedQuestion, Desk

_ANSWER: Final = (
    "Say what the user answered to a question about your memory, such as one that stands beside a memory as "
    "(contradicted, ask: ...). Call it only after the user has told you in this conversation which of them holds, or "
    "what is true instead; never answer for them. Give the question, and one of keep and text."
)
_PARAMETERS: Final[tuple[Parameter, ...]] = (
    TextParameter(
        name="question", description="The question, word for word, or its id.", longest=500, is_required=True
    ),
    TextParameter(
        name="keep", description="The memory that holds: its text, word for word, or its id.", longest=LONGEST_CONTENT
    ),
    TextParameter(
        name="text", description="What is true instead of all of them, as a full sentence.", longest=LONGEST_CONTENT
    ),
)


@dataclass(frozen=True, slots=True)
class AnswerQuestionAction:
    """Hands on what a person answered; the memories that do not hold are superseded, which `undo` takes back.

    Args:
        memory: What the question is about.
        desk: Where it is answered.
        trust: How far the model is trusted to have asked.
    """

    memory: Memory
    desk: "Desk"
    trust: Trust

    @property
    def tool(self) -> Tool:
        """What the model sees."""
        return Tool(name=ToolName.ANSWER_QUESTION, description=_ANSWER, parameters=_PARAMETERS, run=self._answer)

    async def _answer(self, question: str, keep: str | None = None, text: str | None = None) -> Result:
        if (keep is None) == (text is None):
            raise InvalidToolCallError(tool=ToolName.ANSWER_QUESTION, problem="give either keep or text")
        asked = await self._asked(question)
        holds = None if keep is None else _member(asked, keep)
        self._check(asked, holds)
        if text is not None:
            await refuse_unwanted(self.memory, text, self.trust, ToolName.ANSWER_QUESTION)
        report = await self.desk.answer(
            asked.question.id, keep=holds.id if holds else None, text=text, why="The user said so.", trust=self.trust
        )
        return {"answered": asked.question.text, "run": report.run_id, "holds": text or (holds and holds.content)}

    async def _asked(self, question: str) -> "AskedQuestion":
        waiting = await self.desk.questions()
        found = [one for one in waiting if one.question.id == question]
        found = found or [one for one in waiting if fold_key(one.question.text) == fold_key(question)]
        if len(found) != 1:
            raise UnknownRecordError(kind="open question", value=question)
        return found[0]

    def _check(self, asked: "AskedQuestion", holds: MemoryEntry | None) -> None:
        """Refuse to let a model take the place of what only a person may."""
        for member in asked.members:
            is_kept = holds is not None and member.id == holds.id
            if not is_kept and (member.pinned or member.trust > max(self.trust, Trust.STATED)):
                problem = f"{member.id} is pinned or confirmed; only a person can decide against it"
                raise InvalidToolCallError(tool=ToolName.ANSWER_QUESTION, problem=problem)


def _member(asked: "AskedQuestion", keep: str) -> MemoryEntry:
    found = [one for one in asked.members if keep == one.id or fold_key(keep) == fold_key(one.content)]
    if len(found) != 1:
        raise UnknownRecordError(kind="memory of the question", value=keep)
    return found[0]
