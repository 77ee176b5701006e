"""Chooses the host's compilers, nvcc, and the GPU targets of a build.

Environment variables control it: CC, CXX; NVCC, CUDA_HOME, CUDA_PATH; GPUMEM_CUDA,
GPUMEM_CUDA_ARCHS. An invalid value is an error that lists the accepted ones.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

COMPILERS = {"CC": ("gcc", "cc", "clang"), "CXX": ("g++", "c++", "clang++")}
# Of traced kernels: GCC 10 does not distinguish volatile accesses, and Clang 13 reports atomic ones
# where the attribute no_sanitize forbids it.
OLDEST_GCC, OLDEST_CLANG = 11, 14
COMPILER_HELP = (
    f"gpumem compiles with GCC {OLDEST_GCC} or Clang {OLDEST_CLANG}, or later. Install g++ (Debian,"
    " Ubuntu), gcc-c++ (Fedora) or cxx-compiler (conda-forge), or set CC and CXX to compilers."
)
SYSTEM_CUDA = Path("/usr/local/cuda")
RELEASE_ARCHS = ("80", "90a", "100", "120")


class BuildError(Exception):
    """The build cannot continue; the message is shown to the user."""


def words(variable: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Split a variable such as CFLAGS into words by the quoting rules of a shell."""
    text = environment.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise BuildError(
            f"gpumem: {variable} is {text!r}: {reason}; it should be words quoted as in a shell"
        ) from error


def run(command: Sequence[str | Path], **options) -> subprocess.CompletedProcess[str]:
    """Run a command in the C locale and capture its output."""
    options |= {"env": {**os.environ, "LC_ALL": "C"}, "capture_output": True}
    try:
        return subprocess.run(
            [str(word) for word in command], text=True, errors="replace", check=False, **options
        )
    except OSError as error:
        raise BuildError(f"gpumem: cannot run {command[0]}: {error.strerror}") from error


# ---- the host's compilers -------------------------------------------------------------------


@dataclass(frozen=True)
class Compiler:
    """A C or C++ compiler: its command, whether it is Clang, and its target machine."""

    command: tuple[str, ...]
    clang: bool
    machine: str  # "x86_64", "aarch64" or ""
    identity: str  # path, version and machine, for the cache key

    @property
    def program(self) -> str:
        """The compiler itself, without a wrapper such as ccache and without flags."""
        wrappers = {"ccache", "sccache", "distcc"}
        return next(word for word in self.command if Path(word).name not in wrappers)


def host_compiler(variable: str, environment: Mapping[str, str] = os.environ) -> Compiler:
    """The compiler that a variable (CC or CXX) names, else the first on the PATH."""
    command = words(variable, environment)
    if not command:
        names = COMPILERS[variable]
        path = environment.get("PATH", os.defpath)
        command = [name for name in names if shutil.which(name, path=path)][:1]
        if not command:
            language = {"CC": "C", "CXX": "C++"}[variable]
            raise BuildError(
                f"gpumem: no {language} compiler was found: the PATH has none of"
                f" {', '.join(names)}, and {variable} is not set. {COMPILER_HELP}"
            )
    # One call prints the predefined macros: kind, version and machine of any compiler.
    try:
        done = run([*command, "-dM", "-E", "-x", "c", os.devnull])
    except BuildError as error:
        raise BuildError(f"{error}, which is the compiler in {variable}. {COMPILER_HELP}") from None
    macros = dict(re.findall(r"^#define (\w+) (.*)$", done.stdout, re.M))
    if done.returncode or "__GNUC__" not in macros:
        raise BuildError(
            f"gpumem: {variable} is {shlex.join(command)!r}, which does not work as GCC and Clang"
            f" do. {done.stderr.strip()}\n{COMPILER_HELP}"
        )
    clang = "__clang__" in macros
    version = int(macros["__clang_major__" if clang else "__GNUC__"])
    if version < (OLDEST_CLANG if clang else OLDEST_GCC):
        kind = "Clang" if clang else "GCC"
        raise BuildError(
            f"gpumem: {shlex.join(command)} is {kind} {version}, which is too old. {COMPILER_HELP}"
        )
    machine = next((name for name in ("x86_64", "aarch64") if f"__{name}__" in macros), "")
    identity = f"{shutil.which(command[0])} {macros['__VERSION__']} {machine}"
    return Compiler(tuple(command), clang, machine, identity)


# ---- nvcc -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Toolkit:
    """An nvcc with its headers and libraries, and the targets to compile for."""

    nvcc: Path
    version: str  # "13.0"
    include: Path
    libraries: tuple[Path, ...]
    archs: tuple[str, ...] = ()  # "80", "90a", ...
    ptx: str | None = None  # the target whose PTX is included too, for later GPUs

    def describe_archs(self, separator: str) -> str:
        return separator.join(a + "+PTX" if a == self.ptx else a for a in self.archs)

    def code_flags(self) -> list[str]:
        flags = []
        for arch in self.archs:
            codes = f"sm_{arch},compute_{arch}" if arch == self.ptx else f"sm_{arch}"
            flags += ["-gencode", f"arch=compute_{arch},code=[{codes}]"]
        return flags


def choose_toolkit(
    announce: Callable[[str], None] = print, environment: Mapping[str, str] = os.environ
) -> Toolkit | None:
    """Return the toolkit to build with, or None to build without CUDA; announce it in one line.

    CUDA kernels are compiled for the targets in GPUMEM_CUDA_ARCHS or, if it is not set, for the
    GPUs of this machine. Without either, only the simulator is built.
    """
    wanted = environment.get("GPUMEM_CUDA", "").strip().lower() or "auto"
    if wanted not in ("auto", "1", "0"):
        raise BuildError(f"gpumem: GPUMEM_CUDA is {wanted!r}; it should be auto, 1 or 0")
    wanted_archs(environment)  # an invalid value is an error, with or without nvcc
    if wanted == "0":
        announce("gpumem: GPUMEM_CUDA is 0: building the simulator alone")
        return None
    toolkit = find_toolkit(environment)
    if isinstance(toolkit, str):
        if wanted == "1":
            raise BuildError(f"gpumem: GPUMEM_CUDA is 1, but no usable nvcc was found. {toolkit}")
        announce(
            "gpumem: no nvcc found: building the simulator alone (set CUDA_HOME or NVCC to point"
            f" at one). {toolkit}"
        )
        return None
    chosen = choose_archs(toolkit, announce, environment)
    if isinstance(chosen, str):
        advice = (
            "set GPUMEM_CUDA_ARCHS to compile CUDA kernels, for example 90a (H100, H200) or"
            f" release ({','.join(RELEASE_ARCHS)})"
        )
        if wanted == "1":
            raise BuildError(f"gpumem: GPUMEM_CUDA is 1, but {chosen}; {advice}")
        announce(f"gpumem: {chosen}: building the simulator alone; {advice}")
        return None
    announce(
        f"gpumem: CUDA kernels for {chosen.describe_archs(', ')}"
        f" with nvcc {chosen.version} ({chosen.nvcc})"
    )
    return chosen


def find_toolkit(environment: Mapping[str, str] = os.environ) -> Toolkit | str:
    """The first usable CUDA toolkit, or a sentence that lists the places searched."""
    if explicit := environment.get("NVCC"):
        nvcc = Path(shutil.which(explicit, path=environment.get("PATH")) or explicit)
        toolkit = open_toolkit(nvcc)
        if isinstance(toolkit, str):
            raise BuildError(
                f"gpumem: NVCC is {explicit!r}, which {toolkit}; it should be the path of an nvcc"
            )
        return toolkit
    looked = ["NVCC (not set)"]
    for how, nvcc in nvcc_candidates(environment):
        toolkit = open_toolkit(nvcc) if nvcc else "nothing"
        if isinstance(toolkit, Toolkit):
            return toolkit
        looked.append(f"{how} ({nvcc} {toolkit})" if nvcc else f"{how} ({toolkit})")
    return f"Looked at {', '.join(looked)}."


def nvcc_candidates(environment: Mapping[str, str] = os.environ) -> list[tuple[str, Path | None]]:
    """(place, path of nvcc) in order of preference; the path is None if the place has none."""
    found: list[tuple[str, Path | None]] = []
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = environment.get(variable)
        found.append((variable, Path(home, "bin", "nvcc") if home else None))
    on_path = shutil.which("nvcc", path=environment.get("PATH", os.defpath))
    found.append(("PATH", Path(on_path) if on_path else None))
    found.append((str(SYSTEM_CUDA), SYSTEM_CUDA / "bin" / "nvcc"))
    # In an isolated build, sys.path is that of pip's temporary environment; sysconfig names the
    # folders of the interpreter's own packages.
    folders = [*sys.path, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    pip: list[Path | None] = []
    for folder in dict.fromkeys(folders):
        pip += sorted(Path(folder or ".").glob("nvidia/cu[0-9]*/bin/nvcc"), reverse=True)
    return found + [("the nvidia-cuda-nvcc package", path) for path in pip or [None]]


def open_toolkit(nvcc: Path) -> Toolkit | str:
    """The toolkit that an nvcc belongs to, or what is wrong with it."""
    if not nvcc.is_file() or not os.access(nvcc, os.X_OK):
        return "is not there"
    version = re.search(r"release (\d+\.\d+)", run([nvcc, "--version"]).stdout)
    if not version:
        return "does not tell its version"
    targets = {"x86_64": ["x86_64-linux"], "aarch64": ["sbsa-linux", "aarch64-linux"]}
    parts = [".", *(f"targets/{target}" for target in targets.get(platform.machine(), []))]
    # nvcc or its folder may be a symbolic link: search around the link and around its target.
    tops = dict.fromkeys([nvcc.parent.parent, nvcc.resolve().parent.parent])
    places = [top / part for top in tops for part in parts]
    headers = [p / "include" for p in places if (p / "include" / "cuda_runtime.h").exists()]
    folders = [p / lib for p in places for lib in ("lib64", "lib") if (p / lib).is_dir()]
    libraries = list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]
    if not headers:
        return "has no cuda_runtime.h beside it"
    if not any((folder / "libcudart_static.a").exists() for folder in libraries):
        return "has no libcudart_static.a beside it"
    return Toolkit(nvcc, version[1], headers[0], tuple(libraries))


# ---- targets --------------------------------------------------------------------------------


def choose_archs(
    toolkit: Toolkit, announce: Callable[[str], None], environment: Mapping[str, str] = os.environ
) -> Toolkit | str:
    """The toolkit with its targets, or the reason why it has none."""
    text = environment.get("GPUMEM_CUDA_ARCHS", "").strip()
    archs = wanted_archs(environment)
    if archs in (None, ["native"]):
        archs = native_archs(toolkit)
        if not archs and text:
            raise BuildError(f"gpumem: GPUMEM_CUDA_ARCHS is {text!r}, but there is no GPU here")
        if not archs:
            return f"nvcc {toolkit.version} is here, but no GPU"
    listed = run([toolkit.nvcc, "--list-gpu-code"]).stdout
    known = set(re.findall(r"sm_(\d+)", listed))
    unknown = [arch for arch in archs if arch.rstrip("af") not in known]
    if unknown:
        reason = (
            f"nvcc {toolkit.version} does not know {', '.join(unknown)};"
            f" it knows {', '.join(sorted(known, key=int))}"
        )
        if text:
            raise BuildError(f"gpumem: GPUMEM_CUDA_ARCHS is {text!r}, but {reason}")
        archs = [arch for arch in archs if arch not in unknown]
        if not archs:
            return f"the GPUs here need another nvcc: {reason}"
        announce(f"gpumem: {reason}: left out")
    # PTX of a target with a letter runs only on the chip that already has machine code.
    ptx = next((arch for arch in archs if arch.isdigit()), None)
    return replace(toolkit, archs=tuple(archs), ptx=ptx)


def wanted_archs(environment: Mapping[str, str] = os.environ) -> list[str] | None:
    """GPUMEM_CUDA_ARCHS as a sorted list: "90a;80" is ["80", "90a"]; None if it is not set."""
    text = environment.get("GPUMEM_CUDA_ARCHS", "").strip()
    if not text:
        return None
    archs = list(dict.fromkeys(re.split(r"[,;\s]+", text.strip(" ,;").lower())))
    if archs == ["native"]:
        return archs
    if archs == ["release"]:
        return list(RELEASE_ARCHS)
    for arch in archs:
        if not re.fullmatch(r"[1-9]\d{1,2}[af]?", arch):
            raise BuildError(
                f"gpumem: GPUMEM_CUDA_ARCHS is {text!r}, where {arch!r} is no target; it should be"
                " native, release, or compute capabilities without the dot such as 80,90a,100,120"
            )
    return sorted(archs, key=lambda arch: (int(arch.rstrip("af")), arch))


def native_archs(toolkit: Toolkit) -> list[str]:
    """Compute capabilities of the GPUs here, from nvidia-smi or nvcc's own tool; [] for none."""
    found: set[str] = set()
    if shutil.which("nvidia-smi"):
        asked = run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
        found = {line.strip().replace(".", "") for line in asked.stdout.splitlines()}
    query = toolkit.nvcc.resolve().parent / "__nvcc_device_query"
    if not (found and all(arch.isdigit() for arch in found)) and os.access(query, os.X_OK):
        asked = run([query])
        found = set(re.split(r"[,\s]+", asked.stdout.strip())) if not asked.returncode else set()
    if not all(arch.isdigit() for arch in found):
        return []
    # 9.0 becomes 90a, as in a release: that target has the features specific to this chip.
    exact = {arch.rstrip("af"): arch for arch in RELEASE_ARCHS}
    return sorted((exact.get(arch, arch) for arch in found), key=lambda a: int(a.rstrip("af")))
