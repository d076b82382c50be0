"""Why a skill is as it is."""

from dataclasses import dataclass
from typing import Any

from agentcore.domain.memory import Status
from agentcore.domain.records import to_image
from agentcore.domain.skill import Skill
from agentcore.errors import UnknownRecordError
from agentcore.stores.storage import ReadView
from dream.domain.journal import JournalRow
from dream.stores import dream_stores


@dataclass(frozen=True, slots=True)
class SkillHistory:
    """Why a skill is as it is.

    Args:
        name: The skill.
        skill: The active one of that name; None if it is retired.
        former: The retired ones of that name, texts that a rewrite kept among them, in the order they were written.
        rows: The changes in which it had a part, whole, oldest first.
    """

    name: str
    skill: Skill | None
    former: tuple[Skill, ...]
    rows: tuple[JournalRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream why --json` prints of a skill."""
        return {
            "name": self.name,
            "skill": None if self.skill is None else to_image(self.skill),
            "history": [{**row.to_json(), "run_id": row.run_id} for row in self.rows],
            "former": [to_image(skill) for skill in self.former],
        }


def read_skill_history(view: ReadView, name_or_id: str) -> SkillHistory:
    """Return the history of a skill, by its name or the beginning of an id of it.

    Raises:
        UnknownRecordError: there is no such skill, and was none.
    """
    found = view.skills.ever_named(name_or_id)
    if not found:
        skill = view.skills.get(view.skills.resolve(name_or_id))
        if skill is None:
            raise UnknownRecordError(kind="skill", value=name_or_id)
        found = view.skills.ever_named(skill.name)
    journal = dream_stores(view).journal
    mine = journal.of_records([skill.id for skill in found])
    together = dict.fromkeys((row.run_id, row.number) for row in mine)
    return SkillHistory(
        name=found[0].name,
        skill=next((skill for skill in found if skill.status is Status.ACTIVE), None),
        former=tuple(skill for skill in found if skill.status is not Status.ACTIVE),
        rows=tuple(row for run_id, number in together for row in journal.of_run(run_id, number=number)),
    )
