"""Builds ``gpumem._core`` from C files, kernels and, where there is one, nvcc.

Every kernel file ``csrc/kernels/FAMILY/VARIANT.cu`` is compiled up to three times: *plain* by the
host's C++ compiler, for results on the simulator; *traced* by the same compiler, which reports
every access, for ``gpumem.traffic`` (see build_sites.py); and by nvcc (see build_toolchain.py).
A cache holds the objects (see build_cache.py): only what changed is compiled again.

``python csrc/build.py`` builds the module in place, beside ``gpumem/__init__.py``. setup.py and
the tests load this file by its path and call `build_module`. It needs only the standard library
and the headers of Python and NumPy.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "csrc") not in sys.path:
    sys.path.append(str(ROOT / "csrc"))  # needed if this file is loaded by its path

import build_sanitizers  # noqa: E402
from build_cache import Builder, Job  # noqa: E402
from build_flags import (  # noqa: E402
    C_FLAGS,
    GCC_FLAGS,
    HOST_FLAGS,
    LINK_FLAGS,
    NVCC_FLAGS,
    OWN_TRACED_CLANG_FLAGS,
    OWN_TRACED_GCC_FLAGS,
    PLAIN_FLAGS,
    TRACED_CLANG_FLAGS,
    TRACED_FLAGS,
    TRACED_GCC_FLAGS,
)
from build_toolchain import (  # noqa: E402
    BuildError,
    Compiler,
    Toolkit,
    choose_toolkit,
    host_compiler,
    words,
)

# ---- the module -----------------------------------------------------------------------------


def version(root: Path = ROOT) -> str:
    """The project's version, read from gpumem/base/version.py."""
    text = (root / "gpumem" / "base" / "version.py").read_text()
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
    """All compile jobs, the slowest first."""

    def name(path: Path) -> str:
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    # Only the table and the kernels get the kernel folders as include paths. All other objects can
    # then be reused for a module with other kernels.
    common = ["-Icsrc", "-Icsrc/kernels", "-Ithird_party"]
    own = [f"-I{name(folder)}" for folder in kernels if folder != root / "csrc" / "kernels"]
    mapped = f"-ffile-prefix-map={root}=."
    sanitizers = build_sanitizers.chosen(cc)
    jobs = []

    for path in c_sources(root, kernels, toolkit):
        flags = [*C_FLAGS, *build_sanitizers.c_flags(sanitizers, name(path))]
        flags += [*words("CFLAGS"), mapped]
        flags += ["-DGM_WITH_CUDA=1", "-isystem", str(toolkit.include)] if toolkit else []
        flags += own if path.name == "table.c" or path.parent.parent in kernels else []
        if path.name == "table.c" and (more := unlisted_families(kernels)):
            flags.append(f"-DGM_MORE_FAMILIES={' '.join(f'FAMILY({one})' for one in more)}")
        flags += common
        identity, system = cc.identity, []
        if path.parent.name == "python":
            system = [sysconfig.get_path("include"), numpy_include()]
            # pip may build in a new folder each time, so the cache key has versions, not paths.
            identity += f" {sys.version} {sys.abiflags} {importlib.metadata.version('numpy')}"
            flags += build_facts(root, toolkit)
        if path.name == "fiber.c":
            # This file switches stacks, which shadow stacks and a fortified longjmp reject.
            flags += ["-U_FORTIFY_SOURCE"]
            flags += ["-fcf-protection=none"] if cc.machine == "x86_64" else []
        jobs.append(Job(name(path), "c", [*cc.command, *flags, name(path)], identity, system))

    host = [*cxx.command, *HOST_FLAGS, mapped, *own, *common]
    host += [] if cxx.clang else GCC_FLAGS
    traced = [*host, *TRACED_FLAGS]
    traced += OWN_TRACED_CLANG_FLAGS if cxx.clang else OWN_TRACED_GCC_FLAGS
    traced += TRACED_CLANG_FLAGS if cxx.clang else TRACED_GCC_FLAGS
    plain = [*host, *PLAIN_FLAGS, *build_sanitizers.plain_flags(sanitizers), *words("CXXFLAGS")]
    nvcc: list[str] = []
    if toolkit:
        nvcc = [str(toolkit.nvcc), *NVCC_FLAGS, *toolkit.code_flags(), *own, *common]
        nvcc += ["-ccbin", cxx.program] if os.environ.get("CXX") else []
    sources = [path for folder in kernels for path in folder.glob("*/*.cu")]
    for path in sorted(sources, key=lambda path: (-path.stat().st_size, path)):
        source = name(path)
        if toolkit:
            command = [*nvcc, *options_of(path, "nvcc"), source]
            jobs.append(Job(source, "nvcc", command, f"{toolkit.version} {cxx.identity}"))
        jobs.append(Job(source, "traced", [*traced, source], cxx.identity))
        command = [*plain, *options_of(path, "plain"), source]
        jobs.append(Job(source, "plain", command, cxx.identity))
    return sorted(jobs, key=lambda job: ("nvcc", "traced", "plain", "c").index(job.how))


def unlisted_families(kernels: Sequence[Path]) -> list[str]:
    """Families with a ladder.def that are not in families.def; they come after the listed ones."""
    lists = [folder / "families.def" for folder in kernels]
    text = "".join(path.read_text(encoding="utf-8") for path in lists if path.exists())
    listed = re.findall(r"^FAMILY\((\w+)\)", text, re.MULTILINE)
    ladders = [path for folder in kernels for path in folder.glob("*/ladder.def")]
    return sorted({path.parent.name for path in ladders} - set(listed))


def options_of(kernel: Path, how: str) -> list[str]:
    """Compiler options from the headers of a kernel and its family: `` * Build    nvcc -O1``."""
    family = kernel.parent / f"{kernel.parent.name}.h"
    texts = [path.read_text(encoding="utf-8") for path in (family, kernel) if path.exists()]
    return re.findall(rf"^ \* Build +{how} (\S+)", "".join(texts), re.MULTILINE)


def c_sources(root: Path, kernels: Sequence[Path], toolkit: Toolkit | None) -> list[Path]:
    """The C files, with either the CUDA backend or cuda_absent.c."""
    paths = []
    for folder in (".", "call", "backend", "sim", "sim/observers", "memory", "python"):
        paths += sorted((root / "csrc" / folder).glob("*.c"))
    paths += [path for folder in kernels for path in sorted(folder.glob("*/*.c"))]
    cuda = [path for path in paths if path.parent.name == "backend" and path.match("cuda*.c")]
    absent = [path for path in cuda if path.name == "cuda_absent.c"]
    unwanted = absent if toolkit else [path for path in cuda if path not in absent]
    return [path for path in paths if path not in unwanted]


def build_facts(root: Path, toolkit: Toolkit | None) -> list[str]:
    """Macros with the version, nvcc and targets that the module reports."""
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
    progress: Callable[[int, int], None] | None = None,
) -> Builder:
    """Build a ``_core`` module with the kernels of some folders; reuse cached objects.

    Parameters
    ----------
    kernels_dirs
        Folder or folders with ``families.def`` and a folder per family, used instead of
        ``csrc/kernels`` (whose ``device.h`` stays on the include path).
    output_path
        The file to write. ``importlib.machinery.ExtensionFileLoader`` loads it.
    work_dir
        Folder of the object cache; any number of builds may share it.
    cuda
        A toolkit, or True for the one that the environment selects; otherwise no CUDA.
    announce
        Called with each line of output for the user.
    progress
        Called with the number of finished objects and their total number; by default a line is
        announced from time to time.

    Returns
    -------
    The builder; its ``compiled`` lists the files that this build compiled.
    """
    if sys.platform != "linux":
        raise BuildError(f"gpumem: builds on Linux with GCC or Clang, not on {sys.platform}")
    if isinstance(kernels_dirs, (str, Path)):
        kernels_dirs = [kernels_dirs]
    root = root.resolve()
    kernels = [Path(folder).resolve() for folder in kernels_dirs]
    toolkit = choose_toolkit(announce) if cuda is True else cuda or None
    cc = host_compiler("CC")
    cxx = host_compiler("CXX")
    # Kernels use no C++ library: linking with the C driver avoids a dependency on libstdc++.
    driver = [*cc.command, *LINK_FLAGS]
    libraries = [f"-L{folder}" for folder in toolkit.libraries] if toolkit else []
    libraries += ["-lcudart_static", "-ldl", "-lrt"] if toolkit else []
    sanitizers = build_sanitizers.chosen(cc)
    libraries += build_sanitizers.link_flags(sanitizers)
    libraries += ["-lpthread", "-lm", *words("LDFLAGS")]
    progress = progress or Progress(announce)
    builder = Builder(root, Path(work_dir).resolve(), cxx.command, announce, progress)
    jobs = jobs_for(root, kernels, cc, cxx, toolkit)
    objects = builder.objects(jobs)
    if sanitizers:
        objects = build_sanitizers.rename_hooks(builder, jobs, objects)
    builder.link(driver, objects, libraries, Path(output_path).absolute())
    builder.prune()
    return builder


class Progress:
    """Reports progress: one line that counts up on a terminal, otherwise a line every 5 seconds."""

    SECONDS = 5  # between lines

    def __init__(self, announce: Callable[[str], None]) -> None:
        self.announce = announce
        self.terminal = announce is print and sys.stdout.isatty()
        self.next = time.monotonic() + (0 if self.terminal else self.SECONDS)

    def __call__(self, done: int, of: int) -> None:
        text = f"gpumem: {done} of {of} objects"
        if self.terminal:
            print(text, end="\n" if done == of else "\r", flush=True)
        elif time.monotonic() >= self.next:
            self.announce(text)
            self.next = time.monotonic() + self.SECONDS


def core_path(root: Path = ROOT) -> Path:
    return root / "gpumem" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def write_compile_commands(path: str) -> None:
    """Write how the C files are compiled, for clang-tidy and editors."""
    compilers = host_compiler("CC"), host_compiler("CXX")
    jobs = jobs_for(ROOT, [ROOT / "csrc/kernels"], *compilers, choose_toolkit(print))
    commands = [
        {
            "directory": str(ROOT),
            "file": job.source,
            "arguments": [*job.command, *(w for path in job.system for w in ("-isystem", path))],
        }
        for job in jobs
        if job.how == "c"
    ]
    Path(path).write_text(json.dumps(commands, indent=1) + "\n")


def main() -> int:
    """Build in place, or write compile_commands.json; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile-commands", metavar="FILE", help="write them; build nothing")
    words = parser.parse_args()
    if not sys.stdout.isatty():
        sys.stdout.reconfigure(line_buffering=True)
    started = time.monotonic()
    try:
        if words.compile_commands:
            write_compile_commands(words.compile_commands)
            return 0
        builder = build_module(ROOT / "csrc/kernels", core_path(), ROOT / "build/cache", cuda=True)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    print(f"gpumem: {len(builder.compiled)} files compiled in {seconds:.1f} s -> {core_path()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
