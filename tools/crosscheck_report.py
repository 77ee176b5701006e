"""What crosscheck_ncu.py finds: how many figures agree, and which differ, for which reason."""

from __future__ import annotations

import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tool_tables import rows_to_markdown

from gpumem.base.provenance import origin
from gpumem.base.tables import format_table

DOCUMENTS = Path(__file__).resolve().parents[1] / "docs"


def unexplained(record: dict[str, Any]) -> list[str]:
    """Return the figures of a record that differ for no known reason."""
    return [
        name
        for name, same in record["agrees"].items()
        if same is False and name not in record["why"]
    ]


def counts(found: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count the calls, and the figures that agree, differ, or are not compared."""
    verdicts = collections.Counter(same for record in found for same in record["agrees"].values())
    return {
        "calls": len(found),
        "agree": verdicts[True],
        "differ": verdicts[False],
        "unexplained": sum(len(unexplained(record)) for record in found),
        "not compared": verdicts[None],
    }


def by_size(found: Sequence[dict[str, Any]]) -> dict[int, dict[str, int]]:
    """Return the counts of each size."""
    sizes = dict.fromkeys(record["bytes"] for record in found)
    return {size: counts([r for r in found if r["bytes"] == size]) for size in sizes}


def differences(found: Sequence[dict[str, Any]]) -> str:
    """Return a table of the figures that differ, for each reason."""
    rows: dict[str, list[tuple[str, ...]]] = {}
    for record in found:
        for figure, same in record["agrees"].items():
            if same is False:
                sides = [record[side][figure] for side in ("simulator", "hardware")]
                cells = ["-" if value is None else f"{value:.8g}" for value in sides]
                why = record["why"].get(figure, "for no known reason")
                rows.setdefault(why, []).append((_label(record), figure, *cells))
    head = ("call", "figure", "simulator", "hardware")
    return "".join(
        f"{why}:\n{format_table(head, these, 2, width=120)}\n\n" for why, these in rows.items()
    )


def _label(record: dict[str, Any]) -> str:
    call = [f"{record['family']}-{record['variant']}", f"{record['bytes']} bytes"]
    return ", ".join(call if record["case"] == "plain" else [*call, record["case"]])


def summary(found: list[dict[str, Any]]) -> str:
    """Return the differences by reason, and a line of counts per size."""
    missing = [
        f"{_label(record)}: no figures of the {side}: {record['why'][side]}\n"
        for record in found
        for side in ("simulator", "hardware")
        if record[side] is None
    ]
    counted = [
        f"{size} bytes, {n['calls']} calls: {n['agree']} figures agree, {n['differ']} differ "
        f"({n['unexplained']} for no known reason), {n['not compared']} not compared."
        for size, n in by_size(found).items()
    ]
    return differences(found) + "".join(missing) + "\n".join(counted)


def table(file: str) -> str:
    """Return the counts of a result among the documents, a row per family; nothing without it."""
    path = (DOCUMENTS / file).with_suffix(".json")
    if not path.exists():
        return ""
    result = json.loads(path.read_text(encoding="utf-8"))
    names = ("calls", "agree", "differ", "not compared")
    rows = []
    for family in dict.fromkeys(record["family"] for record in result["records"]):
        n = counts([record for record in result["records"] if record["family"] == family])
        rows.append([f"`{family}`", *(str(n[name]) for name in names)])
    sizes = ", ".join(f"{size:,}" for size in result["sizes"])
    told = f"[{path.name}]({path.name}): {origin(result['provenance'])}; {sizes} bytes."
    return f"{rows_to_markdown(['family', *names], rows)}\n{told}\n"
