"""The small faults that tools/mutate.py plants in C and CUDA C: where each fits in a text.

Texts are laid out by clang-format, which makes patterns simple: a comparison has spaces around it,
the `<` of a template has not; the body of an `if` has braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Mutation(NamedTuple):
    """One fault: text[start:end] becomes `new`."""

    operator: str
    start: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def line(self, text: str) -> int:
        return text.count("\n", 0, self.start) + 1

    def lines(self, text: str) -> tuple[str, str]:
        """The lines that change, before and after, each as one line with single spaces."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        old = text[first:last]
        new = text[first : self.start] + self.new + text[self.end : last]
        return " ".join(old.split()), " ".join(new.split())


# ---- what is code, and what of it runs here ------------------------------------------------------

_NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
# What only a GPU, another compiler, another processor or another Python compiles.
_ELSEWHERE = r"__CUDA_ARCH\w*|__CUDACC__|GM_HAS_WGMMA|__clang__|__aarch64__|Py_GIL_DISABLED"
_ABSENT = re.compile(rf"[^!]*\b(?:{_ELSEWHERE})\b")
# Statements that are checked when they are compiled, and attributes of a kernel.
_STATIC = re.compile(
    r"\bstatic_assert\([^;]*;|\b_Static_assert\([^;]*;|\btemplate <[^\n]*|^GM_KERNEL\w*\([^\n]*",
    re.MULTILINE,
)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _is_elsewhere(word: str, condition: str) -> bool:
    return word in ("if", "ifdef", "elif") and bool(_ABSENT.match(condition))


def mask(text: str) -> str:
    """The text with blanks for what is no code that runs here; of the same length."""
    text = _NO_CODE.sub(lambda found: _blank(found[0]), text)
    pieces, at, left_out = [], 0, [False]  # left_out: of each open #if, whether this branch is
    for found in _DIRECTIVE.finditer(text):
        between = text[at : found.start()]
        pieces += [_blank(between) if any(left_out) else between, _blank(found[0])]
        at = found.end()
        word, condition = found.groups()
        if word in ("if", "ifdef", "ifndef"):
            left_out.append(_is_elsewhere(word, condition))
        elif word in ("else", "elif") and len(left_out) > 1:
            left_out[-1] = _is_elsewhere(word, condition)
        elif word == "endif" and len(left_out) > 1:
            left_out.pop()
    masked = "".join([*pieces, text[at:]])
    return _STATIC.sub(lambda found: _blank(found[0]), masked)


# ---- operators: each yields (start, end, new) ----------------------------------------------------

Found = Iterator[tuple[int, int, str]]
OPERATORS: dict[str, Callable[[str], Found]] = {}


def _operator(function: Callable[[str], Found]) -> Callable[[str], Found]:
    OPERATORS[function.__name__] = function
    return function


def _closing(code: str, opening: int) -> int:
    """Where the parenthesis that opens here is closed; -1 if it is not."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at
    return -1


def _conditions(code: str) -> Found:
    """(start, end, condition) of each `if`."""
    for found in re.finditer(r"\bif \(", code):
        end = _closing(code, found.end() - 1)
        if end > 0:
            yield found.end(), end, code[found.end() : end]


@_operator
def off_by_one(code: str) -> Found:
    """`<` for `<=` and back, and `+ 1` or `- 1` left out."""
    other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    for found in re.finditer(r"(?<= )(<=?|>=?)(?= )", code):
        yield *found.span(), other[found[0]]
    for found in re.finditer(r"(?<=[\w)\]]) [+-] 1(?![\w.])", code):
        yield *found.span(), ""


@_operator
def lost_tail(code: str) -> Found:
    """A quotient rounded down and not up; what handles a remainder left out."""
    for found in re.finditer(r"\(([^()]+) \+ [^()+-]+ - 1\)(?= /)", code):
        yield *found.span(), f"({found[1]})"
    for found in re.finditer(r"^ +\w*(?:tail|rest|remain)\w*(?:<[^;<>]*>)?\([^;]*\);", code, re.M):
        yield found.start(), found.end(), ";"


@_operator
def missing_barrier(code: str) -> Found:
    """A barrier, a wait, a commit or a fence left out."""
    waits = (
        r"__syncthreads|__syncwarp|__pipeline_commit|__pipeline_wait_prior|\w*mbarrier_wait\w*"
        r"|gm_bulk_fence"
    )
    for found in re.finditer(rf"\b(?:{waits})\([^;{{]*\);", code):
        yield *found.span(), ";"


@_operator
def wrong_stride(code: str) -> Found:
    """A pitch, a stride or a step that is one too long."""
    long = r"[\w.>\[\]-]*(?:pitch|stride|cols|rows|columns|step|threads|\bld[abc])\w*"
    for found in re.finditer(rf"(?:(?<= \* )|(?<= \+= )){long}(?=[;)\] ,])", code):
        yield *found.span(), f"({found[0]} + 1)"


@_operator
def swapped_index(code: str) -> Found:
    """X for y, rows for columns."""
    for found in re.finditer(r"(?<=Idx\.)[xyz]|(?<=Dim\.)[xyz]|(?<=\bgrid\.)[xyz]", code):
        yield *found.span(), {"x": "y", "y": "x", "z": "y"}[found[0]]
    other = {"rows": "cols", "cols": "rows", "row": "col", "col": "row"}
    for found in re.finditer(r"(?<!\.)\b(?:row|col)\b|(?<=[.>])\b(?:rows|cols)\b", code):
        declared = re.search(r"\w[ *]$", code[: found.start()]) and found[0] in ("row", "col")
        if not declared:
            yield *found.span(), other[found[0]]


@_operator
def relaxed_bound(code: str) -> Found:
    """One side of an `&&` left out."""
    for found in re.finditer(r" && ", code):
        depth, at = 0, found.end()
        while at < len(code) and depth >= 0:
            depth += (code[at] in "([{") - (code[at] in ")]}")
            if depth == 0 and (code[at] in ";?," or code.startswith((" && ", " || "), at)):
                break
            at += depth >= 0
        at = found.end() + len(code[found.end() : at].rstrip())
        yield found.end(), at, "1"


@_operator
def dropped_check(code: str) -> Found:
    """An `if` that only leaves the function, or goes to its end, left out."""
    for start, end, _ in _conditions(code):
        if re.match(r"\) \{(?:[^{};]*;){0,2}\s*(?:return|goto)\b[^{};]*;\s*\}", code[end:]):
            yield start, end, "0"


@_operator
def changed_constant(code: str) -> Found:
    """A whole number that is one too large; not the -1 of a failure, nor the length of a buffer."""
    number = r"(?<!return -)(?<!\? -)(?<![\w.'])(0x[0-9a-f]+|\d+)(?=[uUlL]*(?![\w.']))"
    for found in re.finditer(number, code):
        if re.search(r"\bchar \w+\[$", code[: found.start()]):
            continue
        hexadecimal = found[0].startswith("0x")
        value = int(found[0], 16 if hexadecimal else 10) + 1
        yield *found.span(), f"0x{value:x}" if hexadecimal else str(value)


@_operator
def negated_condition(code: str) -> Found:
    """An `if` that does the opposite."""
    for start, end, condition in _conditions(code):
        yield start, end, f"!({condition})"


def mutations(text: str) -> list[Mutation]:
    """All mutations of a text, in the order of operators and places."""
    code = mask(text)
    found = []
    for name, operator in OPERATORS.items():
        for start, end, new in operator(code):
            if new.startswith("!("):
                new = f"!({text[start:end]})"  # with the strings that the mask hides
            if text[start:end] != new:
                found.append(Mutation(name, start, end, new))
    return found
