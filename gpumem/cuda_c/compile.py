"""From a CUDA C source to a shared object that the simulator loads.

Preprocess, rewrite, compile, link. The compiler is that of the package's own build, with the same
flags; objects are kept in a folder by the hash of all that they are made from.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .cache import Compiled, cached, folder, keep, put, stamp
from .errors import CompileError
from .overloads import pointers
from .own_sources import build_flags, build_sites, build_toolchain, csrc, own_files
from .rewrite import GUARD_BYTES, Rewritten, limits_name, rewrite
from .tokens import users_files
from .unions import with_plain_vectors
from .variables import extents

__all__ = [
    "IGNORED_OPTIONS",
    "Source",
    "compile_source",
    "digest",
    "host_compiler",
    "read_source",
]

_MISSING = re.compile(r"fatal error: '?([^\s':]+)'?(?::| file not found)")
_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"', re.M)
_MOST_MISSING = 32
_DELETED = re.compile(r"\bdeleted\b")  # what compilers say of a copy that C++ does not make
# What every compiler has; other headers that are nowhere may be the host side's.
_STANDARD_HEADERS = frozenset(
    "assert.h float.h limits.h math.h stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h"
    " algorithm array cassert cmath cstddef cstdint cstdio cstdlib cstring iostream limits string"
    " type_traits utility vector".split()
)
# A compiler without its parts, the assembler, the linker, or the libraries of C and C++.
_INCOMPLETE = re.compile(
    r"cannot execute|cc1plus|crti\.o|(?:cannot|unable to) find .*-l\w|-fuse-ld"
)
# Headers of libraries for the host: empty, since those that may be there redefine CUDA's words.
_HOST_LIBRARIES = (
    "cublas.h cublas_v2.h cublasLt.h cublasXt.h cudnn.h cufft.h cufftXt.h cusolverDn.h cusolverSp.h"
    " cusparse.h nccl.h npp.h nvml.h nvToolsExt.h nvtx3/nvToolsExt.h nvtx3/nvtx3.hpp"
).split()
_INSTANCE = re.compile(r"[\w:]+<[\w\s:<>,.&*+()'-]*>")
# Options of nvcc that change machine code alone, with their values.
IGNORED_OPTIONS = re.compile(
    r"-O[0-3s]?|-g|-G|-lineinfo|--generate-line-info|-arch=\S+|--gpu-architecture=\S+|-m64"
    r"|-code=\S+|--expt-relaxed-constexpr|--expt-extended-lambda|--extended-lambda|-w|-Xptxas=\S+"
    r"|-?-?use_fast_math|-maxrregcount=\d+|--maxrregcount=\d+|-rdc=(?:true|false)"
)
_TAKEN = re.compile(r"-D\w+(?:=.*)?|-U\w+|-I.+|--?std=(?:c|gnu)\+\+(?:11|14|17|20|23)")
_FLAGS = (
    "-x c++ -std=c++17 -fPIC -fvisibility=hidden -fno-threadsafe-statics -ffp-contract=off"
    # Vectors are loaded from arrays of other types; nvcc takes {1.5} for an int2, and register.
    " -fno-strict-aliasing -Wno-narrowing -Wno-register"
)
# In front of the first variable; rewrite.py puts others behind each.
_GUARDS = "".join(
    f'__attribute__((section("{section}"), used)) static char gm_guard_0{i}[{GUARD_BYTES}];\n'
    for i, section in enumerate(("gm_constant", "gm_variable"))
)
_QUIET = "-w -fmax-errors=20"  # the source is CUDA's: its warnings are nvcc's business


@dataclass(frozen=True)
class Source:
    """A source, and how it is to be compiled."""

    text: str
    name: str  # for messages
    folder: Path  # in which its includes are looked for first
    defines: Mapping[str, str]
    include_dirs: Sequence[str]
    instances: tuple[str, ...]  # of templates: "tile<float, 32>"
    options: tuple[str, ...] = ()

    def with_instance(self, name: str) -> Source:
        """Return the source with one more instance of a template.

        Raises
        ------
        CompileError
            If the name is none.
        """
        if not _INSTANCE.fullmatch(name):
            raise CompileError(f"{self.name}: {name!r} is no instance of a template")
        return replace(self, instances=(*self.instances, name))


def read_source(path: Path) -> str:
    """Return a file's text: UTF-8, with or without a byte order mark, or else Latin-1."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _compiler(variable: str) -> Any:
    """Return the host's C or C++ compiler."""
    toolchain = build_toolchain()
    try:
        return toolchain.host_compiler(variable)
    except toolchain.BuildError as error:
        message = str(error).removeprefix("gpumem: ")
        raise CompileError(f"kernels for the simulator need a host compiler: {message}") from None


def host_compiler() -> str:
    """Return the command of the compiler for the simulator.

    Raises
    ------
    CompileError
        If there is none, or it is too old.
    """
    return " ".join(_compiler("CXX").command)


def _run(command: Sequence[str | Path], source: Source, what: str) -> str:
    done = build_toolchain().run(command, cwd=source.folder)
    if done.returncode:
        raise _failed(what, source, done.stderr)
    return str(done.stdout)


def _failed(what: str, source: Source, said: str) -> CompileError:
    message = f"{what} of {source.name} failed:\n{said.strip()}"
    if _INCOMPLETE.search(said):
        message += f"\nThe compiler is not complete. {build_toolchain().COMPILER_HELP}"
    return CompileError(message)


def _includes(source: Source) -> list[str]:
    # As system headers: no warnings, and the parser skips them.
    own = [csrc() / "sim" / "cuda" / "include", csrc()]
    words = [f"-I{folder}" for folder in (source.folder, *source.include_dirs)]
    return [*words, *(word for folder in own for word in ("-isystem", str(folder)))]


def _options(source: Source) -> list[str]:
    """Return those of the options that matter here."""
    found = []
    for option in source.options:
        if _TAKEN.fullmatch(option):
            found.append(option.replace("--std", "-std"))
        elif not IGNORED_OPTIONS.fullmatch(option):
            raise CompileError(
                f"{source.name}: the simulator does not know the option {option!r}; it takes -D, "
                "-U, -I and -std=, and passes over options of nvcc that change machine code alone"
            )
    return found


def _preprocess(
    source: Source, compiler: Sequence[str], flags: Sequence[str], work: Path
) -> tuple[str, list[str]]:
    """Preprocess; also return which headers are nowhere.

    They count as empty, since they may be the host side's.
    """
    path = work / "source.cu"
    path.write_text(f'# 1 "{source.name}"\n{source.text}\n', encoding="utf-8")
    stubs = work / "missing"
    stubs.mkdir()
    for name in _HOST_LIBRARIES:
        _touch(stubs / name)
    defines = [f"-D{name}={value}" for name, value in source.defines.items()]
    command = [*compiler, *flags, *_includes(source), "-isystem", str(stubs), *defines]
    command += _options(source)
    command += ["-include", "module/kernels.h", "-E", str(path)]
    absent: list[str] = []
    for _ in range(_MOST_MISSING):
        done = build_toolchain().run(command, cwd=source.folder)
        if not done.returncode:
            return str(done.stdout).replace(f'"{work}/', '"'), absent  # the same text in each run
        missing = _MISSING.search(done.stderr)
        if not missing or (stubs / missing[1]).exists() or ".." in missing[1]:
            break
        if missing[1] in _STANDARD_HEADERS:
            raise CompileError(
                f"{compiler[0]} does not find <{missing[1]}>, a header of the standard library. "
                f"{build_toolchain().COMPILER_HELP}"
            )
        _touch(stubs / missing[1])
        absent.append(missing[1])
    raise _failed("preprocessing", source, done.stderr)


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def _register(rewritten: Rewritten, instances: Sequence[str]) -> str:
    """Return the lists of kernels and of variables, for the end of the text."""
    names = [*rewritten.kernels, *instances]
    declared, found = pointers(names)
    lines = ['# 1 "kernels"', declared]
    lines += ['extern "C" constexpr gm_module_kernel gm_module_kernels[] = {']
    for name in names:
        text = name.replace("\\", "\\\\").replace('"', '\\"')
        limits = f", {limits_name(name)}" if _template(name) in rewritten.limited else ""
        lines.append(f'gm_launcher<{found[name][0]}>::describe("{text}"{limits}),')
    lines += ["{nullptr, nullptr, nullptr, 0, {}}};"]
    lines += ['extern "C" const gm_module_variable gm_module_variables[] = {']
    lines += [f'gm_variable_of("{name}", ::{name}),' for name in dict.fromkeys(rewritten.declared)]
    return "\n".join([*lines, "{nullptr, nullptr, {}, 0, {}}};", ""])


def _template(instance: str) -> str:
    """Return ``ns::tile<>`` for ``ns::tile<float, 32>``, and the name of what is no instance."""
    name, bracket, _ = instance.partition("<")
    return name.strip().removeprefix("::") + "<>" * bool(bracket)


def compile_source(source: Source, traced: bool) -> Compiled:
    """Return a source's shared object, compiled for speed or for a trace.

    Raises
    ------
    CompileError
        With the compiler's messages, which name the source's files and lines.
    """
    at = folder()
    key = digest([*vars(source).values(), traced, *_toolchain_stamp()])
    return cached(at, key) or _compile_anew(source, traced, at, key)


def _compile_anew(source: Source, traced: bool, at: Path, key: str) -> Compiled:
    compiler = _compiler("CXX")
    flags = [*_FLAGS.split(), *_QUIET.split(), "-DGM_USER_MODULE=1"]
    # Guards stay behind variables; new returns a null pointer where the heap is exhausted.
    flags += [] if compiler.clang else ["-fno-toplevel-reorder", "-fcheck-new"]
    build = build_flags()
    own = build.user_traced_flags(compiler.clang) if traced else build.PLAIN_FLAGS
    own = [*own, "-O1" if traced else "-O2"]
    marks = traced and not compiler.clang  # Clang leaves out stores to variables of known address
    command = [*compiler.command, *flags, *own, *_options(source)]
    with tempfile.TemporaryDirectory(prefix="gpumem-") as work_folder:
        text, missing = _preprocess(source, compiler.command, [*flags, *own], Path(work_folder))
    used = [line[1] for line in _MARKER.finditer(text) if os.path.isabs(line[1])]
    made, rewritten = _rewrite_and_make(source, text, command, traced, marks, at)
    compiled = Compiled(
        made, rewritten.parameters, rewritten.templates, rewritten.declared, extents(made)
    )
    # A header that was nowhere may come to be.
    folders = (source.folder, *map(Path, source.include_dirs))
    absent = [str(one / name) for one in folders for name in missing]
    keep(at, key, compiled, [*dict.fromkeys(used), *absent])
    return compiled


def _rewrite_and_make(
    source: Source, text: str, command: Sequence[str], traced: bool, marks: bool, at: Path
) -> tuple[Path, Rewritten]:
    """Compile the preprocessed text as it is rewritten best; if that fails, with less."""
    # What a source says of an array's type may not hold for one with guards.
    ways = (True, False) if marks else (False,)
    for guards in ways:
        try:
            rewritten = rewrite(text, marks, source.instances, guards)
            return _make(source, rewritten, command, traced, at), rewritten
        except CompileError as error:
            failure = error
    plain = with_plain_vectors(text) if _DELETED.search(str(failure)) else text
    if plain == text:
        raise failure
    try:
        return _rewrite_and_make(source, plain, command, traced, marks, at)
    except CompileError:
        raise failure from None  # in the source's own words


def _make(
    source: Source, rewritten: Rewritten, command: Sequence[str], traced: bool, at: Path
) -> Path:
    """Compile and link, unless that has been done before."""
    compiler = _compiler("CXX")
    if not rewritten.kernels and not rewritten.templates:
        raise CompileError(f"{source.name} has no kernel: no function is __global__")
    text = _GUARDS + rewritten.text + "\n" + _register(rewritten, source.instances)
    made = at / f"{digest([text, compiler.identity, *command, _own_sources()])}.so"
    if not made.exists():
        with tempfile.TemporaryDirectory(prefix="gpumem-") as work_folder:
            work = Path(work_folder)
            assembler = compiler.command if traced else None
            _compile(source, text, command, work, assembler)
            _link(source, work, at)
            put(work / "module.so", made)
    return made


def _compile(
    source: Source, text: str, command: Sequence[str], work: Path, assembler: Sequence[str] | None
) -> None:
    """Compile to an object, which has a table of its accesses if there is an assembler."""
    path = work / "module.cpp"
    path.write_text(text, encoding="utf-8")
    erased = ["__global__", "__device__", "__host__", "__managed__", "__constant__"]
    words = [*command, *(f"-D{name}=" for name in erased), "-D__launch_bounds__(...)="]
    words.append("-D__cluster_dims__(...)=")
    if assembler is None:
        _run([*words, "-c", str(path), "-o", str(work / "module.o")], source, "compilation")
        return
    assembly = work / "module.s"
    _run([*words, "-S", str(path), "-o", str(assembly)], source, "compilation")
    as_bytes = {"encoding": "utf-8", "errors": "surrogateescape"}
    sites = build_sites()
    names = {sites.path_of(source.folder, name): name for name in users_files(text)}
    table = sites.tabulate_accesses(assembly.read_text(**as_bytes), source.folder, names)
    assembly.write_text(table, **as_bytes)
    _run([*assembler, "-c", str(assembly), "-o", str(work / "module.o")], source, "assembly")


def _link(source: Source, work: Path, cache: Path) -> None:
    """Link with the module's side of the interface, which is compiled once."""
    cc = _compiler("CC")
    key = digest([cc.identity, _own_sources()])
    objects = []
    for path in (csrc() / "module" / "side.c", csrc() / "backend" / "sim_kernels.c"):
        made = cache / f"{key}-{path.stem}.o"
        if not made.exists():
            beside = work / f"{path.stem}.o"
            command = [*cc.command, *build_flags().C_FLAGS, f"-I{csrc()}"]
            command += ["-c", str(path), "-o", str(beside)]
            _run(command, source, "compilation")
            put(beside, made)
        objects.append(made)
    libraries = ["-lstdc++", "-lm"]
    command = [*cc.command, "-shared", "-Wl,-z,now,-z,defs,-Bsymbolic", str(work / "module.o")]
    _run([*command, *objects, *libraries, "-o", str(work / "module.so")], source, "linking")


@functools.cache
def _own_sources() -> str:
    return digest([path.read_text() for path in own_files()])


def _toolchain_stamp() -> list[object]:
    """Return what changes when the compilers do, or what modules are compiled against."""
    found: list[object] = []
    for variable, names in build_toolchain().COMPILERS.items():
        given = os.environ.get(variable, "")
        paths = [shutil.which(name) for name in (given.split() or names)[:3]]
        found += [given, *((path, stamp(path)) for path in paths if path)]
    return [*found, *((path, stamp(path)) for path in own_files())]


def digest(words: Sequence[object]) -> str:
    """Return a name for what consists of these words."""
    return hashlib.sha256(
        "\0".join(map(str, words)).encode("utf-8", "surrogateescape")
    ).hexdigest()[:24]
