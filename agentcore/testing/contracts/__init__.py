"""The contract suite: what the storage has to pass on each database it runs on.

`StorageContract` is a class of tests that need two fixtures: `clock`, a `ManualClock` that stands at `START`, and
`storage`, started, empty, and living by that clock. Subclass it in a test module (with pytest and pytest-asyncio in
`auto` mode) and say how the storage is opened:

    import pytest

    from agentcore.stores.sql.sql_storage import SqlStorage
    from agentcore.testing import ManualClock
    from agentcore.testing.contracts import START, StorageContract


    class TestSqlStorage(StorageContract):
        @pytest.fixture
        def clock(self):
            return ManualClock(START)

        @pytest.fixture(params=["file", "memory"])
        async def storage(self, request, clock, tmp_path):
            path = tmp_path / "agentcore.db" if request.param == "file" else None
            storage = SqlStorage(path, clock=clock)
            await storage.start()
            yield storage
            await storage.stop()

A parameter of the fixture runs the whole suite once per database. A part such as `EntryContract` runs by itself in the
same way. `ConcurrencyContract` needs a fixture more, `beside`, and so stands by itself. Each test says in its name what
the storage owes; a failure shows what it gave and what was wanted.
"""

from agentcore.testing.contracts.conclusions import ConclusionContract
from agentcore.testing.contracts.concurrency import ConcurrencyContract
from agentcore.testing.contracts.entries import EntryContract, LifetimeContract, SelectionContract
from agentcore.testing.contracts.feed import FeedContract
from agentcore.testing.contracts.forgetting import ForgetContract
from agentcore.testing.contracts.leases import BusyContract, LeaseContract
from agentcore.testing.contracts.material import MaterialContract
from agentcore.testing.contracts.recalls import RecallHitContract, VectorContract
from agentcore.testing.contracts.samples import START, RecordKindContract
from agentcore.testing.contracts.signals import SignalContract
from agentcore.testing.contracts.skills import SkillContract
from agentcore.testing.contracts.switches import ActivityContract, SwitchContract
from agentcore.testing.contracts.transactions import DocumentContract, LedgerContract, TransactionContract
from agentcore.testing.contracts.turns import TurnContract


class StorageContract(
    EntryContract,
    SelectionContract,
    MaterialContract,
    ConclusionContract,
    LifetimeContract,
    FeedContract,
    TurnContract,
    SkillContract,
    SignalContract,
    DocumentContract,
    RecordKindContract,
    RecallHitContract,
    VectorContract,
    LeaseContract,
    BusyContract,
    ActivityContract,
    SwitchContract,
    LedgerContract,
    ForgetContract,
    TransactionContract,
):
    """Everything a storage owes; see the module's documentation for how to run it."""


__all__ = [
    "START",
    "ActivityContract",
    "BusyContract",
    "ConclusionContract",
    "ConcurrencyContract",
    "DocumentContract",
    "EntryContract",
    "FeedContract",
    "ForgetContract",
    "LeaseContract",
    "LedgerContract",
    "LifetimeContract",
    "MaterialContract",
    "RecallHitContract",
    "RecordKindContract",
    "SelectionContract",
    "SignalContract",
    "SkillContract",
    "StorageContract",
    "SwitchContract",
    "TransactionContract",
    "TurnContract",
    "VectorContract",
]
