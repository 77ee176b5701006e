"""Builds ``gpumem._core`` from C files, kernels and, where there is one, nvcc.

Every kernel file ``csrc/kernels/FAMILY/VARIANT.cu`` is compiled up to three times: *plain* by the
host's C++ compiler, for results on the simulator; *traced* by the same compiler, which reports
every access, for ``gpumem.traffic`` (see build_sites.py); and by nvcc (see build_toolchain.py).

Objects live in a cache, named after all that went into them: the command, the compiler and the
contents of the files read. What is there is not compiled again, and builds that run side by side
do not disturb each other.

``python csrc/build.py`` builds the module in place, beside ``gpumem/__init__.py``. setup.py and
the tests load this file by its path and call `build_module`. It needs the standard library, and
the headers of Python and NumPy.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "csrc") not in sys.path:
    sys.path.append(str(ROOT / "csrc"))  # for those who load this file by its path

import build_sites  # noqa: E402
from build_toolchain import (  # noqa: E402
    BuildError,
    Compiler,
    Toolkit,
    choose_toolkit,
    host_compiler,
    run,
)

KEEP_SECONDS = 14 * 24 * 3600  # for objects in the cache that no build asks for

C_FLAGS = "-std=c11 -O2 -DNDEBUG -Wall -Wextra -fPIC -fvisibility=hidden".split()
HOST_FLAGS = (
    "-x c++ -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-psabi -fPIC -fvisibility=hidden"
    # Contraction to fused multiply-add would make results depend on the host's processor.
    " -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffp-contract=off"
).split()
# Kernels load and store under one condition, twice: more than GCC follows.
GCC_FLAGS = ["-Wno-maybe-uninitialized"]
PLAIN_FLAGS = "-O3 -fno-math-errno -DGM_BUILD_PLAIN=1".split()
# Nothing may split, join or invent accesses, and a call must stay a call to have an address.
TRACED_FLAGS = (
    "-O1 -g -gdwarf-4 -DGM_BUILD_TRACED=1 -fsanitize=thread -fno-optimize-sibling-calls"
    " -fno-tree-vectorize -fno-tree-slp-vectorize"
).split()
TRACED_GCC_FLAGS = (
    "--param tsan-instrument-func-entry-exit=0 -fno-store-merging -fno-gnu-unique"
).split()
TRACED_CLANG_FLAGS = (
    "-mllvm -tsan-instrument-func-entry-exit=0 -mllvm -tsan-instrument-read-before-write=1"
    " -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -gno-inline-line-tables"
).split()
LINK_FLAGS = "-shared -Wl,-z,now -Wl,--exclude-libs,ALL".split()
NVCC_FLAGS = (
    "-O3 -std=c++17 -DGM_BUILD_CUDA=1"
    " -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
).split()


# ---- objects, made once ---------------------------------------------------------------------


@dataclass
class Job:
    """One source file to compile one way; the builder adds where the outputs go."""

    source: str  # relative to the root where it lies inside
    how: str  # "c", "plain", "traced" or "nvcc"
    command: list[str]
    identity: str  # of the compiler, and of the headers in `system`
    system: list[str] = field(default_factory=list)  # include folders, wherever they are


@dataclass
class Builder:
    """Runs jobs in parallel and keeps their objects in a cache folder."""

    root: Path
    cache: Path
    assembler: Sequence[str] = ()
    announce: Callable[[str], None] = print
    compiled: list[str] = field(default_factory=list)  # what had to be compiled, for the curious
    _hashes: dict[str, str] = field(default_factory=dict)

    def objects(self, jobs: Sequence[Job]) -> list[Path]:
        """The objects of all jobs; BuildError with every compiler's message when some fail."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(job_count()) as pool:
            futures = [pool.submit(self.object, job) for job in jobs]
            try:
                concurrent.futures.wait(futures, return_when="FIRST_EXCEPTION")
            finally:
                pool.shutdown(cancel_futures=True)
        failures = [str(f.exception()) for f in futures if not f.cancelled() and f.exception()]
        if failures:
            raise BuildError("\n".join(failures))
        return [future.result() for future in futures]

    def object(self, job: Job) -> Path:
        """The job's object file, from the cache when everything that went into it is the same."""
        # The root is left out of the outputs, so it is left out of their names too.
        words = [word.replace(str(self.root), ".") for word in job.command]
        key = digest([job.identity, *words])
        stem = f"{'-'.join(Path(job.source).parts[-2:])}-{job.how}-{key}"
        manifest = self.cache / f"{stem}.files"
        if manifest.exists():
            known = self.name(stem, manifest.read_text().splitlines())
            if known and known.exists():
                os.utime(known)
                return known
        self.compiled.append(f"{job.how} {job.source}")
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            object_path, depfile = Path(folder, "out.o"), Path(folder, "out.d")
            started = time.time()
            target = ["-MMD", "-MF", str(depfile)]
            if job.how == "traced":
                text = Path(folder, "out.s")
                self.call([*job.command, *target, "-S", "-o", str(text)])
                # Strings stand in it byte by byte, as Clang writes them.
                as_bytes = {"encoding": "utf-8", "errors": "surrogateescape"}
                assembly = build_sites.tabulate_accesses(text.read_text(**as_bytes), self.root)
                text.write_text(assembly, **as_bytes)
                self.call([*self.assembler, "-c", str(text), "-o", str(object_path)])
            else:
                system = [word for folder in job.system for word in ("-isystem", folder)]
                self.call([*job.command, *system, *target, "-c", "-o", str(object_path)])
            files = read_depfile(depfile.read_text())
            files += [build_sites.__file__] if job.how == "traced" else []
            # A file that changed while the compiler ran may not be what the compiler saw.
            settled = all((self.root / file).stat().st_mtime < started - 0.05 for file in files)
            known = self.name(stem, files) if settled else None
            known = known or self.cache / f"{stem}-{time.time_ns():x}.o"
            written = Path(folder, "files")
            written.write_text("\n".join(files))
            os.replace(object_path, known)
            os.replace(written, manifest)
        return known

    def name(self, stem: str, files: Iterable[str]) -> Path | None:
        """Where the object lies that was made of these files as they are now."""
        try:
            contents = [self._hash(file) for file in files]
        except OSError:
            return None
        return self.cache / f"{stem}-{digest(contents)}.o"

    def _hash(self, file: str) -> str:
        if file not in self._hashes:
            self._hashes[file] = hashlib.sha256((self.root / file).read_bytes()).hexdigest()
        return self._hashes[file]

    def call(self, command: Sequence[str]) -> None:
        """Run one command; its warnings are shown, its failure is a BuildError."""
        done = run(command, cwd=self.root)
        said = (done.stdout + done.stderr).strip()
        if done.returncode:
            raise BuildError(f"gpumem: this command failed:\n{shlex.join(command)}\n{said}")
        if said:
            self.announce(said)

    def link(
        self, driver: Sequence[str], objects: Sequence[Path], libraries: Sequence[str], output: Path
    ) -> None:
        """Link, unless the same has been linked before, and put the result in place at once."""
        linked = self.cache / f"{output.name}-{digest([*driver, *map(str, objects), *libraries])}"
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            made = Path(folder, output.name)
            if not linked.exists():
                listed = Path(folder, "objects")  # there may be more than a command line takes
                listed.write_text("\n".join(shlex.quote(str(path)) for path in objects))
                self.call([*driver, f"@{listed}", *libraries, "-o", str(made)])
                os.replace(made, linked)
            os.utime(linked)
        # A module that is in use must not change under its users: copy beside it, then rename.
        output.parent.mkdir(parents=True, exist_ok=True)
        beside = output.with_name(f".{output.name}.{os.getpid()}")
        shutil.copy2(linked, beside)
        os.replace(beside, output)

    def prune(self) -> None:
        """Forget objects that no build has asked for in a while."""
        oldest = time.time() - KEEP_SECONDS
        for path in self.cache.iterdir():
            try:
                if path.is_file() and path.suffix != ".files" and path.stat().st_mtime < oldest:
                    path.unlink()
            except FileNotFoundError:  # another build was faster
                pass


def digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def read_depfile(text: str) -> list[str]:
    """Files named in a make rule as -MMD writes it, the target left out."""
    words = re.findall(r"(?:\\.|[^\s\\])+", text.replace("\\\n", " ").split(": ", 1)[-1])
    return sorted({re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words})


def job_count(environment: Mapping[str, str] = os.environ) -> int:
    """GPUMEM_JOBS, else the -j of a surrounding make, else the processors this process may use."""
    text = environment.get("GPUMEM_JOBS", "").strip()
    if text and not re.fullmatch(r"[1-9]\d*", text):
        raise BuildError(f"gpumem: GPUMEM_JOBS is {text!r}; it should be a number from 1")
    make = re.search(r"(?:^|\s)-j(\d+)", environment.get("MAKEFLAGS", ""))
    if text or make:
        return int(text or make[1])
    return len(os.sched_getaffinity(0))


# ---- the module -----------------------------------------------------------------------------


def version(root: Path = ROOT) -> str:
    """The project's version, from the one place where it is written."""
    text = (root / "gpumem" / "__init__.py").read_text()
    return re.search(r'^__version__ = "(.+)"', text, re.M)[1]


def numpy_include() -> str:
    spec = importlib.util.find_spec("numpy")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("gpumem: NumPy 2 or later is needed to build")
    include = Path(spec.submodule_search_locations[0], "_core", "include")
    if not include.is_dir():
        raise BuildError(f"gpumem: NumPy 2 or later is needed to build, {include} is not there")
    return str(include)


def jobs_for(
    root: Path, kernels: Sequence[Path], cc: Compiler, cxx: Compiler, toolkit: Toolkit | None
) -> list[Job]:
    """Everything that has to be compiled, what takes longest first."""

    def name(path: Path) -> str:
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    # Only the table and the kernels see the folders of kernels, so that the objects of all other
    # files serve a module with other kernels too.
    common = ["-Icsrc", "-Icsrc/kernels"]
    own = [f"-I{name(folder)}" for folder in kernels if folder != root / "csrc" / "kernels"]
    mapped = f"-ffile-prefix-map={root}=."
    jobs = []

    for path in c_sources(root, kernels, toolkit):
        flags = [*C_FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), mapped]
        flags += ["-DGM_WITH_CUDA=1", "-isystem", str(toolkit.include)] if toolkit else []
        flags += own if path.name == "table.c" or path.parent.parent in kernels else []
        flags += common
        identity, system = cc.identity, []
        if path.parent.name == "python":
            system = [sysconfig.get_path("include"), numpy_include()]
            # pip may build in a folder that is another each time: versions, not paths, count.
            identity += f" {sys.version} {sys.abiflags} {importlib.metadata.version('numpy')}"
            flags += build_facts(root, toolkit)
        if path.name == "fiber.c":
            # Stacks are switched here, which shadow stacks and a fortified longjmp forbid.
            flags += ["-U_FORTIFY_SOURCE"]
            flags += ["-fcf-protection=none"] if cc.machine == "x86_64" else []
        jobs.append(Job(name(path), "c", [*cc.command, *flags, name(path)], identity, system))

    host = [*cxx.command, *HOST_FLAGS, mapped, *own, *common]
    host += [] if cxx.clang else GCC_FLAGS
    traced = [*host, *TRACED_FLAGS, *(TRACED_CLANG_FLAGS if cxx.clang else TRACED_GCC_FLAGS)]
    plain = [*host, *PLAIN_FLAGS, *shlex.split(os.environ.get("CXXFLAGS", ""))]
    nvcc: list[str] = []
    if toolkit:
        nvcc = [str(toolkit.nvcc), *NVCC_FLAGS, *toolkit.code_flags(), *own, *common]
        nvcc += ["-ccbin", cxx.program] if os.environ.get("CXX") else []
    sources = [path for folder in kernels for path in folder.glob("*/*.cu")]
    for path in sorted(sources, key=lambda path: (-path.stat().st_size, path)):
        source = name(path)
        if toolkit:
            command = [*nvcc, *nvcc_options(path), source]
            jobs.append(Job(source, "nvcc", command, f"{toolkit.version} {cxx.identity}"))
        jobs.append(Job(source, "traced", [*traced, source], cxx.identity))
        jobs.append(Job(source, "plain", [*plain, source], cxx.identity))
    return sorted(jobs, key=lambda job: ("nvcc", "traced", "plain", "c").index(job.how))


def nvcc_options(kernel: Path) -> list[str]:
    """What a kernel's header asks of nvcc beside what all have: `` * Build    nvcc OPTION``."""
    return re.findall(r"^ \* Build +nvcc (\S+)", kernel.read_text(encoding="utf-8"), re.MULTILINE)


def c_sources(root: Path, kernels: Sequence[Path], toolkit: Toolkit | None) -> list[Path]:
    """The C files, with either the CUDA backend or its stand-in."""
    paths = []
    for folder in (".", "backend", "sim", "memory", "python"):
        paths += sorted((root / "csrc" / folder).glob("*.c"))
    paths += [path for folder in kernels for path in sorted(folder.glob("*/*.c"))]
    cuda = [path for path in paths if path.parent.name == "backend" and path.match("cuda*.c")]
    absent = [path for path in cuda if path.name == "cuda_absent.c"]
    unwanted = absent if toolkit else [path for path in cuda if path not in absent]
    return [path for path in paths if path not in unwanted]


def build_facts(root: Path, toolkit: Toolkit | None) -> list[str]:
    """What the module tells about its own making."""
    facts = {"GM_VERSION": version(root)}
    if toolkit:
        facts |= {"GM_BUILD_NVCC": toolkit.version, "GM_BUILD_ARCHS": toolkit.describe_archs(",")}
    return [f'-D{name}="{value}"' for name, value in facts.items()]


def build_module(
    kernels_dirs: Path | str | Sequence[Path | str],
    output_path: Path | str,
    work_dir: Path | str,
    cuda: bool | Toolkit | None = False,
    *,
    root: Path = ROOT,
    announce: Callable[[str], None] = print,
) -> Builder:
    """Build a ``_core`` module with the kernels of some folders, as quickly as its cache allows.

    Parameters
    ----------
    kernels_dirs
        Folder or folders that hold ``families.def`` and a folder per family, used instead of
        ``csrc/kernels`` (whose ``device.h`` is still found).
    output_path
        The file to write. To load it: ``importlib.machinery.ExtensionFileLoader``.
    work_dir
        Where objects are kept; may be shared by any number of builds.
    cuda
        A toolkit, or True for the one that the environment asks for.

    Returns
    -------
    The builder; its ``compiled`` lists what had to be compiled this time.
    """
    if sys.platform != "linux":
        raise BuildError(f"gpumem: builds on Linux with GCC or Clang, not on {sys.platform}")
    if isinstance(kernels_dirs, (str, Path)):
        kernels_dirs = [kernels_dirs]
    root = root.resolve()
    kernels = [Path(folder).resolve() for folder in kernels_dirs]
    toolkit = choose_toolkit(announce) if cuda is True else cuda or None
    cc = host_compiler("CC", ("gcc", "cc", "clang"))
    cxx = host_compiler("CXX", ("g++", "c++", "clang++"))
    builder = Builder(root, Path(work_dir).resolve(), cxx.command, announce)
    objects = builder.objects(jobs_for(root, kernels, cc, cxx, toolkit))
    # Kernels are C++ without its library, so C's driver links and libstdc++ stays out.
    driver = [*cc.command, *LINK_FLAGS]
    libraries = [f"-L{folder}" for folder in toolkit.libraries] if toolkit else []
    libraries += ["-lcudart_static", "-ldl", "-lrt"] if toolkit else []
    libraries += ["-lpthread", "-lm", *shlex.split(os.environ.get("LDFLAGS", ""))]
    builder.link(driver, objects, libraries, Path(output_path).absolute())
    builder.prune()
    return builder


def core_path(root: Path = ROOT) -> Path:
    return root / "gpumem" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def main() -> int:
    started = time.monotonic()
    try:
        builder = build_module(ROOT / "csrc/kernels", core_path(), ROOT / "build/cache", cuda=True)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    print(f"gpumem: {len(builder.compiled)} files compiled in {seconds:.1f} s -> {core_path()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
