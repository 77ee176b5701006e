"""Tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def text_width(piped: int = 80) -> int:
    """Return the width of the terminal or of COLUMNS; `piped` if the output is not a terminal."""
    import shutil  # not needed to import gpumem, and slow to load

    return max(40, shutil.get_terminal_size((piped, 24)).columns)


def format_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    *,
    keys: int | None = None,
    width: int | None = None,
) -> str:
    """Return rows of text as aligned columns.

    Parameters
    ----------
    head : sequence of str
        The names of the columns.
    rows : iterable of sequences of str
        One text per column.
    left : int
        How many columns, from the first, are aligned to the left; the others go to the right.
    keys : int, optional
        How many columns, from the first, identify a row; by default, `left`. A table that is too
        wide is split into several, one below the other, and each of them begins with these.
    width : int, optional
        The most columns of text: by default the terminal's, or 100 without a terminal.
    """
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    keys = left if keys is None else keys
    width = text_width(100) if width is None else width
    parts = [list(range(len(head)))]
    if sum(widths) + 2 * (len(widths) - 1) > width:
        parts = _parts(widths, keys, width)
    return "\n\n".join(
        "\n".join(
            "  ".join(
                line[i].ljust(widths[i]) if i < left else line[i].rjust(widths[i]) for i in part
            ).rstrip()
            for line in lines
        )
        for part in parts
    )


def _parts(widths: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """Split the columns of a table that is too wide into several tables."""
    first = sum(widths[:keys]) + 2 * (keys - 1)
    parts: list[list[int]] = []
    room = 0
    for i in range(keys, len(widths)):
        if not parts or room < widths[i] + 2:
            parts.append(list(range(keys)))
            room = width - first
        parts[-1].append(i)
        room -= widths[i] + 2
    return parts or [list(range(len(widths)))]
