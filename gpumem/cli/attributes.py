"""``gpumem attributes``: registers, shared memory and occupancy of a family's kernels."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _core
from ..base.tables import format_table
from ..families.table import Variant, find, resolve, variants
from .common import Commands, complete_families, complete_variants, completed, print_json

_COLUMNS = {
    "registers": "registers",
    "local_bytes": "local B",
    "shared_bytes": "shared B",
    "blocks": "blocks/SM",
}


def _kernels(family: str, variant: str | None) -> list[Variant]:
    """Return the kernels asked for: instances in place of their row."""
    if variant is not None:
        row = find(family, resolve(family, variant))
        return list(row.instances or (row,))
    return [one for one in variants(family, instances=True) if one.source.endswith(".cu")]


def _found(one: Variant, options: argparse.Namespace) -> dict[str, Any]:
    """Return a kernel's attributes, or with all kernels of a family, why there are none."""
    name = {"family": one.family, "variant": one.name}
    try:
        return {**name, **one.attributes(options.backend, options.arch)}
    except _core.UnavailableError as error:
        if options.variant is not None:
            raise
        return {**name, "reason": str(error)}


def _cell(row: dict[str, Any], name: str, one: Variant) -> str:
    """Return an attribute as text. Shared memory with what a launch adds: both limit the blocks."""
    if name not in row:
        return "-"
    return str(row[name] + one.shared_bytes if name == "shared_bytes" else row[name])


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    kernels = _kernels(options.family, options.variant)
    rows = [_found(one, options) for one in kernels]
    if options.json:
        print_json(rows)
        return 0
    cells = [
        [f"{row['family']}-{row['variant']}"]
        + [_cell(row, name, one) for name in _COLUMNS]
        + [f"{row['occupancy']:.0%}" if "occupancy" in row else "-"]
        for row, one in zip(rows, kernels, strict=True)
    ]
    print(format_table(("kernel", *_COLUMNS.values(), "occupancy"), cells, left=1))
    told = {f"sm_{row['arch']}, {row['shipped']}." for row in rows if row.get("shipped")}
    told |= {
        f"{row['family']}-{row['variant']}: {row['reason']}" for row in rows if "reason" in row
    }
    if told:
        print("", *sorted(told), sep="\n")
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = (
        "Show registers, shared memory and occupancy of a family's kernels: on the GPU or, without "
        "one, as shipped."
    )
    one = commands.add("attributes", run, text)
    completed(one.add_argument("family", metavar="FAMILY"), complete_families)
    completed(one.add_argument("variant", nargs="?", metavar="VARIANT"), complete_variants)
    one.add_argument("--arch", help="what is shipped for a target: 80, 90a, 100 or 120")
