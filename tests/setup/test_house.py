"""Measures of the code that must not get worse. Lower a ceiling when the figure falls; never raise one."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"

MAX_SHARED_CLASS_NAMES = 0.02
MAX_VAGUE_BINDINGS = 0.01
MAX_MODULES = 20

VAGUE = frozenset("one other some told said heard seen found asked wanted given kept own rest known".split())
EDGES = ("acumen/api", "acumen/web", "acumen/cli")


Trees = dict[Path, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    return {path: ast.parse(path.read_text()) for path in sorted(SRC.rglob("*.py"))}


def test_a_class_name_is_defined_in_one_module(trees: Trees):
    """The errors of the client have the names of the server's, on purpose."""
    modules = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(path)

    shared = [name for name, paths in modules.items() if len(paths) > 1]

    assert len(shared) / len(modules) <= MAX_SHARED_CLASS_NAMES, sorted(shared)


def test_variables_and_parameters_have_names(trees: Trees):
    bindings = Counter(name in VAGUE for tree in trees.values() for name in _bindings(tree))

    assert bindings[True] / bindings.total() <= MAX_VAGUE_BINDINGS


def _bindings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_no_folder_has_too_many_modules(trees: Trees):
    widths = Counter(map(_folder, trees))

    assert {folder: width for folder, width in widths.items() if width > MAX_MODULES} == {}


def test_edges_import_no_storage(trees: Trees):
    importers = [path for path, tree in trees.items() if _folder(path).startswith(EDGES) and _uses_storage(tree)]

    assert importers == []


def _uses_storage(tree: ast.AST) -> bool:
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return any(name == "acumen.storage" or name.startswith("acumen.storage.") for name in names)


def _folder(path: Path) -> str:
    return path.parent.relative_to(SRC).as_posix()
