"""Gives the traced kernels a table of their memory accesses, by rewriting their assembly text.

With ``-fsanitize=thread`` the compiler calls ``__tsan_read4(address)`` and its like before every
access. At run time all that such a function knows of its caller is a return address; the table
made here leads from there to the source line, in every build and without debug information.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

# What these headers inline is charged to the line of the kernel that asked for it: the simulator's
# and those that are beside, not in, the families' folders.
_RUNTIME = re.compile(r"(?:.*/)?(?:csrc/sim/.+|csrc/kernels/[^/]+|device\.h|simt\.h)")

_STRING = r'"((?:[^"\\]|\\.)*)"'
_FILE = re.compile(rf"\s*\.file\s+(\d+)\s+{_STRING}(?:\s+{_STRING})?")
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_SECTION = re.compile(r'\s*\.(?:section\s+"?([^\s,"]+)|text\b|data\b|bss\b)')
_COMDAT = re.compile(r',\s*"(\w*)G(\w*)"(,\s*[@%]\w+(?:,\s*\d+)?),\s*[^,]+,\s*comdat')
_WEAK = re.compile(r"\s*\.weak\s+(\S+)")
_ACCESS = re.compile(
    r"\s*(?:callq?|bl)\s+\*?__tsan_(?:(?:unaligned_|volatile_)*(?:read|write)|atomic|mem)"
)
# A structure that Clang moves by a call of C's memcpy: also an access.
_MOVE = re.compile(r"^(\s*(?:callq?|bl)\s+\*?)(mem(?:cpy|move|set))(?=@|\s|$)")


def tabulate_accesses(assembly: str, root: Path) -> str:
    """The assembly text of a traced kernel with a table of the calls that report an access.

    One record of section ``gm_sites`` is ``{return address, file name, int32 line, int32 0}``.
    The line is the last one named before the call that is inside `root` and outside the
    simulator's headers: what ``float4``'s assignment does was asked for in the kernel. Only where
    a function has no such line it is the header's. Understands x86-64 and aarch64 as GCC and
    Clang write them.

    The debug information, having served its purpose, is left out. Functions and variables that
    the linker may share between objects (weak ones, in comdat groups) become local to this one:
    the plain kernels must not end up calling a traced copy, nor the other way about.
    """
    defined = set(re.findall(r"^([^\s:#]+):", assembly, re.M))
    files: dict[str, str | None] = {}  # number -> name from the root, None outside of it
    labels: dict[str, str] = {}  # name -> label of the string
    out: list[str] = []
    records: list[str] = []
    kernel_line: tuple[str, str] | None = None
    any_line = ("", "0")
    debug = False
    for line in assembly.split("\n"):  # not at what else Unicode calls a line's end
        if match := _SECTION.match(line):
            debug = (match[1] or "").startswith(".debug")
            line = _COMDAT.sub(r',"\1\2"\3', line)
        if match := _FILE.match(line):
            folder, name = (match[2], match[3]) if match[3] else ("", match[2])
            files[match[1]] = _inside(root, os.path.join(folder, name))
        elif match := _LOC.match(line):
            name = files.get(match[1])
            if name and match[2] != "0":  # line 0: code that belongs to no line
                any_line = (name, match[2])
                if not _RUNTIME.fullmatch(name):
                    kernel_line = any_line
        elif not debug:
            if ".cfi_endproc" in line:
                kernel_line, any_line = None, ("", "0")
            if (match := _WEAK.match(line)) and match[1] in defined:
                line = f"\t.local\t{match[1]}"
            line = _MOVE.sub(r"\1__tsan_\2", line)
            out.append(line)
            if _ACCESS.match(line):
                name, number = kernel_line or any_line
                label = labels.setdefault(name, f".Lgm_file{len(labels)}")
                site = f".Lgm_site{len(records)}"
                out.append(f"{site}:")
                records.append(f"\t.quad\t{site}, {label}\n\t.long\t{number}, 0")
    if records:
        out.append('\t.section\t.rodata.gm_files,"aMS",@progbits,1')
        out += [f'{label}:\n\t.string\t"{name}"' for name, label in labels.items()]
        out += ['\t.section\tgm_sites,"aw",@progbits', "\t.balign\t8", *records]
    return "\n".join(out) + "\n"


def _inside(root: Path, path: str) -> str | None:
    """The path from the root (an absolute one may be spelled so); None outside of it."""
    relative = os.path.relpath(os.path.join(root, path), root)
    return None if relative.startswith("..") else relative
