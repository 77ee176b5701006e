"""``gpumem list``: the variants and their ideas."""

from __future__ import annotations

import argparse
import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..base.tables import format_table, text_width
from ..families.table import Variant, variants
from .common import Commands, chosen_families, complete_families, completed, note, print_json

_LEAST = 30  # characters that the last column needs; otherwise ideas go below their rows
_INDENT = 8  # of ideas below their rows


def _row(variant: Variant, backend: str) -> dict[str, Any]:
    reason = variant.reason_on(backend)
    names = ("family", "name", "doc", "source", "follows", "serves", "requires")
    row = {name: getattr(variant, name) for name in names}
    row["row"] = variant.row and variant.row.name
    return row | {"backend": backend, "available": reason is None, "reason": reason}


def _names(one: dict[str, Any]) -> tuple[str, str, str]:
    """Return the cells before the idea: name, availability, and the rung below."""
    available = "no" if one["reason"] else "yes"
    if one["row"]:
        return f"  :{one['name'].partition(':')[2]}", available, ""
    return f"{one['family']}-{one['name']}", available, one["follows"] or ""


def _ladder(title: str, members: Sequence[dict[str, Any]], backend: str, width: int) -> str:
    """Return a table of variants; if names leave no room for ideas, these go below their rows."""
    cells = [_names(one) for one in members]
    head, *rows = format_table((title, backend, "follows"), cells, 3, width=1000).splitlines()
    column = max(map(len, (head, *rows))) + 2
    beside = width - column >= _LEAST
    indent = column if beside else _INDENT
    lines = [f"{head:{column}}idea" if beside else head]
    for one, row in zip(members, rows, strict=True):
        idea = textwrap.wrap(one["doc"], width - indent, break_on_hyphens=False)
        idea = [" " * indent + line for line in idea]
        if beside:
            idea[0] = f"{row:{column}}{idea[0].lstrip()}"
        else:
            idea.insert(0, row)
        lines += idea
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    backend = _core.backend(options.backend)
    rows = [
        _row(one, backend)
        for family in chosen_families(options.family)
        for variant in variants(family)
        for one in (variant, *variant.instances)
    ]
    if options.json:
        print_json(rows)
        return 0
    width = text_width()
    tables = []
    for _, members in itertools.groupby(rows, lambda one: one["family"]):
        family = list(members)
        for title, serves in (("variant", False), ("serves auto", True)):
            chosen = [one for one in family if one["serves"] == serves]
            tables += [_ladder(title, chosen, backend, width)] if chosen else []
    print("\n\n".join(tables))
    notes = [f"{one['family']}-{one['name']}: {one['reason']}" for one in rows if one["reason"]]
    if notes:
        print("", *map(note, notes), sep="\n")
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("list", run, "List the variants and their ideas.")
    completed(one.add_argument("family", nargs="?", metavar="FAMILY"), complete_families)
