"""Declarations of variables: which variables, of what type, with or without an initialiser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .tokens import Token, closing, skip_angles, split

__all__ = [
    "Declarator",
    "Parameter",
    "Variables",
    "read_parameters",
    "read_variables",
    "skip_requirement",
]

_ATTRIBUTES = {"alignas", "__align__", "__attribute__", "__declspec", "__launch_bounds__"}
_ATTRIBUTES |= {"__cluster_dims__"}
_QUALIFIERS = {
    *("static", "extern", "const", "volatile", "constexpr", "register", "mutable", "inline"),
    *("thread_local", "typename", "struct", "class", "union", "enum", "constinit"),
    *("__shared__", "__device__", "__constant__", "__managed__", "__host__", "__restrict__"),
    *("__grid_constant__", "__restrict"),
}
_UNSAID = {"__restrict__", "__restrict", "__grid_constant__"}  # where a parameter is shown
_BUILT_IN = {
    *("void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"),
    *("wchar_t", "char16_t", "char32_t", "__int128", "auto"),
}
# Words that begin a statement which declares no variable.
_OTHERS = {
    *("return", "if", "else", "for", "while", "do", "switch", "case", "default", "break", "goto"),
    *("continue", "delete", "throw", "new", "using", "typedef", "static_assert", "template", "asm"),
    *("sizeof", "this", "operator", "public", "private", "protected", "friend", "namespace", "try"),
    *("co_return", "co_await", "co_yield", "catch", "__asm__", "__asm"),
}


@dataclass(frozen=True)
class Declarator:
    """One variable of a declaration: its name, and where its text is."""

    name: str
    first: int  # tokens[first:end] is all of it, with its initialiser
    end: int
    core_end: int  # tokens[first:core_end] is without the initialiser
    array: bool
    reference: bool
    initialised: bool


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, as the source has it."""

    name: str  # "" if it has none
    type: str
    text: str  # all of it, such as "float (*rows)[4]"


@dataclass(frozen=True)
class Variables:
    """A declaration of variables; tokens[first:end], of which the last is the semicolon."""

    words: frozenset[str]  # its qualifiers
    type_first: int
    type_end: int  # behind the type, before the first declarator
    declarators: tuple[Declarator, ...]
    end: int


def _matter(tokens: Sequence[Token], at: int, end: int) -> int:
    while at < end and not tokens[at].matters:
        at += 1
    return at


def _skip_attribute(tokens: Sequence[Token], at: int, end: int) -> int:
    """Behind alignas(16), [[maybe_unused]] or the like; `at` if there is none."""
    token = tokens[at]
    if token.text in _ATTRIBUTES:
        bracket = _matter(tokens, at + 1, end)
        if bracket < end and tokens[bracket].text == "(":
            return closing(tokens, bracket, end) + 1
    following = _matter(tokens, at + 1, end)
    if token.text == "[" and following < end and tokens[following].text == "[":
        return closing(tokens, at, end) + 1
    return at


def _skip_type(tokens: Sequence[Token], at: int, end: int, words: set[str]) -> int:
    """Behind qualifiers and type; -1 if there is no type."""
    named = False  # by one name, or by words such as "unsigned int"
    built_in = False
    while (at := _matter(tokens, at, end)) < end:
        token = tokens[at]
        behind = _skip_attribute(tokens, at, end)
        if behind > at:
            at = behind
        elif token.text in _QUALIFIERS:
            words.add(token.text)
            at += 1
        elif token.text in _BUILT_IN:
            if named:
                break
            built_in = True
            at += 1
        elif token.text in ("decltype", "__typeof__") and not (named or built_in):
            at = closing(tokens, _matter(tokens, at + 1, end), end) + 1
            named = True
        elif (token.kind == "name" or token.text == "::") and not (named or built_in):
            if token.text in _OTHERS:
                return -1
            at = _skip_name(tokens, at, end)
            named = True
        elif token.text == "{" and words & {"struct", "union", "class", "enum"}:
            at = closing(tokens, at, end) + 1
            named = True
        else:
            break
    return at if named or built_in else -1


def _skip_name(tokens: Sequence[Token], at: int, end: int) -> int:
    """Behind a::b<c>::d."""
    while at < end:
        if tokens[at].text == "::":
            at = _matter(tokens, at + 1, end)
        if at < end and tokens[at].kind == "name":
            at += 1
        following = _matter(tokens, at, end)
        if following < end and tokens[following].text == "<":
            behind = skip_angles(tokens, following, end)
            if behind > following:
                at = behind
                following = _matter(tokens, at, end)
        if following >= end or tokens[following].text != "::":
            return at
        at = following
    return at


def skip_requirement(tokens: Sequence[Token], at: int, end: int) -> int:
    """Behind a requires clause, as in requires small<T> && (sizeof(T) > 1); `at` if none is."""
    following = _matter(tokens, at, end)
    if following >= end or tokens[following].text != "requires":
        return at
    while following < end:
        at = _matter(tokens, following + 1, end)
        if at < end and tokens[at].text == "(":
            at = closing(tokens, at, end) + 1
        else:
            at = _skip_name(tokens, at, end)
        following = _matter(tokens, at, end)
        if following < end and tokens[following].text == "|":  # || is two tokens
            following += 1
        elif following >= end or tokens[following].text != "&&":
            return at
    return at


def _read_declarator(tokens: Sequence[Token], first: int, end: int) -> Declarator | None:
    at, reference, name = _matter(tokens, first, end), False, ""
    while at < end and (
        tokens[at].text in ("*", "&", "&&", "const", "volatile", "__restrict__", "__restrict")
        or _skip_attribute(tokens, at, end) > at
    ):
        reference = reference or tokens[at].text in ("&", "&&")
        at = _matter(tokens, max(at + 1, _skip_attribute(tokens, at, end)), end)
    array = False
    if at < end and tokens[at].text == "(":  # float (*rows)[4]
        inner_end = closing(tokens, at, end)
        inner = _read_declarator(tokens, at + 1, inner_end)
        pointer = tokens[_matter(tokens, at + 1, inner_end)].text in ("*", "&")
        behind = _matter(tokens, inner_end + 1, end)
        if inner is None or inner.initialised or not pointer:
            return None  # f(x) is a call, and so is f(*x) unless more follows
        if behind >= end or tokens[behind].text not in ("[", "("):
            return None
        if tokens[behind].text == "(":
            at = inner_end = closing(tokens, behind, end)
        name, reference, at = inner.name, inner.reference, inner_end + 1
    elif at < end and tokens[at].kind == "name" and tokens[at].text not in _OTHERS | _BUILT_IN:
        name = tokens[at].text
        at += 1
    else:
        return None
    while (at := _matter(tokens, at, end)) < end:
        if tokens[at].text == "[":
            array = True
            at = closing(tokens, at, end) + 1
        elif (behind := _skip_attribute(tokens, at, end)) > at:
            at = behind
        else:
            break
    if at < end and tokens[at].text not in ("=", "{", "(", ":"):
        return None
    return Declarator(name, first, end, min(at, end), array, reference, at < end)


def read_variables(tokens: Sequence[Token], first: int, end: int) -> Variables | None:
    """Return the variables that the statement tokens[first:end] declares; None if it does not.

    tokens[end] is the semicolon behind it.
    """
    first = _matter(tokens, first, end)
    words: set[str] = set()
    type_end = _skip_type(tokens, first, end, words)
    if type_end < 0:
        return None
    declarators = []
    for begin, past in split(tokens, type_end, end):
        declarator = _read_declarator(tokens, begin, past)
        if declarator is None:
            return None
        declarators.append(declarator)
    return Variables(frozenset(words), first, type_end, tuple(declarators), end)


def read_parameters(tokens: Sequence[Token], first: int, end: int) -> list[Parameter]:
    """Return the parameters of the function with tokens[first:end] between its parentheses."""
    found = []
    for begin, past in split(tokens, first, end):
        words = [t.text for t in tokens[begin:past] if t.matters]
        if not words or words == ["void"]:
            continue
        type_end = _skip_type(tokens, begin, past, set())
        declarator = _read_declarator(tokens, type_end, past) if type_end >= 0 else None
        name = declarator.name if declarator else ""
        core = tokens[begin : declarator.core_end if declarator else past]
        words = [t.text for t in core if t.matters]
        shown = [word for word in words if word not in _UNSAID]
        found.append(Parameter(name, _as_type(words, name), _spaced(shown)))
    return found


def _as_type(words: list[str], name: str) -> str:
    """Return a parameter's type: without its name, and without what is no part of the type."""
    last = len(words) - 1 - words[::-1].index(name) if name else len(words)
    words = words[:last] + words[last + 1 :]
    inner = max((i for i, word in enumerate(words) if word == "*"), default=0)
    return _spaced([w for i, w in enumerate(words) if i < inner or w not in _UNSAID])


def _spaced(words: Sequence[str]) -> str:
    """Return the words of a declaration with spaces as usual: const float *const (*rows)[4]."""
    text = re.sub(r" ?(::|[<(\[]) ?| (?=[>,)\]])|(?<=[*&]) ", r"\1", " ".join(words))
    return re.sub(r"(?<=[\w>])(?<!decltype)\((?=[*&])", " (", text)
