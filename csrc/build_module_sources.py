"""Lists the files that users' kernels are compiled with; an installed package has copies of them.

These are what a module of kernels includes and is linked with (see gpumem/cuda_c/compile.py), and
the pieces of this builder that compile it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PYTHON = ("build_flags.py", "build_sites.py", "build_toolchain.py")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def module_sources(csrc: Path) -> list[Path]:
    """Return their paths relative to csrc."""
    roots = [csrc / "backend" / "sim_kernels.c", *(csrc / "module").iterdir()]
    roots += (csrc / "sim" / "cuda" / "include").rglob("*")
    found: set[Path] = set()
    waiting = [path.resolve() for path in roots if path.is_file()]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _included(path, csrc)
    return [Path(name) for name in PYTHON] + sorted(p.relative_to(csrc.resolve()) for p in found)


def _included(path: Path, csrc: Path) -> Iterator[Path]:
    """The files of csrc that a file includes, beside it or from csrc on."""
    for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
        places = [folder / name for folder in (path.parent, csrc)]
        yield from [place.resolve() for place in places if place.is_file()][:1]
