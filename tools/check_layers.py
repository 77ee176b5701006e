"""Check how csrc is built up: floors, circles, and the length of functions and files.

    python tools/check_layers.py            # what CI holds: includes and lengths
    python tools/check_layers.py --calls    # also circles of .c files that call each other

Files include files of their own floor and of floors below it, and never each other in a circle.
Prints what is wrong, a line each; the exit status says whether something is.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# From the ground up: folder in csrc and what it is for.
FLOORS = {
    ".": "vocabulary: status, errors, arrays, the table of families",
    "sim": "the simulator of a GPU",
    "backend": "who runs kernels: CUDA, or the simulator",
    "module": "what is compiled into a module of a user's kernels",
    "memory": "memory of host and device, and the ways between them",
    "call": "from a call to its launch",
    "kernels": "families: kernels, and how to plan them",
    "python": "the extension module",
}

# Files that are all data may be longer than MAX_FILE; there are none.
MAX_FUNCTION = 80
MAX_FILE = 500
SUFFIXES = (".c", ".h", ".cu")

# What is wrong and known, word for word as printed. This list may only become shorter: what is no
# longer wrong has to leave it.
KNOWN: frozenset[str] = frozenset()

# Compiled instead of the CUDA backend, whose functions it defines too.
STAND_IN = "backend/cuda_absent.c"

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# A definition that other files see: it begins a line, and nothing makes it static.
_DEFINED = re.compile(
    r"^(?!static\b|typedef\b|extern\b|#)[A-Za-z_][\w \*]*?\b(gm_\w+)\s*[(\[=]", re.M
)


def sources(csrc: Path) -> dict[str, str]:
    """Return the text of each C, CUDA and header file by its path in csrc."""
    paths = (path for path in sorted(csrc.rglob("*")) if path.suffix in SUFFIXES)
    return {path.relative_to(csrc).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def floor(name: str) -> int:
    """Return the number of the floor that a file is on; the ground is 0."""
    folder = name.split("/")[0] if "/" in name else "."
    return list(FLOORS).index(folder)


def includes(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the files of csrc that each file includes by name."""
    graph: dict[str, set[str]] = {}
    for name, text in files.items():
        own = Path(name).parent
        graph[name] = set()
        for included in _INCLUDE.findall(text):
            for folder in (own, Path(), Path("kernels")):
                candidate = (folder / included).as_posix()
                if candidate in files:
                    graph[name].add(candidate)
                    break
    return graph


def calls(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the .c files whose functions or variables each .c file names."""
    plain = {
        name: _STRING.sub('""', _COMMENT.sub("", text))
        for name, text in files.items()
        if name.endswith(".c") and name != STAND_IN
    }
    owners = {found: name for name, text in plain.items() for found in _DEFINED.findall(text)}
    graph = {}
    for name, text in plain.items():
        named = set(re.findall(r"\bgm_\w+", text))
        graph[name] = {owners[found] for found in named if found in owners} - {name}
    return graph


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of files that reach each other, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1 or node in graph[node]:
                found.append(sorted(group))

    for node in graph:
        if node not in number:
            visit(node)
    return sorted(found)


def functions(text: str) -> Iterable[tuple[str, int]]:
    """Yield the name of each function and its number of lines, from its first to its brace."""
    lines = text.split("\n")
    for opening, line in enumerate(lines):
        if line != "{":
            continue
        first = opening
        while first > 0 and lines[first - 1] and lines[first - 1][-1] not in ";}/":
            first -= 1
        closing = lines.index("}", opening)
        head = re.search(r"(\w+)\s*\(\s*(\w*)", "\n".join(lines[first:opening]))
        name, argument = head.groups() if head else ("?", "")
        yield argument if name.isupper() else name, closing - first + 1  # GM_KERNEL(name, ...)


def problems(files: Mapping[str, str], with_calls: bool = False) -> list[str]:
    """Return what is wrong, a line each."""
    found = []
    graph = includes(files)
    for name, included in graph.items():
        for other in sorted(included):
            if floor(other) > floor(name):
                found.append(f"{name} includes {other}, which is on a floor above it")
    for group in circles(graph):
        found.append(f"include each other in a circle: {', '.join(group)}")
    for name, text in files.items():
        length = text.count("\n")
        if length > MAX_FILE:
            found.append(f"{name} is longer than {MAX_FILE} lines")
        for function, size in functions(text):
            if size > MAX_FUNCTION:
                found.append(f"{name}: {function} is longer than {MAX_FUNCTION} lines")
    if with_calls:
        for group in circles(calls(files)):
            found.append(f"call each other in a circle: {', '.join(group)}")
    return found


def main() -> int:
    """Print what is wrong and not known, and what is known and no longer wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", action="store_true", help="circles of .c files by calls, too")
    options = parser.parse_args()
    files = sources(ROOT / "csrc")
    found = problems(files, options.calls)
    wrong = [line for line in found if line not in KNOWN]
    wrong += [f"no longer wrong, remove it from KNOWN: {line}" for line in KNOWN - set(found)]
    for line in wrong:
        print(line)
    known = len(KNOWN.intersection(found))
    print(f"csrc: {len(files)} files, {len(wrong)} problems, {known} known ones", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
