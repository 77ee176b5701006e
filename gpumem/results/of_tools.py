"""What programs in tools/ have measured, from JSON files in the folder ``tools``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["load", "newest"]

_FOLDER = Path(__file__).parent / "tools"


def load(name: str) -> dict[str, Any] | None:
    """Return what a file holds, such as that of "latency-h200"; None if it is not shipped."""
    import json  # not needed to import gpumem

    try:
        text = (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found: dict[str, Any] = json.loads(text)
    return found


def newest(what: str) -> dict[str, Any] | None:
    """Return the newest result of a kind, such as "stalls", of whatever machine; None if none is.

    Its file has the name of the kind and of the machine, such as stalls-h100.
    """
    found = [load(path.stem) for path in sorted(_FOLDER.glob(f"{what}-*.json"))]
    shipped = [one for one in found if one is not None]
    return max(shipped, key=lambda one: str(one["provenance"].get("date")), default=None)
