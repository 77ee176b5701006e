"""What the rewriting of a source gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from .declarations import Parameter
from .overloads import Definition, by_name

__all__ = ["Head", "Rewritten"]


@dataclass
class Rewritten:
    """The text for the compiler, and the kernels in it by their qualified names."""

    text: str
    definitions: list[Definition] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)  # device variables
    limited: list[str] = field(
        default_factory=list
    )  # kernels, and templates as "tile<>", with limits

    @property
    def kernels(self) -> list[str]:
        """The kernels that are no templates."""
        return [*by_name(self.definitions, template=False)]

    @property
    def templates(self) -> list[str]:
        """The kernels that are templates."""
        return [*by_name(self.definitions, template=True)]

    @property
    def parameters(self) -> dict[str, list[Parameter]]:
        """The parameters of kernels and templates."""
        return by_name(self.definitions, False) | by_name(self.definitions, True)


@dataclass
class Head:
    """What precedes the body or the semicolon of a declaration."""

    words: set[str]
    name: str
    parameters: tuple[int, int] | None  # between the parentheses
    template: bool
