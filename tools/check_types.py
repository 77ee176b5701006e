"""Checks with mypy --strict what users write: the documents, all docstrings, and typed calls.

    python tools/check_types.py [FOLDER]

Each example becomes a function of a module in FOLDER (by default a temporary one). tests/typed has
calls with the types that they should have. mypy has to be installed.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gpumem
from gpumem import _core

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary")
DOCUMENTS = (
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "tour", "own-kernels", "results")),
)
TYPED = ROOT / "tests" / "typed"


def statements(text: str) -> str:
    """Return the Python of a docstring or of a block of a document, without what it prints."""
    if ">>> " not in text:
        return text
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


def documents() -> Iterator[tuple[str, str]]:
    """(name, text) of DOCUMENTS; later blocks use what earlier ones define."""
    for file in DOCUMENTS:
        text = (ROOT / file).read_text(encoding="utf-8")
        blocks = re.findall(r"```(?:python|pycon)\n(.*?)```", text, re.DOTALL)
        name = re.sub(r"\W", "_", Path(file).stem)
        yield f"document_{name}", "".join(statements(block) for block in blocks)


def members(name: str, thing: Any) -> Iterator[tuple[str, str]]:
    """(name, docstring) of a public thing and of what is public in it."""
    if thing.__doc__:
        yield name, thing.__doc__
    kind = thing if isinstance(thing, type) else type(thing)
    if not kind.__module__.startswith("gpumem"):
        return
    for inner, one in vars(kind).items():
        one = getattr(one, "__func__", one)
        if not inner.startswith("_") and getattr(one, "__doc__", None):
            yield f"{name}_{inner}", one.__doc__


def docstrings() -> Iterator[tuple[str, str]]:
    """(name, text) of the docstrings of all public names."""
    for owner in (gpumem, _core):
        names = gpumem.__all__ if owner is gpumem else ("Event", "Prepared")
        for name in names:
            thing = getattr(owner, name)
            if not isinstance(thing, ModuleType):
                yield from members(name, thing)


def write_examples(folder: Path) -> Path:
    """Write one function per example; a comment says where it comes from."""
    seen: set[str] = set()
    parts = ["# mypy: disable-error-code=unused-ignore\n"]
    for name, text in [*documents(), *docstrings()]:
        source = statements(text) if ">>> " in text or name.startswith("document") else ""
        if source and name not in seen:
            seen.add(name)
            body = textwrap.indent(source, "    ")
            parts.append(f"\n\ndef {name}() -> None:\n{body}")
    file = folder / "examples.py"
    file.write_text("".join(parts), encoding="utf-8")
    return file


def check(folder: Path) -> int:
    """Run mypy; it prints what it finds."""
    files = [write_examples(folder), *sorted(TYPED.glob("*.py"))]
    home = Path(gpumem.__file__).resolve().parent.parent
    environment = dict(os.environ)
    if home.name not in ("site-packages", "dist-packages"):  # there mypy finds it by itself
        environment["MYPYPATH"] = str(home)
    command = [sys.executable, "-m", "mypy", *FLAGS, *map(str, files)]
    return subprocess.run(command, cwd=folder, env=environment).returncode


def main() -> int:
    """Return the exit status of mypy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    folder = parser.parse_args().folder
    if folder is not None:
        return check(folder)
    with tempfile.TemporaryDirectory() as made:
        return check(Path(made))


if __name__ == "__main__":
    sys.exit(main())
