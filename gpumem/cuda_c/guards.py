"""Local arrays that are used by pointer: those need guards, as no index of theirs is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .declarations import Declarator, Variables
from .tokens import Token, closing

__all__ = ["guarded", "holder", "reference"]

_MEMBER = {".", "->", "::"}
_BARRED = {"static", "extern", "constexpr", "register", "thread_local"}


def guarded(
    tokens: Sequence[Token], variables: Variables, end: int, begin: int
) -> list[Declarator]:
    """Return the arrays of a declaration that need guards.

    tokens[begin:end] is the body of the function.
    """
    kind = {tokens[i].text for i in range(variables.type_first, variables.type_end)}
    if variables.words & _BARRED or kind & {"auto", "{"}:
        return []
    found = [
        d
        for d in variables.declarators
        if d.array and _has_sizes(tokens, d) and _is_used_whole(tokens, d, variables.end, end)
    ]
    return found if found and _is_always_reached(tokens, variables.type_first, begin, end) else []


def _matter(tokens: Sequence[Token], places: range) -> Iterator[int]:
    return (i for i in places if tokens[i].matters)


def _before(tokens: Sequence[Token], at: int) -> str:
    return tokens[next(_matter(tokens, range(at - 1, -1, -1)), 0)].text


def _behind(tokens: Sequence[Token], at: int, end: int) -> int:
    return next(_matter(tokens, range(at, end)), end)


def _name(tokens: Sequence[Token], d: Declarator) -> int:
    return next(i for i in range(d.first, d.core_end) if tokens[i].text == d.name)


def _brackets(tokens: Sequence[Token], at: int, end: int) -> list[tuple[int, int]]:
    """Return where the subscripts that follow a name open and close."""
    found = []
    while (at := _behind(tokens, at, end)) < end and tokens[at].text == "[":
        close = closing(tokens, at, end)
        found.append((at, close))
        at = close + 1
    return found


def _has_sizes(tokens: Sequence[Token], d: Declarator) -> bool:
    """Whether it is ``a[2][3]``, not ``a[]`` nor ``(*a[2])(int)``."""
    if any(tokens[i].text == "(" for i in range(d.first, _name(tokens, d))):
        return False
    sizes = _brackets(tokens, _name(tokens, d) + 1, d.core_end)
    return all(_behind(tokens, first + 1, past) < past for first, past in sizes)


def _is_used_whole(tokens: Sequence[Token], d: Declarator, at: int, end: int) -> bool:
    """Whether its name stands somewhere for a pointer, and not for one element of it."""
    dimensions = len(_brackets(tokens, _name(tokens, d) + 1, d.core_end))
    for i in range(at, end):
        if tokens[i].text != d.name or tokens[i].kind != "name":
            continue
        before = _before(tokens, i)
        if before not in _MEMBER and (
            before == "&" or len(_brackets(tokens, i + 1, end)) < dimensions
        ):
            return True
    return False


def _is_always_reached(tokens: Sequence[Token], at: int, begin: int, end: int) -> bool:
    """Whether no jump goes past the declaration: a guarded array has an initialiser."""
    if any(tokens[i].text == "goto" for i in range(begin, end)):
        return False
    depth = 0
    for i in range(at - 1, begin - 1, -1):
        text = tokens[i].text if tokens[i].kind == "mark" else ""
        depth += {"}": 1, "{": -1}.get(text, 0)
        if depth < 0:  # the brace that holds the declaration
            return not _is_switch(tokens, i, begin)
    return True


def _is_switch(tokens: Sequence[Token], brace: int, begin: int) -> bool:
    depth = 0
    for i in _matter(tokens, range(brace - 1, begin - 1, -1)):
        text = tokens[i].text
        depth += {")": 1, "(": -1}.get(text, 0)
        if depth == 0:
            return text == "(" and _before(tokens, i) == "switch"
    return False


def holder(array: Declarator) -> str:
    """Return a structure with a local array, here ..., between guards, and a variable of it.

    The array is as aligned as any vector needs it, so that only offsets in it can be wrong.
    """
    return (
        f"struct gm_local_{array.name} {{ alignas(16) gm_guard gm_before; ...; "
        f"gm_guard gm_behind; }} gm_guarded_{array.name}"
    )


def reference(array: Declarator) -> str:
    """Return what gives a local array its name outside of the structure."""
    name, holder = array.name, f"gm_guarded_{array.name}"
    return f"auto &{name} = {holder}.{name}; gm_local_guards gm_guards_of_{name}({holder});"
