"""For tools that write into the package: that it is the package beside them."""

from __future__ import annotations

from pathlib import Path

import gpumem

ROOT = Path(__file__).resolve().parent.parent


def check_own_package(package: str = gpumem.__file__, root: Path = ROOT) -> None:
    """Raise SystemExit if `gpumem` is imported from another place, such as an editable install."""
    found = Path(package).resolve().parent.parent
    if found != root:
        raise SystemExit(
            f"gpumem is imported from {found}, and would be written there: run the tool with "
            f"PYTHONPATH={root}"
        )
