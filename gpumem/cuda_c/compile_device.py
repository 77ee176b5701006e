"""From a CUDA C source to machine code of a GPU, in the cache.

NVRTC first, since it is several times as fast and needs no host compiler; what it does not take
nvcc gets, as it is, where it is found.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .cache import Compiled, cached, folder, keep, put, stamp
from .compile import Source, digest
from .described import __file__ as _described
from .device_side import DeviceSide
from .errors import CompileError
from .nvcc import compile_with_nvcc, find_nvcc
from .nvrtc import HELP, compile_with_nvrtc, cuda_headers, nvrtc_version

__all__ = ["compile_for_device", "why_no_compiler"]


def device_compiler() -> str:
    """Return the name and version of the compiler for a GPU.

    Raises
    ------
    CompileError
        If there is none, with where it was looked for.
    """
    version = nvrtc_version()
    if version:
        return f"NVRTC {version}"
    toolkit = find_nvcc()
    if isinstance(toolkit, str):
        raise CompileError(f"no compiler for a GPU was found: {HELP}; nvcc does as well. {toolkit}")
    return f"nvcc {toolkit.version}"


def why_no_compiler() -> str | None:
    """Return why nothing can be compiled for a GPU, or None if it can."""
    try:
        device_compiler()
    except CompileError as error:
        return str(error)
    return None


def compile_for_device(source: Source, architecture: str) -> Compiled:
    """Return a source's machine code for a target such as "90a".

    Raises
    ------
    CompileError
        With the compiler's messages, which name the source's files and lines.
    """
    at = folder()
    own = [(str(one), stamp(one)) for one in sorted(Path(_described).parent.glob("*.py"))]
    nvcc = [os.environ.get(name) for name in ("NVCC", "CUDA_HOME", "CUDA_PATH", "PATH")]
    key = digest([*vars(source).values(), architecture, nvrtc_version(), *nvcc, *own])
    return cached(at, key) or _compile_anew(source, architecture, at, key)


def _compile_anew(source: Source, architecture: str, at: Path, key: str) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="gpumem-") as work:
        code, side, used, missing = _compile(source, architecture, Path(work))
        made = at / f"{digest([key, code])}.cubin"
        beside = Path(work, made.name)
        beside.write_bytes(code)
        put(beside, made)
    compiled = Compiled(
        made, side.parameters, side.templates, list(dict.fromkeys(side.declared)), ()
    )
    folders = (source.folder, *map(Path, source.include_dirs))
    absent = [str(one / name) for one in folders for name in missing]
    keep(at, key, compiled, [*used, *absent])
    return compiled


def _compile(
    source: Source, architecture: str, work: Path
) -> tuple[bytes, DeviceSide, list[str], list[str]]:
    refused = None
    if nvrtc_version():
        try:
            return compile_with_nvrtc(source, architecture, work, cuda_headers())
        except CompileError as error:
            refused = error
    toolkit = find_nvcc()
    if not isinstance(toolkit, str):
        return compile_with_nvcc(source, architecture, work, toolkit)
    if refused:
        raise refused
    raise CompileError(str(why_no_compiler()))
