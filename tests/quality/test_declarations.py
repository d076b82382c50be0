"""Passes declare themselves: no module elsewhere knows them by name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from dream.domain.built_in_passes import BUILT_IN, DECLARED
from dream.domain.declaration import OPTIONAL, Declaration, declared
from dream.options import DreamOptions
from dream.passes import ORDER, PassSlot

_ROOT = Path(__file__).parents[2]
_ALLOWED = {
    "dream/domain/concluding_passes.py",
    "dream/domain/guessing_passes.py",
    # Records that are called as the pass which writes them.
    "agentcore/domain/records.py",
    "dream/interfaces/cli/app.py",
    "dream/options/dense_mem.py",
    "dream/interfaces/cli/commands/hypotheses.py",
    "dream/interfaces/cli/render/hypotheses.py",
    "agentcore/stores/sql/schema/__init__.py",
    "agentcore/stores/sql/schema/hypotheses.py",
    "agentcore/stores/sql/migrations/versions/v0028_hypotheses.py",
    "agentcore/stores/sql/migrations/versions/v0033_weighed_evidence.py",
    # Claims, which a pass of this name takes, and the doors that are called as they are.
    "dream/interfaces/cli/commands/claims.py",
    "dream/domain/asked_question.py",
    "dream/interfaces/dream_shapes.py",
    "dream/interfaces/rest/claims.py",
    # Where they are declared, and a preset that is called as a pass is.
    "dream/domain/built_in_passes.py",
    "dream/domain/declaration.py",
    # Stored names: what a database of that schema holds, and a phase of entries.
    "agentcore/stores/sql/migrations/versions/v0013_cursor_reads.py",
    "dream/domain/phases.py",
    # A finding of the doctor about what was promoted.
    "dream/interfaces/cli/doctor.py",
    # A view of the page, called as the records are.
    "dream/interfaces/page/views.py",
}
_KNOWS_ONE = {
    # Tells of one pass what it would do: `dream promote --explain`.
    "dream/cycle/promotion_status.py",
}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in ("agentcore", "dream"):
        for path in (_ROOT / package).rglob("*.py"):
            yield path.relative_to(_ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


def test_no_module_outside_the_passes_names_one():
    named = {
        (module, node.value)
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in DECLARED
    }
    assert {one for one in named if one[0] not in _ALLOWED and not one[0].startswith("dream/passes/")} == set()


def test_no_module_outside_the_passes_imports_one():
    homes = {f"dream.passes.{one.home.partition(':')[0]}" for one in BUILT_IN}
    imported = {
        (module, node.module)
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and any(f"{node.module}.".startswith(f"{one}.") for one in homes)
    }
    assert {one for one in imported if one[0] not in _KNOWS_ONE and not one[0].startswith("dream/passes/")} == set()


@pytest.mark.parametrize("slot", ORDER, ids=lambda slot: slot.name)
def test_a_pass_has_what_is_declared_of_it(slot: PassSlot):
    found, told = declared(slot.dream_pass), slot.declaration
    assert (found.name, found.requires, found.sent) == (told.name, told.requires, told.sent)
    assert {name: getattr(found, name) for name in OPTIONAL} == {name: getattr(told, name) for name in OPTIONAL}


@pytest.mark.parametrize("slot", ORDER, ids=lambda slot: slot.name)
def test_a_pass_declares_the_notes_of_its_report(slot: PassSlot):
    assert set(slot.dream_pass.conclude([{}])) <= set(slot.declaration.notes)


@pytest.mark.parametrize("declaration", DECLARED.values(), ids=lambda declaration: declaration.name)
def test_the_options_that_a_pass_declares_are_there(declaration: Declaration):
    options = DreamOptions()
    assert declaration.options is None or options.of(declaration.name) == getattr(options, declaration.options)
