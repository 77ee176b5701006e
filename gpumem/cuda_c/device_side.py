"""The device side of a source for a compiler that takes nothing else (NVRTC).

The text is not preprocessed, since the compiler does that with its own headers: directives stay
where they are, and names that macros stand for are looked up. What cannot be seen this way, such as
a kernel whose whole head is a macro, needs nvcc, which takes host code as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .cache import Compiled
from .declarations import Variables, read_variables
from .rewrite import _Rewriter
from .rewritten import Rewritten
from .tokens import tokenize

__all__ = ["DeviceSide", "kernel_names", "list_kernels", "macros", "without_host_side"]

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]*((?:[^\\\n]|\\.)*)", re.M | re.S
)
_INDENTED = re.compile(r"^[ \t]+#", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class DeviceSide(Rewritten):
    """A text without its host side, and what is in it, by qualified names."""

    managed: set[str] = field(default_factory=set)  # device variables that are __managed__

    def add(self, other: DeviceSide) -> None:
        """Add what is in a header."""
        self.definitions += other.definitions
        self.declared += other.declared
        self.managed |= other.managed


def macros(text: str) -> dict[str, set[str]]:
    """Return the words that the macros of a source stand for."""
    return {m[1]: set(_WORD.findall(m[3])) for m in _DEFINE.finditer(text)}


def without_host_side(text: str, known: Mapping[str, set[str]]) -> DeviceSide:
    """Leave out host functions and host variables; lines keep their numbers.

    Parameters
    ----------
    text : str
        A source or a header, before preprocessing.
    known : dict
        Macros, and the words that they stand for.
    """
    return _Reader(_INDENTED.sub("#", text), known).read()


def list_kernels(preprocessed: str) -> DeviceSide:
    """Return what is in a preprocessed source; its text is of no use."""
    return _Reader(preprocessed, {}).read()


class _Reader(_Rewriter):
    """Leaves device code as it is, and host code out."""

    def __init__(self, text: str, known: Mapping[str, set[str]]) -> None:
        super().__init__(tokenize(text), mark_locals=False)
        self.known = known
        self.managed: set[str] = set()

    def read(self) -> DeviceSide:
        # Other files may need what this one declares: nothing is left out as unneeded.
        self.scope(0, len(self.tokens), "", False)
        found = self.result
        text = "".join(self.out)
        return DeviceSide(text, found.definitions, found.declared, managed=self.managed)

    def meaning(self, word: str) -> set[str]:
        found: set[str] = set()
        open_words = [word]
        while open_words:
            one = open_words.pop()
            if one not in found:
                found.add(one)
                open_words += self.known.get(one, ())
        return found

    def limits(self, first: int, end: int, head: object, prefix: str) -> str:
        """Leave limits of a kernel to the compiler."""
        return ""

    def body(self, at: int, end: int, constant: bool) -> None:
        """Leave the body of a device function as it is."""

    def shared(self, first: int, variables: Variables, in_function: bool) -> None:
        """Leave shared variables as they are."""

    def device_variables(
        self, first: int, stop: int, words: set[str], shared_code: bool, prefix: str
    ) -> None:
        """Note device variables."""
        if "constexpr" in words or "extern" in words or shared_code:
            return
        variables = read_variables(self.tokens, first, stop)
        names = [prefix + d.name for d in variables.declarators] if variables else []
        self.result.declared += names
        if "__managed__" in words:
            self.managed |= set(names)


def kernel_names(found: DeviceSide | Compiled, instances: Sequence[str]) -> list[str]:
    """Return the kernels that are compiled: those that are no templates, and instances."""
    return [*(name for name in found.parameters if name not in found.templates), *instances]
