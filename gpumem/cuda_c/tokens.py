"""Tokens of preprocessed C++, with the file and line of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Token", "closing", "skip_angles", "split", "tokenize", "users_files"]

_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)$', re.M)
_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | //[^\n]* | /\*.*?\*/ | ^\#(?:[^\\\n]|\\.)*)
  | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
      | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*" | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
  | (?P<name>(?:[^\W\d]|\$|\\u\w{4}|\\U\w{8})(?:\w|\$|\\u\w{4}|\\U\w{8})*)
  | (?P<mark2><<<|::|->|&&|\.\.\.|.)
    """,
    re.X | re.S | re.M,
)
_CHARACTER = re.compile(r"\\u(\w{4})|\\U(\w{8})")  # as GCC writes what is not ASCII
_SYSTEM = "3"  # the flag of a marker: a header of the system
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """A token; of a system's header the whole text is one, of kind "opaque"."""

    kind: str  # space, string, number, name, mark, opaque
    text: str
    file: str
    line: int

    @property
    def matters(self) -> bool:
        """Whether the compiler sees more in it than a space."""
        return self.kind not in ("space", "opaque")


def users_files(text: str) -> set[str]:
    """Return the files, by the names in markers, that are no headers of the system."""
    # A macro of a system's header that is used in another file has markers with both.
    return {m[2] for m in _MARKER.finditer(text) if _SYSTEM not in m[3].split()}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of the output of ``g++ -E``; together they are the text again.

    In names universal character names are characters.
    """
    tokens: list[Token] = []
    users = users_files(text)
    at, file, line, system = 0, "", 1, False
    for marker in [*_MARKER.finditer(text), None]:
        end = marker.start() if marker else len(text)
        piece = text[at:end]
        if system:
            tokens += [Token("opaque", piece, file, line)] if piece else []
        else:
            tokens += _tokens_of(piece, file, line)
        if marker:
            tokens.append(Token("opaque", marker[0], marker[2], int(marker[1])))
            file, line = marker[2], int(marker[1]) - 1  # the marker's own line ends first
            system = file not in users
            at = marker.end()
    return tokens


def _tokens_of(text: str, file: str, line: int) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "space"
        # lastgroup is the outermost group that matched last, or the mark of a raw string.
        kind = {"mark2": "mark", "mark": "string"}.get(kind, kind)
        text = match[0]
        if kind == "name" and "\\" in text:
            text = _CHARACTER.sub(lambda m: chr(int(m[1] or m[2], 16)), text)
        yield Token(kind, text, file, line)
        line += match[0].count("\n")


def closing(tokens: Sequence[Token], at: int, end: int) -> int:
    """Return the index of the bracket that closes the one at an index; `end` if there is none."""
    stack: list[str] = []
    for i in range(at, end):
        if tokens[i].kind != "mark":
            continue
        text = tokens[i].text
        if text in _PAIRS:
            stack.append(_PAIRS[text])
        elif stack and text == stack[-1]:
            stack.pop()
            if not stack:
                return i
    return end


def skip_angles(tokens: Sequence[Token], at: int, end: int) -> int:
    """Return the index behind the ``>`` that closes the ``<`` at an index; `at` if none does."""
    depth, i = 0, at
    while i < end:
        token = tokens[i]
        if token.kind == "mark":
            if token.text == "<":
                depth += 1
            elif token.text == ">":
                depth -= 1
                if depth == 0:
                    return i + 1
            elif token.text in "([{":
                i = closing(tokens, i, end)
            elif token.text in (";", "<<<"):
                return at
        i += 1
    return at


def split(tokens: Sequence[Token], first: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges between the commas that are in no bracket."""
    ranges, start, i = [], first, first
    while i < end:
        token = tokens[i]
        if token.kind == "mark":
            if token.text in _PAIRS:
                i = closing(tokens, i, end)
            elif token.text == "<":
                i = max(i, skip_angles(tokens, i, end) - 1)
            elif token.text == ",":
                ranges.append((start, i))
                start = i + 1
        i += 1
    ranges.append((start, end))
    return ranges
