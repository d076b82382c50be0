"""Walls of the house beside its sizes and names: who catches all, who touches what, what a pass may call."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.quality.typechecking import marked_lines, refused_lines

_ROOT = Path(__file__).parents[1]
_FILES = {
    str(path.relative_to(_ROOT)): path
    for package in ("agentcore", "dream")
    for path in sorted((_ROOT / package).rglob("*.py"))
}

CATCHES_EVERYTHING = [
    ("agentcore/hosting/lifecycle.py", "the stop loop: one service's failure must not keep the others from stopping"),
    ("agentcore/hosting/busy.py", "a host's own function may raise anything, and must not end a run"),
    ("agentcore/hosting/remember.py", "a group's write hands whatever is raised to the one who asked for it"),
    ("agentcore/recall/thread.py", "the thread's own work: queries go on, whatever becomes of tidying"),
    ("agentcore/recall/thread.py", "a job hands whatever is raised to the one who asked for it"),
    ("agentcore/workspace/workspaces.py", "a host's own function may raise anything, and must end no other's dream"),
    ("dream/cycle/running/run_envelope.py", "the scope boundary: what one scope raises must end no other's dreams"),
    (
        "dream/cycle/running/model_calls.py",
        "a client's failure is judged, recorded and reported by the pass that asked",
    ),
    ("dream/cycle/running/joint_reading.py", "a question that passes share: when it fails, each of them asks alone"),
    ("dream/cycle/running/pass_run.py", "the pass boundary: one pass's failure must not end the run"),
    ("dream/cycle/scheduling/backlog.py", "what a pass cannot tell of its work, its run will; no service dies of it"),
    ("dream/cycle/listeners.py", "a listener: its failure must not look like the failure of the run it is told of"),
    ("dream/passes/host_verifier.py", "a host's own verifier may raise anything, and must not end a dream"),
    ("dream/interfaces/installed.py", "a stranger's package that cannot be loaded is told in one sentence"),
    ("dream/interfaces/mcp/offered.py", "the edge of the server: a model gets a sentence instead of a traceback"),
    ("dream/interfaces/serving/gatekeeper.py", "the edge of the server: a client gets a sentence, never a traceback"),
    ("dream/interfaces/serving/run_desk.py", "a dream hands whatever is raised to the client who asked for it"),
    ("dream/interfaces/cli/entry.py", "the edge of the program: a person gets a sentence instead of a traceback"),
]

HOMES = {
    # The doctor looks at the tables themselves, below what the stores would tell.
    "sqlalchemy": ("agentcore/stores/sql/", "dream/stores/", "dream/interfaces/cli/doctor.py"),
    "alembic": ("agentcore/stores/sql/",),
    "dependency_injector": ("agentcore/hosting/wiring_library.py",),
    "openai": ("agentcore/llm/",),
    "cyclopts": ("dream/interfaces/",),
    "rich": ("dream/interfaces/",),
    "fastapi": ("dream/interfaces/rest/",),
    "mcp": ("dream/interfaces/mcp/",),
    "uvicorn": ("dream/interfaces/serving/process.py", "dream/interfaces/serving/connection.py"),
}
"""What stands behind a seam is imported on its far side only."""


@cache
def _modules() -> dict[str, ast.Module]:
    """Every module's tree, read when the first test asks: each process collects these tests, not each runs them."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in _FILES.items()}


@cache
def _imports(tree: ast.AST) -> set[str]:
    """The top-level packages that a module imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler takes every error and does not hand it on."""
    caught = ast.walk(handler.type) if handler.type else iter([ast.Name("Exception")])
    takes_all = any(isinstance(node, ast.Name) and node.id in {"Exception", "BaseException"} for node in caught)
    return takes_all and not any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def test_only_the_named_places_catch_everything():
    handlers = [
        path
        for path, tree in _modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _swallows(node)
    ]
    assert sorted(handlers) == sorted(path for path, _ in CATCHES_EVERYTHING)


def test_every_package_and_module_says_what_it_is_for():
    silent = [path for path, tree in _modules().items() if not ast.get_docstring(tree)]
    assert silent == []


@pytest.mark.parametrize("package", HOMES)
def test_a_library_behind_a_seam_is_imported_there_alone(package: str):
    outside = [
        path for path, tree in _modules().items() if package in _imports(tree) and not path.startswith(HOMES[package])
    ]
    assert outside == []


@pytest.mark.parametrize(
    "name",
    sorted(path.removesuffix("/__init__.py").replace("/", ".") for path in _FILES if path.endswith("/__init__.py")),
)
def test_what_a_package_promises_it_has(name: str):
    package = import_module(name)
    promised = getattr(package, "__all__", [])
    assert sorted(set(promised)) == sorted(promised)
    assert [one for one in promised if not hasattr(package, one)] == []


@pytest.mark.parametrize("name", ["agentcore", "dream"])
def test_a_lazy_package_knows_no_other_name(name: str):
    with pytest.raises(AttributeError, match="nonsense"):
        import_module(name).nonsense  # noqa: B018 - the access is the test


PASS = """
from collections.abc import Sequence
from typing import ClassVar

from agentcore.domain.capability import Capability
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.storage import ReadView
from dream.domain.proposal import Notes, Proposal, Work
from dream.passes import DreamContext, DreamPass


class Writer:
    name: ClassVar[str] = "writer"
    requires: ClassVar[frozenset[Capability]] = frozenset()

    async def has_work(self, context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, context: DreamContext) -> Proposal:
        entries = await context.read(find)
        await context.read(lambda view: view.entries.add(entries))  # refused
        await context.read(lambda view: view.entries.replace([(entries[0], entries[0])]))  # refused
        await context.read(lambda view: view.entries.delete([entry.id for entry in entries]))  # refused
        await context.read(lambda view: view.turns.delete(["t"]))  # refused
        await context.read(lambda view: view.settings.put("dream.paused", None))  # refused
        await context.read(lambda view: view.leases.revoke("dream"))  # refused
        await context.read(lambda view: view.forget(entries[0].id))  # refused
        await context.read(lambda view: view.books.cursors.position("dream"))
        await context.read(lambda view: view.books.cursors.move("dream", 7))  # refused
        await context.read(lambda view: view.books.decisions.reconsider(["mark"]))  # refused
        await context.read(lambda view: view.books.clusters.remove([], pass_name="writer"))  # refused
        await context.read(lambda view: view.books.expiry.purge(context.as_of, limit=7))  # refused
        await context.read(lambda view: view.books.calls)  # refused
        await context.recall.scrub("scope")  # refused
        await context.write(lambda unit: None)  # refused
        entries[0].base = 1.0  # refused
        context.cursor = 7  # refused
        return Proposal()

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return {}


def find(view: ReadView) -> list[MemoryEntry]:
    return view.entries.get_many(["a"])


fits: DreamPass = Writer()
"""


def test_a_pass_that_writes_does_not_type_check(tmp_path: Path):
    found = refused_lines({"a pass": PASS}, tmp_path)["a pass"]
    assert found.keys() == marked_lines(PASS), found
