"""What is asked for, checked."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...base.messages import quoted, unknown

if TYPE_CHECKING:
    from ._family import Choices, Family

_MOST_PIECES = 2**16


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(dict.fromkeys(value))


def chosen(what: str, value: Any, known: Sequence[str]) -> list[str]:
    """Return the names that are asked for; None is all of them."""
    names = list(known) if value is None else [str(one) for one in _listed(value)]
    for name in names:
        if name not in known:
            raise ValueError(unknown(f"{what} is", name, known))
    if not names:
        raise ValueError(f"{what} must name at least one of: {', '.join(known)}")
    return list(dict.fromkeys(names))


def piece_counts(value: Any) -> list[int]:
    """Return the numbers of pieces that are asked for."""
    found = []
    for one in _listed(value):
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"pieces is {quoted(one)}, expected an integer or several")
        one = operator.index(one)
        if not 1 <= one <= _MOST_PIECES:
            raise ValueError(f"pieces is {one}, expected 1 to {_MOST_PIECES}")
        found.append(one)
    if not found:
        raise ValueError("pieces must hold at least one number")
    return found


def choose(name: str, family: Family, with_peers: Any, parameters: dict[str, Any]) -> Choices:
    """Return the values of each parameter, and the peers of a family that may have some."""
    for asked in parameters:
        if asked not in family.parameters:
            known = family.parameters
            raise TypeError(unknown(f"{name} has no parameter", asked, known, "; its parameters"))
    found = {
        known: one.values(parameters.get(known, one.default))
        for known, one in family.parameters.items()
    }
    beside = None if with_peers is None else _listed(with_peers)
    if beside and not family.peers:
        raise ValueError(f"with_peers is {quoted(with_peers)}: a {name} has none")
    if family.peers:
        found["with_peers"] = [] if beside == [] else chosen("with_peers", beside, family.peers)
    return found
