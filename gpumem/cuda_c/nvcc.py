"""Compiling for a GPU with nvcc, which takes a source as it is and needs a host compiler."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .compile import Source
from .described import describing
from .device_side import DeviceSide, kernel_names, list_kernels
from .errors import CompileError
from .own_sources import build_toolchain

__all__ = ["compile_with_nvcc", "find_nvcc"]

_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"([ \d]*)$', re.M)
# In nvcc's headers __global__ is a macro.
_EXPANDED = re.compile(r"__attribute__\(\((global|device|host|constant|shared|managed)\)\)")
_SYSTEM = "3"  # the flag of a marker: a header of the system
_STANDARD = re.compile(r"--?std=(?:c|gnu)\+\+(?:17|20|23)")
# Options that are not handed on: what is put behind the source needs C++17 and one target.
_REPLACED = re.compile(
    r"--?std=(?:c|gnu)\+\+(?:03|11|14)|-arch=\S+|--gpu-architecture=\S+|-code=\S+|-gencode=?\S*"
)


def find_nvcc() -> Any:
    """Return the toolkit of nvcc, or a sentence that says where it was looked for."""
    toolchain = build_toolchain()
    try:
        return toolchain.find_toolkit()
    except toolchain.BuildError as error:
        raise CompileError(str(error)) from None


def compile_with_nvcc(
    source: Source, architecture: str, work: Path, toolkit: Any
) -> tuple[bytes, DeviceSide, list[str], list[str]]:
    """Compile a source; return machine code, what is in it, the headers, and those not found.

    Raises
    ------
    CompileError
        With nvcc's messages, which name the source's files and lines.
    """
    path = work / "source.cu"
    path.write_text(f'#line 1 "{source.name}"\n{source.text}\n')
    options = [one for one in source.options if not _REPLACED.fullmatch(one)]
    if not any(_STANDARD.fullmatch(one) for one in options):
        options.append("-std=c++17")
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    # As with NVRTC and on the simulator, kernels may call constexpr functions.
    command = [toolkit.nvcc, "-w", "-lineinfo", "--expt-relaxed-constexpr", target]
    command += [f"-I{folder}" for folder in (source.folder, *source.include_dirs)]
    command += [f"-D{name}={value}" for name, value in source.defines.items()]
    command += options
    on_device = f"-D__CUDA_ARCH__={10 * int(architecture.rstrip('af'))}"
    preprocessed = _run([*command, "-E", "-Xcompiler", on_device, path], source)
    preprocessed = _EXPANDED.sub(r"__\1__", preprocessed)
    text, used = _own_parts(preprocessed, toolkit)
    used = [one for one in used if one != str(path)]
    side = list_kernels(text)
    if not side.kernels and not side.templates:
        raise CompileError(f"{source.name} has no kernel: no function is __global__")
    names = kernel_names(side, source.instances)
    described = describing(names, {name: name in side.managed for name in side.declared})
    path.write_text(f"{path.read_text()}{described}")
    made = work / "source.cubin"
    _run([*command, "-cubin", "-o", made, path], source)
    return made.read_bytes(), side, used, []


def _run(command: list[Any], source: Source) -> str:
    done = build_toolchain().run(command, cwd=source.folder)
    if done.returncode:
        raise CompileError(
            f"compilation of {source.name} failed:\n{(done.stderr or done.stdout).strip()}"
        )
    return str(done.stdout)


def _own_parts(text: str, toolkit: Any) -> tuple[str, list[str]]:
    """Return what comes from the source and its own headers, and these headers."""
    parts: list[str] = []
    used: list[str] = []
    cuda = str(toolkit.nvcc.resolve().parent.parent), str(toolkit.include.resolve())
    markers: list[re.Match[str]] = [*_MARKER.finditer(text)]
    ends = [*(one.start() for one in markers[1:]), len(text)]
    for marker, end in zip(markers, ends, strict=True):
        file = str(marker[1])
        system = _SYSTEM in marker[2].split() or file.startswith("<")
        if not system and not str(Path(file).resolve()).startswith(cuda):
            parts.append(text[marker.end() : end])
            used += [file] if Path(file).is_absolute() else []
    return "".join(parts), list(dict.fromkeys(used))
