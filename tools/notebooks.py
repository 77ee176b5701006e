"""Strip notebooks/ of outputs, execution counts and the marks of editors, as it is committed.

    python tools/notebooks.py [--check] [FILE...]

Cells keep their ids; a cell without an id, or with a duplicate one, gets one from its position.
Needs nbformat (``pip install gpumem[notebooks]``).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _normal_cell(cell: Any, place: int, taken: set[str]) -> dict[str, Any]:
    name = cell.get("id") or ""
    if not name or name in taken:
        name = f"cell-{place}"
        while name in taken:
            name += "a"
    taken.add(name)
    lines = "".join(cell["source"]).strip("\n").splitlines()
    source = "\n".join(line.rstrip() for line in lines)
    kept = {"cell_type": cell["cell_type"], "id": name, "metadata": {}, "source": source}
    if cell["cell_type"] == "code":
        kept |= {"execution_count": None, "outputs": []}
    return kept


def normal(text: str) -> str:
    """Return the text of a notebook as it is committed.

    Raises
    ------
    ValueError
        If it is no notebook of version 4.
    """
    given = json.loads(text)  # nbformat would give new ids at random
    if not isinstance(given, dict) or given.get("nbformat") != 4:
        raise ValueError("it is not a notebook of version 4")
    taken: set[str] = set()
    cells = [
        _normal_cell(cell, i, taken) for i, cell in enumerate(given["cells"]) if cell["source"]
    ]
    kept = nbformat.from_dict(
        {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    )
    nbformat.validate(kept)
    return nbformat.writes(kept) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if a file would change"
    )
    options = parser.parse_args()
    changed = 0
    for file in options.files or sorted(FOLDER.glob("*.ipynb")):
        text = file.read_text(encoding="utf-8")
        wanted = normal(text)
        if wanted != text:
            changed += 1
            if options.check:
                print(f"{file} has outputs or other marks: run tools/notebooks.py")
            else:
                file.write_text(wanted, encoding="utf-8")
                print(f"{file} written")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
