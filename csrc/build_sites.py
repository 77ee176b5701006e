"""Adds a table of memory accesses to traced kernels, by rewriting their assembly text.

With ``-fsanitize=thread`` the compiler calls ``__tsan_read4(address)`` and its like before every
access. At run time such a function knows its caller only by the return address; the table maps
return addresses to source lines, in every build and without debug information. One record of
section ``gm_sites`` is ``{return address, file name, int32 line, int32 vector}``; vector is 1 where
a vector is moved as a whole.

The debug information is removed. Functions and variables that the linker may share between objects
(weak symbols, comdat groups) become local: plain kernels must not call a traced copy, nor traced
kernels a plain one. Both GCC's and Clang's assembly for x86-64 and aarch64 is accepted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

# Headers of the simulator, and those in csrc/kernels itself. An access that they inline is
# attributed to the line of the kernel that uses it.
_RUNTIME = re.compile(r"(?:.*/)?(?:csrc/sim/.+|csrc/kernels/[^/]+|device\.h|simt\.h)")

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")

# Here vectors are moved as a whole; other accesses of 16 bytes may be to structures with padding.
_VECTORS = re.compile(r"(?:.*/)?sim/cuda/vectors\.h")

_STRING = r'"((?:[^"\\]|\\.)*)"'
_FILE = re.compile(rf"\s*\.file\s+(\d+)\s+{_STRING}(?:\s+{_STRING})?")
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)(?:.*\bis_stmt\s+([01]))?")
_SECTION = re.compile(r'\s*\.(?:section\s+"?([^\s,"]+)|text\b|data\b|bss\b)')
_COMDAT = re.compile(r',\s*"(\w*)G(\w*)"(,\s*[@%]\w+(?:,\s*\d+)?),\s*[^,]+,\s*comdat')
_WEAK = re.compile(r"\s*\.weak\s+(\S+)")
_ACCESS = re.compile(
    r"\s*(?:callq?|bl)\s+\*?"
    r"(?:__tsan_(?:(?:unaligned_|volatile_)*(?:read|write)|atomic|mem|vptr)|gm_sim_atomic"
    r"|free\b|_Zd[la]Pv)"
)
# Clang copies structures by calling memcpy, which is an access too.
_MOVE = re.compile(r"^(\s*(?:callq?|bl)\s+\*?)(mem(?:cpy|move|set))(?=@|\s|$)")


def tabulate_accesses(assembly: str, root: Path, names: Mapping[str, str] | None = None) -> str:
    """The assembly text of a traced kernel with a table of the calls that report an access.

    The line is that of the last ``.loc`` before the call, if it is inside `root` and outside the
    simulator's headers. An access that a header inlines, as in the assignment of ``float4``, is
    attributed to the kernel's line before it, without instructions of earlier statements that the
    compiler has moved in between. If a function has no such line, it is the header's.

    `names` has the names of a user's files by their paths (see `path_of`); with it, lines are those
    of these files alone, wherever they are.
    """

    def named(path: str) -> str | None:
        return _inside(root, path) if names is None else names.get(path_of(root, path))

    def runtime(name: str) -> bool:
        return names is None and bool(_RUNTIME.fullmatch(name))

    defined = set(re.findall(r"^([^\s:#]+):", assembly, re.M))
    files: dict[str, str | None] = {}  # number -> name relative to the root, None outside it
    vectors: set[str] = set()  # numbers
    labels: dict[str, str] = {}  # name -> label of its string
    out: list[str] = []
    records: list[str] = []
    kernel_line: tuple[str, str] | None = None
    any_line = ("", "0")
    debug, begins, in_vectors = False, True, False
    for line in assembly.split("\n"):  # splitlines() would also split at other characters
        if match := _SECTION.match(line):
            debug = (match[1] or "").startswith(".debug")
            line = _COMDAT.sub(r',"\1\2"\3', line)
        if match := _FILE.match(line):
            folder, name = (match[2], match[3]) if match[3] else ("", match[2])
            path = os.path.join(folder, name)
            files[match[1]] = named(path)
            if _VECTORS.fullmatch(path):
                vectors.add(match[1])
        elif match := _LOC.match(line):
            name = files.get(match[1])
            in_vectors = match[1] in vectors
            begins = match[3] == "1" if match[3] else begins  # holds until it is changed
            if name and match[2] != "0":  # line 0: code without a source line
                any_line = (name, match[2])
                back = not begins and _goes_back(any_line, kernel_line)
                if not back and not runtime(name):
                    kernel_line = any_line
        elif not debug:
            if ".cfi_endproc" in line:
                kernel_line, any_line = None, ("", "0")
            if (match := _WEAK.match(line)) and match[1] in defined:
                line = f"\t.local\t{match[1]}"
            line = _MOVE.sub(r"\1__tsan_\2", line)
            out.append(line)
            if _ACCESS.match(line):
                name, number = (runtime(any_line[0]) and kernel_line) or any_line
                label = labels.setdefault(name, f".Lgm_file{len(labels)}")
                site = f".Lgm_site{len(records)}"
                out.append(f"{site}:")
                records.append(f"\t.quad\t{site}, {label}\n\t.long\t{number}, {int(in_vectors)}")
    return "\n".join([*out, *_table(labels, records)]) + "\n"


def _table(labels: Mapping[str, str], records: Sequence[str]) -> list[str]:
    """The sections with the files' names and the records."""
    strings = [f'{label}:\n\t.string\t"{name}"' for name, label in labels.items()]
    names = ['\t.section\t.rodata.gm_files,"aMS",@progbits,1', *strings]
    return [*names, '\t.section\tgm_sites,"aw",@progbits', "\t.balign\t8", *records] * bool(records)


def path_of(root: Path, name: str) -> str:
    """The path of a file as assembly or a line marker names it, with escapes, from root."""
    characters = _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else match[1],
        name.encode("utf-8", "surrogateescape"),
    )
    return os.path.normpath(root / characters.decode("utf-8", "surrogateescape"))


def _goes_back(line: tuple[str, str], before: tuple[str, str] | None) -> bool:
    return before is not None and line[0] == before[0] and int(line[1]) < int(before[1])


def _inside(root: Path, path: str) -> str | None:
    """A path, absolute or not, relative to the root; None if it is outside."""
    relative = os.path.relpath(os.path.join(root, path), root)
    return None if relative.startswith("..") else relative
