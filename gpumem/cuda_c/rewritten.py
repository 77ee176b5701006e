"""What the rewriting of a source gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from .declarations import Parameter

__all__ = ["Head", "Rewritten"]


@dataclass
class Rewritten:
    """The text for the compiler, and the kernels in it by their qualified names."""

    text: str
    kernels: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)  # kernels that are templates
    declared: list[str] = field(default_factory=list)  # device variables
    parameters: dict[str, list[Parameter]] = field(default_factory=dict)  # of kernels and templates
    limited: list[str] = field(default_factory=list)  # kernels with limits of their own


@dataclass
class Head:
    """What precedes the body or the semicolon of a declaration."""

    words: set[str]
    name: str
    parameters: tuple[int, int] | None  # between the parentheses
    template: bool
