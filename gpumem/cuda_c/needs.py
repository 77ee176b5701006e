"""Which declarations device code needs: those that it mentions, and what these mention in turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .declarations import _ATTRIBUTES, _BUILT_IN, _QUALIFIERS
from .tokens import Token, closing

__all__ = ["Declaration", "Needs", "class_names", "names_in"]

_NAME = re.compile(r"[^\W\d]\w*")
_NO_NAMES = _ATTRIBUTES | _BUILT_IN | _QUALIFIERS | {"typedef", "using", "final"}


@dataclass(frozen=True)
class Declaration:
    """A declaration, tokens[first:end], that is left out unless one of its names is mentioned."""

    first: int
    end: int
    names: frozenset[str]


@dataclass
class Needs:
    """What may be left out of a source, and what has been."""

    optional: list[Declaration] = field(default_factory=list)
    # They go if they mention what went. using ours::x, static_assert, explicit instantiations:
    following: list[tuple[int, int]] = field(default_factory=list)
    initialisers: list[tuple[int, int]] = field(default_factory=list)  # of members of classes
    gone: set[str] = field(default_factory=set)  # names of what has been left out
    kept: set[str] = field(default_factory=set)  # names of device functions

    def unneeded(
        self, tokens: Sequence[Token], out: Sequence[str], wanted: Iterable[str]
    ) -> list[tuple[int, int]]:
        """Return the ranges to leave out; `wanted` are texts that mention names, too."""
        apart = {i for d in self.optional for i in range(d.first, d.end)}
        apart |= {i for first, end in self.following for i in range(first, end)}
        names = {name for text in wanted for name in _NAME.findall(text)}
        names |= names_in(tokens, out, [i for i in range(len(tokens)) if i not in apart])
        rest = list(self.optional)
        while needed := [d for d in rest if d.names & names]:
            for d in needed:
                names |= names_in(tokens, out, range(d.first, d.end))
                self.kept |= d.names
            rest = [d for d in rest if d not in needed]
        gone = self.gone.union(*(d.names for d in rest)) - self.kept
        followers = [*self.following, *self.initialisers]
        return [
            *((d.first, d.end) for d in rest),
            *(each for each in followers if names_in(tokens, out, range(*each)) & gone),
        ]


def names_in(tokens: Sequence[Token], out: Sequence[str], where: Iterable[int]) -> set[str]:
    """Return the names among tokens, as they are after rewriting."""
    found: set[str] = set()
    for i in where:
        if out[i] != tokens[i].text:
            found.update(_NAME.findall(out[i]))
        elif tokens[i].kind == "name":
            found.add(tokens[i].text)
    return found


def class_names(tokens: Sequence[Token], first: int, end: int) -> frozenset[str]:
    """Return what a declaration with a class or an enumeration in it declares, rather too much."""
    words = [t.text for t in tokens[first:end] if t.kind == "name"]
    if "enum" in words or "typedef" in words:
        return frozenset(words) - _NO_NAMES
    names: list[str] = []
    at = first
    while at < end and tokens[at].text not in ("{", ":"):
        if tokens[at].text == "<" and names:  # arguments of a specialisation
            break
        if tokens[at].kind == "name" and tokens[at].text not in _NO_NAMES | {"template"}:
            names.append(tokens[at].text)
        at += 1
    while at < end and tokens[at].text != "{":
        at += 1
    found = set(names[-1:])  # the last of a qualified name
    for token in tokens[closing(tokens, at, end) + 1 : end]:  # variables behind the class
        if token.text == "=":
            break
        found |= {token.text} if token.kind == "name" else set()
    return frozenset(found)
