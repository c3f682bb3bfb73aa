"""Imports point one way: no cycle between modules, no arrow from a lower package to a higher one."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import ipds

ROOT = Path(ipds.__file__).parent
LEVELS = (
    {"_version", "_abstract", "status", "deadline", "distributed", "_html"},
    {"_arrays"},
    {"errors", "io"},
    {"operators", "functions"},
    {"problem", "parameters"},
    {"theory"},
    {"presolve"},
    {"methods"},
    {"result"},
    {"solving"},
    {"plot"},
    {"modelling", "models"},
    {"experiments"},
    {"cli", "datasets", "diagnostics"},
    {"__init__", "__main__"},
)
"""The rooms of the package from the ground up; those of one line may not import each other, but functions operators."""
BESIDE = {("functions", "operators")}


ROOMS = [path for path in ROOT.rglob("__init__.py") if path.parent != ROOT]


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_the_docstring_of_a_room_names_every_file_in_it(room):
    words = re.findall(r"\w+", ast.get_docstring(ast.parse(room.read_text(encoding="utf-8"))))
    files = {path.stem for path in room.parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert files - {"__init__", "__pycache__"} <= set(words)


def modules():
    """Name → path of every module, packages by their own name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = path
    return found


def is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(node):
    """Import statements anywhere in a module, inside functions too; not those for types alone."""
    for child in ast.iter_child_nodes(node):
        if is_for_types(child):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from statements(child)


def imported(name, path, known):
    """The modules of the package that a module imports."""
    is_package = path.name == "__init__.py"
    package = name.split(".") if is_package and name != "__init__" else name.split(".")[:-1]
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [
                alias.name.split(".")[1:] for alias in node.names if alias.name.split(".")[0] == "ipds"
            ]
        elif node.level:
            base = package[: len(package) - (node.level - 1)] + (
                node.module.split(".") if node.module else []
            )
            targets = [[*base, alias.name] for alias in node.names]
        elif node.module and node.module.split(".")[0] == "ipds":
            targets = [[*node.module.split(".")[1:], alias.name] for alias in node.names]
        else:
            continue
        for parts in targets:
            while parts and ".".join(parts) not in known:
                parts = parts[:-1]
            yield ".".join(parts) or "__init__"


KNOWN = modules()
GRAPH = {name: set(imported(name, path, KNOWN)) - {name} for name, path in KNOWN.items()}


def level(name):
    room = name.split(".")[0]
    return next((i for i, rooms in enumerate(LEVELS) if room in rooms), None)


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_imports_point_down(name):
    assert level(name) is not None, f"say in LEVELS where {name} belongs"
    room = name.split(".")[0]
    for target in GRAPH[name]:
        other = target.split(".")[0]
        fine = other == room or level(target) < level(name) or (room, other) in BESIDE
        assert fine, f"{name} imports {target}, which stands above it"


def test_every_room_is_there():
    rooms = {room for rooms in LEVELS for room in rooms}
    assert rooms == {name.split(".")[0] for name in KNOWN}


def test_no_modules_import_each_other_in_circles():
    """Also not by a package that a module's own package imports in turn: what Python sees when it loads them."""
    state, path = {}, []

    def visit(name):
        state[name] = "open"
        path.append(name)
        for target in sorted(GRAPH[name]):
            assert state.get(target) != "open", " → ".join([*path[path.index(target) :], target])
            if target not in state:
                visit(target)
        path.pop()
        state[name] = "done"

    for name in sorted(GRAPH):
        if name not in state:
            visit(name)


def test_the_test_sees_lazy_imports_and_not_those_for_types():
    tree = ast.parse("if TYPE_CHECKING:\n    from . import a\ndef f():\n    from . import b\n")
    assert [node.names[0].name for node in statements(tree)] == ["b"]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("ipds.datasets", "ipds.experiments.datasets", "load"),
        ("ipds.diagnostics", "ipds.theory.certificate", "certificate"),
        ("ipds.diagnostics", "ipds.theory.potential", "lagrangian"),
    ],
)
def test_modules_that_moved_warn_and_forward(old, new, name):
    with pytest.warns(DeprecationWarning, match=rf"{old}.* is now {new}"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), name)
