"""gpumem's own sources that users' kernels are compiled with: headers, and the builder's pieces.

In a checkout, and in what is installed from it with ``pip install -e``, they are in csrc; any other
installed package has copies of those that are needed (csrc/build_module_sources.py lists them).
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .errors import CompileError

__all__ = ["build_flags", "build_sites", "build_toolchain", "csrc", "own_files"]

_PACKAGE = Path(__file__).resolve().parent.parent


def csrc() -> Path:
    """Return the folder of the sources.

    Raises
    ------
    CompileError
        If it is not there.
    """
    for place in (_PACKAGE / "csrc", _PACKAGE.parent / "csrc"):
        if (place / "module" / "kernels.h").exists():
            return place
    raise CompileError(
        f"compiling kernels takes sources of gpumem that should be in {_PACKAGE / 'csrc'}: "
        "install gpumem again"
    )


def own_files() -> list[Path]:
    """Return all that a module is compiled with, and what rewrites it."""
    top = csrc()
    paths = [*(top / "module").glob("*.[ch]"), *(top / "backend").glob("sim_kernels.*")]
    for folder in (top, top / "sim", top / "sim" / "cuda"):
        paths += [path for ending in ("*.h", "*.def") for path in folder.glob(ending)]
    paths += [*top.glob("build_*.py"), *(_PACKAGE / "cuda_c").glob("*.py")]
    return sorted(paths)


def build_flags() -> ModuleType:
    """csrc/build_flags.py: the compilers' flags."""
    return _loaded("build_flags")


def build_sites() -> ModuleType:
    """csrc/build_sites.py, which rewrites the assembly text of traced kernels."""
    return _loaded("build_sites")


def build_toolchain() -> ModuleType:
    """csrc/build_toolchain.py, which finds compilers and runs them."""
    return _loaded("build_toolchain")


@functools.cache
def _loaded(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        f"gpumem_csrc_{name}", csrc() / f"{name}.py"
    )
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look for it there
    specification.loader.exec_module(module)
    return module
