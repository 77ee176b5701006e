"""The floors of gpumem, as far as import-linter does not see them, and the length of functions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "gpumem"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 500, 60


def imports(tree, path):
    """(module relative to gpumem, name) of each import from the package, wherever it is."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = folder[: len(folder) - node.level + 1]
            module = ".".join([*start, *filter(None, [node.module])])
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (("", a.name) for a in node.names if a.name.split(".")[0] == "gpumem")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "gpumem":
            yield "", node.module


def code_lines(function):
    """The lines of a function without its docstring."""
    docstring = ast.get_docstring(function, clean=False)
    inside = len(docstring.splitlines()) if docstring else 0
    return function.end_lineno - function.lineno + 1 - inside


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_keeps_to_its_floor(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    known = {one.name for one in PACKAGE.iterdir() if one.is_dir()} | {"_core"}
    if path.parent != PACKAGE:  # __init__.py and __main__.py stand above all floors
        of_root = {name for module, name in imports(tree, path) if module == ""}
        assert of_root <= known, "only floors and _core are imported from the package itself"
    assert len(text.splitlines()) <= MOST_LINES
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    long = {one.name: code_lines(one) for one in functions}
    assert {name: n for name, n in long.items() if n > MOST_LINES_OF_A_FUNCTION} == {}
