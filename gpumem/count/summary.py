"""Several reports of traffic as one table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..base.tables import format_table, text_width
from .access import KINDS, RATIOS, ratios
from .traffic import Traffic

__all__ = ["summary"]


def summary(reports: Sequence[Traffic]) -> str:
    """Return one table with two rows per report: its loads and its stores of global memory.

    A report with atomic operations on global memory has a third row.

    The bank ways in the row of the loads are those of the worst line that uses shared memory.
    """
    head = ("variant", "kind", "bits", "requests", *RATIOS, "barriers")
    rows = []
    idle = []
    for report in reports:
        if not report.requests:
            idle.append(report.name)
            continue
        ways = report.shared.bank_ways
        of_kinds = (report.loads, report.stores, report.atomics)
        for kind, access in zip(KINDS, of_kinds, strict=True):
            if kind == "atomic" and not access.requests:
                continue
            first = kind == "load"
            rows.append(
                (
                    report.name if first else "",
                    kind,
                    str(access.width or "-"),
                    str(access.requests),
                    *ratios(access.to_dict() | {"bank_ways": ways if first else None}),
                    str(report.barriers) if first else "",
                )
            )
    table = format_table(head, rows, left=2)
    if idle:
        words = f"Nothing to count: {', '.join(idle)}."
        table += "\n" + textwrap.fill(words, text_width(), break_on_hyphens=False)
    return table
