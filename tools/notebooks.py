"""Strip notebooks/ of outputs, execution counts and the marks of editors, as it is committed.

    python tools/notebooks.py [--check] [FILE...]

The tests leave notebooks with outputs in build/notebooks, for the site: `keep` and `executed`.
Cells keep their ids; a cell without an id, or with a duplicate one, gets one from its position.
Needs nbformat (``pip install '.[notebooks]'``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
KEPT = ROOT / "build" / "notebooks"
CELL_SECONDS = 600
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


def all_files() -> list[Path]:
    """Return the notebooks, in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def made_of(path: Path) -> str:
    """Return a digest of what a notebook's outputs depend on: the package, and its own code."""
    digest = hashlib.sha256()
    package = sorted(file for file in (ROOT / "gpumem").rglob("*") if file.suffix != ".pyc")
    for file in (path, FOLDER / "lab.py", *package):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()


def keep(path: Path, notebook: Any, made: str) -> None:
    """Keep a notebook that has been run on the simulator, until what it depends on changes."""
    notebook.metadata["gpumem"] = made
    KEPT.mkdir(parents=True, exist_ok=True)
    unfinished = KEPT / f"{path.stem}.{os.getpid()}"
    nbformat.write(notebook, unfinished)
    unfinished.replace(KEPT / path.name)


def executed(path: Path, run: bool) -> Any:
    """Return a notebook with its outputs: the one that was kept; or run it, or return None."""
    made = made_of(path)
    if (KEPT / path.name).exists():
        kept = nbformat.read(KEPT / path.name, as_version=4)
        if kept.metadata.get("gpumem") == made:
            return kept
    if not run:
        return None
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(FOLDER)}}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=where)
    package = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "GPUMEM_BACKEND": "sim", "PYTHONPATH": package}
    environment.pop("MPLBACKEND", None)
    client.execute(env=environment)
    keep(path, notebook, made)
    return notebook


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if a file would change"
    )
    options = parser.parse_args()
    changed = 0
    for file in options.files or all_files():
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
