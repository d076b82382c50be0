"""Plans: what a run would do, kept to be applied as it stands."""

from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import delete, insert, select

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import plans
from agentcore.stores.sql.transaction import Transaction, encode
from dream.domain.plan import Plan
from dream.domain.report import RunReport
from dream.errors import UnknownPlanError


class PlanStore:
    """Plans of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = plans.c.scope_id == transaction.scope_id

    def save(self, plan: Plan) -> None:
        """Keep a plan."""
        self._connection.execute(
            insert(plans).values(
                scope_id=self._transaction.scope_id,
                id=plan.plan_id,
                created_at=to_micros(plan.created_at),
                as_of=to_micros(plan.report.as_of),
                changes=encode(plan.content()),
                report=encode(plan.report.to_json()),
            ),
        )

    def get(self, prefix: str) -> Plan:
        """Return the one plan whose id starts with *prefix*; UnknownPlanError if none or several do."""
        statement = select(plans).where(self._mine, plans.c.id.startswith(prefix, autoescape=True))
        found = self._connection.execute(statement.limit(2)).all()
        if not prefix or len(found) != 1:
            raise UnknownPlanError(value=prefix)
        content: dict[str, Any] = orjson.loads(found[0].changes)
        report = RunReport.from_json(orjson.loads(found[0].report))
        created_at: datetime = from_micros(found[0].created_at)
        return Plan.from_content(found[0].id, created_at, report, content)

    def delete(self, plan_id: str) -> None:
        """Remove a plan that was applied."""
        self._connection.execute(delete(plans).where(self._mine, plans.c.id == plan_id))
