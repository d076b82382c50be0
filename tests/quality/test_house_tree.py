"""The counting of the house, on trees of a few lines."""

import subprocess
from pathlib import Path

import pytest
from house_tree import Tree, shared_pass_files

_FILES = {
    "agentcore/__init__.py": "from agentcore.alone import Draft\n",
    "agentcore/alone.py": "class Draft: ...\nclass _Plan: ...\n",
    "agentcore/testing/__init__.py": "",
    "dream/__init__.py": "",
    "dream/lines.py": "x = 1\n" * 79,
    "dream/long.py": "x = 1\n" * 80,
    "dream/reader.py": "def late():\n    from dream import lines, long\n    import agentcore.alone\n",
    "dream/passes/__init__.py": "",
    "dream/passes/lines.py": "class Plan: ...\nclass Plan: ...\n",
    "dream/passes/conversation/turn_pass.py": "class Other: ...\n",
    "dream/passes/rem/judging.py": "",
    "dream/passes/episodes/judging.py": "",
    "directives/rem.md": "# REM\n\nDream.\n",
    "tests/test_all.py": "pass\n",
    "tests/quality/house_figures_before.json": "{\n}\n",
    "docs/index.md": "not counted\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name, text in _FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path, check=True)
    return Tree(tmp_path)


def test_every_file_is_of_one_kind_and_all_of_them_are_in_the_total(tree: Tree):
    kinds = tree.kinds()
    assert kinds["product, data"] == {"files": 1, "lines": 3}
    assert kinds["agentcore/testing"] == {"files": 1, "lines": 0}
    assert kinds["tests, Python"] == {"files": 1, "lines": 1}
    assert kinds["tests, data"] == {"files": 0, "lines": 0}
    parts = [amounts for kind, amounts in kinds.items() if kind not in {"total", "product, Python and data"}]
    assert kinds["total"] == {column: sum(part[column] for part in parts) for column in ("files", "lines")}
    assert kinds["total"]["files"] == len(_FILES) - 2


def test_a_module_counts_as_lone_by_its_importers_wherever_they_import_it(tree: Tree):
    alone = {kind: [module.name for module in modules] for kind, modules in tree.one_importer().items()}
    # Two modules import `agentcore.alone`: the package's face, and a function.
    assert alone == {
        "one importer": ["dream.lines", "dream.long"],
        "one importer and under 80 lines": ["dream.lines"],
    }


def test_a_class_name_is_ambiguous_between_modules_and_not_within_one(tree: Tree):
    assert tree.class_names() == {"Plan": ["agentcore/alone.py", "dream/passes/lines.py"]}
    assert tree.class_names_as_written() == {}


def test_a_file_name_may_be_that_of_the_same_thing_in_every_pass(tree: Tree):
    assert set(tree.module_names()) == {"lines", "judging"}
    assert set(tree.module_names_beyond_passes()) == {"lines"}


def test_a_package_is_counted_with_and_without_those_below_it(tree: Tree):
    packages = tree.packages()
    assert packages["dream/passes"] == {"own": 1, "files": 4, "lines": 3}
    assert shared_pass_files(packages) == 2
