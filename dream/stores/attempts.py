"""Counts in how many runs a pass failed on a record, as its steps tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from sqlalchemy import select

from agentcore.stores.sql.schema import steps
from dream.domain.reasons import Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentcore.stores.sql.transaction import Transaction

_FAULTS: Final = frozenset(
    {
        Refused.ANSWER_CUT_OFF,
        Refused.ANSWER_UNREADABLE,
        Refused.ANSWER_FILTERED,
        Refused.ANSWER_TOOL_CALL,
        Refused.BROKEN_ANSWER,
        Refused.CALL_FAILED,
        Refused.PROMPT_TOO_LONG,
        Refused.PROMPT_TRUNCATED,
    },
)
"""What is the fault of what was asked about; a model out of reach, or a spent budget, is no attempt at all."""


class AttemptReader:
    """Failed attempts of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def failed(self, pass_name: str, record_ids: Collection[str]) -> Mapping[str, int]:
        """Return for each of *record_ids* in how many runs *pass_name* asked about it in vain."""
        runs: dict[str, set[str]] = {record_id: set() for record_id in record_ids}
        if runs:
            mine = (steps.c.scope_id == self._transaction.scope_id) & (steps.c.pass_name == pass_name)
            for run_id, text in self._transaction.connection.execute(
                select(steps.c.run_id, steps.c.report).where(mine)
            ):
                for record_id in _asked_in_vain(orjson.loads(text)):
                    if record_id in runs:
                        runs[record_id].add(run_id)
        return {record_id: len(found) for record_id, found in runs.items()}


def _asked_in_vain(report: Any) -> list[str]:
    codes = {code for code, _ in report.get("refused", ())}
    return report.get("reopened", []) if "batch" in report and codes & _FAULTS else []
