"""Compiling for a GPU with NVRTC, through cuda-core: fast, and without a host compiler.

NVRTC takes device code only, so the host side of the source and of its own headers is left out
first, and headers of the host's library count as empty.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..base.version import pip_install
from .compile import IGNORED_OPTIONS, Source
from .described import describing
from .device_side import DeviceSide, kernel_names, macros, without_host_side
from .errors import CompileError
from .host_headers import HOST_HEADERS, PREAMBLE
from .overloads import last_of_each

__all__ = [
    "HELP",
    "compile_with_nvrtc",
    "core_library",
    "cuda_headers",
    "nvrtc_options",
    "nvrtc_version",
]

HELP = f"{pip_install('cuda13')} (with a driver for CUDA 12: 'cuda12') installs cuda-core and NVRTC"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
_MISSING = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')
_MOST_MISSING = 32
_OLD_STANDARDS = ("11", "14")  # what is put behind the source needs C++17


@functools.cache
def core_library() -> Any:
    """Return the module cuda.core, or None if it is not installed."""
    try:
        import cuda.core as library
    except ImportError:
        return None
    if hasattr(library, "Program"):
        return library
    try:  # its releases before 0.5
        import cuda.core.experimental as experimental
    except ImportError:
        return None
    return experimental


@functools.cache
def nvrtc_version() -> str | None:
    """Return the version of NVRTC, or None if it is not installed."""
    if core_library() is None:
        return None
    try:
        from cuda.bindings import nvrtc

        error, major, minor = nvrtc.nvrtcVersion()
    except Exception:  # no library: what is raised depends on the version of cuda-bindings
        return None
    return f"{major}.{minor}" if not int(error) else None


def nvrtc_options(source: Source) -> dict[str, Any] | str:
    """Return the options for cuda-core, or an option that NVRTC does not have."""
    found: dict[str, Any] = {"std": "c++17", "lineinfo": True}
    found["define_macro"] = [(name, value) for name, value in source.defines.items()]
    found["include_path"] = []
    for option in source.options:
        name, _, value = option.lstrip("-").partition("=")
        if option.startswith("-D"):
            macro, equals, text = option[2:].partition("=")
            found["define_macro"].append((macro, text if equals else "1"))
        elif option.startswith("-U"):
            found.setdefault("undefine_macro", []).append(option[2:])
        elif option.startswith("-I"):
            found["include_path"].append(option[2:])
        elif name == "std":
            found["std"] = "c++17" if value[-2:] in _OLD_STANDARDS else value.replace("gnu", "c")
        elif name == "use_fast_math":
            found["use_fast_math"] = True
        elif name == "maxrregcount":
            found["max_register_count"] = int(value)
        elif option == "-G":
            found["debug"] = True
        elif name == "Xptxas":
            found.setdefault("ptxas_options", []).append(value)
        elif not IGNORED_OPTIONS.fullmatch(option):
            return option
    return found


def compile_with_nvrtc(
    source: Source, architecture: str, work: Path, cuda_include: Sequence[str]
) -> tuple[bytes, DeviceSide, list[str], list[str]]:
    """Compile a source; return machine code, what is in it, the headers, and those not found.

    Raises
    ------
    CompileError
        With NVRTC's messages, which name the source's files and lines.
    """
    options = nvrtc_options(source)
    if isinstance(options, str):
        raise CompileError(f"{source.name}: NVRTC does not know the option {options!r}")
    folders = [source.folder, *map(Path, source.include_dirs), *map(Path, options["include_path"])]
    headers = dict(_headers(source.text, source.folder, folders))
    texts = [source.text, *headers.values()]
    known = {name: words for text in texts for name, words in macros(text).items()}
    side = without_host_side(source.text, known)
    _mirror(headers, known, work, side)
    if not side.kernels and not side.templates:
        raise CompileError(f"{source.name} has no kernel: no function is __global__")
    stubs = work / "host"
    for name, content in HOST_HEADERS.items():
        _write(stubs / name, content)
    mirrored = [work / "own" / str(one.resolve()).lstrip("/") for one in folders]
    for one in mirrored:
        one.mkdir(parents=True, exist_ok=True)  # else nothing is beside it: "../common.h"
    options["include_path"] = [
        *map(str, mirrored),
        *map(str, folders),
        *cuda_include,
        str(stubs),
    ]
    options |= {"arch": f"sm_{architecture}", "name": source.name, "disable_warnings": True}
    options["define_macro"] = options["define_macro"] or None
    options["device_as_default_execution_space"] = True  # for constexpr functions
    code, absent = _compile_described(source, side, options, stubs)
    return code, side, [str(one) for one in headers], absent


def _compile_described(
    source: Source, side: DeviceSide, options: dict[str, Any], stubs: Path
) -> tuple[bytes, list[str]]:
    """Compile with a description of what is in the source."""
    names = kernel_names(side, source.instances)
    text = f'{PREAMBLE}#line 1 "{source.name}"\n{side.text}\n'
    text += describing(names, {name: name in side.managed for name in side.declared})
    try:
        return _compile(source, text, options, stubs)
    except CompileError:
        # There may be no overloads, but kernels of which the preprocessor leaves out all but one.
        fewer = last_of_each(side.definitions)
        if len(fewer) == len(side.definitions):
            raise
        side.definitions = fewer
        return _compile_described(source, side, options, stubs)


def _compile(
    source: Source, text: str, options: dict[str, Any], stubs: Path
) -> tuple[bytes, list[str]]:
    """Compile, while headers that are nowhere become empty ones; return the code, and these."""
    library = core_library()
    absent: list[str] = []
    for _ in range(_MOST_MISSING):
        try:
            program = library.Program(text, "c++", library.ProgramOptions(**options))
            return bytes(program.compile("cubin").code), absent
        except Exception as error:  # of a class that cuda-core does not export
            message = str(error)
        missing = _MISSING.search(message)
        if not missing or missing[1] in absent or ".." in missing[1] or missing[1][0] == "/":
            break
        absent.append(missing[1])
        _write(stubs / missing[1], "")
    log = message.partition("compilation log:")[2].strip() or message
    raise CompileError(f"compilation of {source.name} failed:\n{log}")


def _headers(text: str, folder: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the source's own headers, with their text."""
    open_files = [(text, folder)]
    found: set[Path] = set()
    while open_files:
        text, folder = open_files.pop()
        for match in _INCLUDE.finditer(text):
            places = [folder, *folders] if match[1] == '"' else folders
            path = next((p for one in places if (p := one / match[2]).is_file()), None)
            if path is None or path.resolve() in found:
                continue
            path = path.resolve()
            found.add(path)
            content = path.read_text(encoding="utf-8", errors="surrogateescape")
            yield path, content
            open_files.append((content, path.parent))


def _mirror(
    headers: dict[Path, str], known: dict[str, set[str]], work: Path, side: DeviceSide
) -> None:
    """Write the headers without their host side, in folders like their own."""
    for path, content in headers.items():
        header = without_host_side(content, known)
        side.add(header)
        _write(work / "own" / str(path).lstrip("/"), f'#line 1 "{path}"\n{header.text}')


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def cuda_headers() -> list[str]:
    """Return the folders of CUDA's headers, as far as they are found."""
    roots: list[str] = []
    try:
        from cuda.pathfinder import find_nvidia_header_directory

        roots = [find_nvidia_header_directory(name) or "" for name in ("cudart", "cccl")]
    except Exception:  # an old version, or a name that it does not know
        pass
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            roots.append(os.path.join(home, "include"))
    roots.append("/usr/local/cuda/include")
    found = [one for root in roots if root for one in (root, os.path.join(root, "cccl"))]
    return [one for one in dict.fromkeys(found) if os.path.isdir(one)]
