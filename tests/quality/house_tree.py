"""What a tree of this project holds: files, lines, importers and names, by reading it alone."""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

PACKAGES = ("agentcore/", "dream/")
SMALL = 80
"""Lines under which a module with one importer needs a reason."""

_TESTING = "agentcore/testing/"
_DATA = ("directives/", "docs/examples/")
"""Folders outside the packages that the wheel ships."""
_COUNTED = (*PACKAGES, *_DATA, "tests/")
_PASSES = "dream/passes"
_SHARED_BY_PASSES = (_PASSES, f"{_PASSES}/conversation", f"{_PASSES}/skills")
_FIGURES = "tests/quality/house_figures_"
"""What is kept of an earlier count is not counted."""

Amounts = dict[str, int]
"""Files and lines."""
Places = dict[str, list[str]]
"""For each name the files it is given in."""


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file of the product.

    Args:
        file: Its path in the tree.
        lines: How long it is.
        parsed: Its syntax tree.
    """

    file: str
    lines: int
    parsed: ast.Module

    @property
    def name(self) -> str:
        """What it is imported by."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def is_face(self) -> bool:
        """Whether it is the `__init__` of a package."""
        return self.file.endswith("/__init__.py")


class Tree:
    """The files of one tree, those of git that are there; lives as long as the count.

    Args:
        root: The folder that holds `agentcore` and `dream`.
    """

    def __init__(self, root: Path) -> None:
        command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
        self._texts = {
            name: (root / name).read_text("utf-8", errors="replace")
            for name in sorted(set(listed))
            if name.startswith(_COUNTED) and not name.startswith(_FIGURES) and (root / name).is_file()
        }

    @cached_property
    def modules(self) -> Mapping[str, Module]:
        """The product's modules, `agentcore.testing` included, by the names they are imported by."""
        modules = (
            Module(file, _lines(text), ast.parse(text))
            for file, text in self._texts.items()
            if file.endswith(".py") and file.startswith(PACKAGES)
        )
        return {module.name: module for module in modules}

    def kinds(self) -> dict[str, Amounts]:
        """Return files and lines by kind; what moves from one kind to another stays in the total."""
        kinds: dict[str, list[str]] = {
            "product, Python": [],
            "product, data": [],
            "agentcore/testing": [],
            "tests, Python": [],
            "tests, data": [],
        }
        for file in self._texts:
            kinds[_kind(file)].append(file)
        product = kinds["product, Python"] + kinds["product, data"]
        return {
            **{kind: self._amounts(files) for kind, files in kinds.items()},
            "product, Python and data": self._amounts(product),
            "total": self._amounts(self._texts),
        }

    def packages(self) -> dict[str, Amounts]:
        """Return the Python files and lines of each package: `own` without and `files` with those below it.

        As in the review, `__init__` is not counted as a file, and its lines are counted.
        """
        packages = sorted({str(PurePosixPath(module.file).parent) for module in self.modules.values()})
        return {package: self._package(package) for package in packages}

    def one_importer(self) -> dict[str, list[Module]]:
        """Return the modules that exactly one other imports, wherever it does: all, and the small ones.

        A face counts as an importer like any other; it is none of the modules itself.
        """
        importers = self._importers()
        alone = [module for name, module in self.modules.items() if not module.is_face and len(importers[name]) == 1]
        return {
            "one importer": alone,
            f"one importer and under {SMALL} lines": [module for module in alone if module.lines < SMALL],
        }

    def class_names(self) -> Places:
        """Return the names of classes defined in more than one module, leading underscores stripped."""
        return self._classes(stripped=True)

    def class_names_as_written(self) -> Places:
        """Return the same, with `_Draft` and `Draft` as two names: what the review counted."""
        return self._classes(stripped=False)

    def module_names(self) -> Places:
        """Return the file names that stand in more than one package."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for module in self.modules.values():
            if not module.is_face:
                files[PurePosixPath(module.file).stem].append(module.file)
        return _several(files)

    def module_names_beyond_passes(self) -> Places:
        """Return those of them that are not the same thing in every pass package, where one name is wanted."""
        return {name: files for name, files in self.module_names().items() if not all(map(_is_of_a_pass, files))}

    def _classes(self, *, stripped: bool) -> Places:
        files: defaultdict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            for node in ast.walk(module.parsed):
                if isinstance(node, ast.ClassDef):
                    files[node.name.lstrip("_") if stripped else node.name].add(module.file)
        return _several(files)

    def _importers(self) -> Mapping[str, set[str]]:
        importers: defaultdict[str, set[str]] = defaultdict(set)
        for name, module in self.modules.items():
            for imported in self._imported(module.parsed):
                importers[imported].add(name)
        return importers

    def _imported(self, parsed: ast.Module) -> Iterable[str]:
        for node in ast.walk(parsed):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom) and node.module and node.module in self.modules:
                for alias in node.names:
                    within = f"{node.module}.{alias.name}"
                    yield within if within in self.modules else node.module

    def _package(self, package: str) -> Amounts:
        below = [module for module in self.modules.values() if module.file.startswith(f"{package}/")]
        files = [PurePosixPath(module.file) for module in below if not module.is_face]
        own = sum(str(file.parent) == package for file in files)
        return {"own": own, "files": len(files), "lines": sum(module.lines for module in below)}

    def _amounts(self, files: Iterable[str]) -> Amounts:
        lengths = [_lines(self._texts[file]) for file in files]
        return {"files": len(lengths), "lines": sum(lengths)}


def shared_pass_files(packages: Mapping[str, Amounts]) -> int:
    """Count the files of `dream/passes` that no single pass owns."""
    return sum(packages[package]["own"] for package in _SHARED_BY_PASSES if package in packages)


def _kind(file: str) -> str:
    what = "Python" if file.endswith(".py") else "data"
    if file.startswith("tests/"):
        return f"tests, {what}"
    return "agentcore/testing" if file.startswith(_TESTING) else f"product, {what}"


def _is_of_a_pass(file: str) -> bool:
    folder = str(PurePosixPath(file).parent)
    return folder.startswith(f"{_PASSES}/") and folder not in _SHARED_BY_PASSES


def _several(places: Mapping[str, Iterable[str]]) -> Places:
    return {name: sorted(files) for name, files in sorted(places.items()) if len(set(files)) > 1}


def _lines(text: str) -> int:
    return len(text.splitlines())
