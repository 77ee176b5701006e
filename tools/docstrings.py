"""Writes into the Python sources what they repeat of the table of variants.

    python tools/docstrings.py [--check]

In gpumem/families/NAME.py it writes the list of variants in the docstring of the family's
function: everything between "The variants, each with the idea that it adds:" and the next section.
In gpumem/__init__.py it writes the lines that import the families' functions, and ``__all__``.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from pathlib import Path

from own_package import check_own_package

import gpumem as gm
from gpumem.base import files

PACKAGE = Path(gm.__file__).resolve().parent
VARIANTS = re.compile(
    r"(    The variants, each with the idea that it adds:\n).*?(?=\n    (?:References|Examples)\n)",
    re.DOTALL,
)
ALL = re.compile(r"(?<=\n__all__ = \[\n).*?(?=\]\n)", re.DOTALL)


def variant_list(family: str) -> str:
    """Return the variants of a family as the docstring of its function lists them."""

    def listed(serves: bool) -> str:
        return "".join(
            f"\n    ``{one.name}``\n        {one.doc}"
            for row in gm.variants(family)
            if row.serves == serves
            for one in (row, *row.instances)
        )

    lessons, serving = listed(False), listed(True)
    return (
        f"{lessons}\n\n    Kernels that only serve ``auto``:\n{serving}\n"
        if serving
        else f"{lessons}\n"
    )


def with_variants(family: str, text: str) -> str:
    """Return the text of a family's file with its list of variants up to date."""
    text, found = VARIANTS.subn(lambda match: match[1] + variant_list(family), text)
    if found != 1:
        raise ValueError(f"families/{family}.py has {found} lists of variants, expected 1")
    return text


def public_functions(family: str) -> list[str]:
    """Return the names of the functions that a family's file defines for users."""
    module = importlib.import_module(f"gpumem.families.{family}")
    functions = inspect.getmembers(module, inspect.isfunction)
    return [name for name, f in functions if f.__module__ == module.__name__ and name[0] != "_"]


def with_functions(text: str) -> str:
    """Return the text of gpumem/__init__.py with the functions of all families."""
    lines = text.splitlines(keepends=True)
    public = {family: public_functions(family) for family in gm.families()}
    ours = re.compile(rf"from \.families\.({'|'.join(public)}) import ")
    table = next(i for i, line in enumerate(lines) if line.startswith("from .families.table "))
    imports = [f"from .families.{family} import {', '.join(public[family])}\n" for family in public]
    imports = sorted([*imports, lines[table]])
    kept = [line for line in lines[:table] if not ours.match(line)]
    rest = [line for line in lines[table + 1 :] if not ours.match(line)]
    text = "".join([*kept, *imports, *rest])
    names = set(re.findall(r'"(\w+)"', ALL.search(text)[0])).union(*public.values())
    return ALL.sub("".join(f'    "{name}",\n' for name in sorted(names)), text)


def rewritten() -> dict[Path, str]:
    """Return the text that each file should have."""
    texts = {}
    for family in gm.families():
        path = PACKAGE / "families" / f"{family}.py"
        texts[path] = with_variants(family, path.read_text(encoding="utf-8"))
    path = PACKAGE / "__init__.py"
    texts[path] = with_functions(path.read_text(encoding="utf-8"))
    return texts


def main() -> int:
    """Write the files that are stale, or with --check name them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether files are stale")
    options = parser.parse_args()
    if not options.check:
        check_own_package()
    stale = {p: t for p, t in rewritten().items() if p.read_text(encoding="utf-8") != t}
    for path, text in stale.items():
        if options.check:
            print(f"stale: {path}")
        else:
            files.write(path, text)
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
