"""Types of parameters, as compilers know them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MachineType"]


@dataclass(frozen=True)
class MachineType:
    """A type as the compiler knows it; of a pointer, what it points to."""

    kind: str  # NumPy's dtype.kind: b i u f; V: a struct; ?: void
    bytes: int
    pointer: bool
    constant: bool  # a pointer to const
