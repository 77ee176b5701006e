"""How explanations are laid out: a title, a table of cells, and a paragraph."""

from __future__ import annotations

from ...base.sizes import format_bytes
from ...base.tables import format_table, text_width
from ...count.access import Access
from ...count.traffic import Traffic
from ._words import ENGINE, figure, plural, share

__all__ = ["as_markdown", "as_text", "traffic_cells"]

Cells = list[tuple[str, str]]


def as_text(title: str, cells: Cells, paragraph: str) -> str:
    """Return an explanation for a terminal."""
    import textwrap  # not needed to import gpumem

    width = text_width(100)
    room = width - 2 - max(len(name) for name, _ in cells)
    lines = []
    for name, text in cells:
        head, *more = textwrap.wrap(text, room, break_on_hyphens=False)
        lines += [(name, head), *(("", one) for one in more)]
    table = format_table(lines[0], lines[1:], left=2)
    words = textwrap.fill(paragraph, width, break_on_hyphens=False)
    return f"{title}\n\n{table}\n\n{words}"


def as_markdown(title: str, cells: Cells, paragraph: str) -> str:
    """Return an explanation for a notebook."""
    rows = "\n".join(f"| {name} | {text} |" for name, text in cells)
    return f"**{title}**\n\n| | |\n| --- | --- |\n{rows}\n\n{paragraph}\n"


def traffic_cells(report: Traffic) -> Cells:
    """Return what was counted: loads, stores and atomics of global memory, and bank ways."""
    spaces = {"loads": report.loads, "stores": report.stores, "atomics": report.atomics}
    cells = [cell for name, access in spaces.items() for cell in _access_cell(name, access)]
    ways = report.shared.bank_ways
    return [*cells, *([("bank ways", figure(ways))] if ways is not None else [])]


def _access_cell(name: str, access: Access) -> Cells:
    """Return the row for one kind of access to global memory; none if there was none."""
    if not access.requests:
        return []
    width = access.width or 0
    much = f"{width} bits"
    if width > ENGINE:
        much = f"up to {format_bytes(width // 8)} by a copy engine"
    sectors = plural(access.sectors_per_request or 0, "sector")
    efficiency = share(access.efficiency or 0)
    return [(name, f"{much}, {sectors} per request, efficiency {efficiency}")]
