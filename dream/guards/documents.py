"""Documents are read by people, models and git: no dream writes what looks like a secret into one."""

from agentcore.domain.document import StoredDocument
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.knowledge import Knowledge
from dream.guards.secrets import secret_in


def writes_no_secret(change_set: ChangeSet, _knowledge: Knowledge) -> Refusal | None:
    """Refuse documents with a line that looks like a secret, unless the line stood in one that the set began with."""
    told = {line for change in change_set.changes for line in _lines(change.before)}
    for change in change_set.changes:
        secret = secret_in("\n".join(line for line in _lines(change.after) if line not in told))
        if secret is not None:
            return Refusal(Refused.SECRET, f"{change.record_id} would hold a {secret}")
    return None


def _lines(document: object) -> list[str]:
    return [line.strip() for line in document.content.splitlines()] if isinstance(document, StoredDocument) else []
