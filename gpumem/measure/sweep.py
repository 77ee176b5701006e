"""Sweeps: parameters with several values, and every combination of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any


def is_swept(value: Any) -> bool:
    """Return whether a parameter has several values to choose from."""
    return isinstance(value, list | range)


def combinations(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every choice of one value per parameter; a list or a range holds several."""
    lists = {
        name: list(value) if is_swept(value) else [value] for name, value in parameters.items()
    }
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))
