"""Builds of the extension module that tests make."""

import contextlib
import dataclasses
import fcntl
import functools
import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def build_tools():
    """csrc/build.py, loaded by its path."""
    specification = importlib.util.spec_from_file_location("gpumem_build", ROOT / "csrc/build.py")
    build = importlib.util.module_from_spec(specification)
    sys.modules["gpumem_build"] = build
    specification.loader.exec_module(build)
    return build


@contextlib.contextmanager
def path_of(name):
    """Where the build of this name goes; the first of several workers that asks gets it first."""
    path = ROOT / "build" / name / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name("lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        yield path


def load(name, path):
    """Load an extension module under this name."""
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    module = importlib.util.module_from_spec(
        importlib.machinery.ModuleSpec(name, loader, origin=str(path))
    )
    loader.exec_module(module)
    return module


@functools.cache
def build_probes(name: str = "probes"):
    """The module once more, with the kernels of tests/probes for a table.

    The compilers are those of the environment; name tells builds of several apart. The first of
    several workers builds, the others find its objects in the cache.
    """
    with path_of(name) as path:
        build_tools().build_module(ROOT / "tests/probes", path, ROOT / "build/cache", cuda=False)
    return load(f"gpumem_{name}._core", path)


def find_cuda_headers():
    """The CUDA toolkit whose headers a build with the CUDA backend needs, or why there is none."""
    tools = build_tools()
    import build_toolchain as toolchain  # build.py has put its folder on the path

    try:
        found = toolchain.find_toolkit()
    except tools.BuildError as error:
        return str(error)
    if isinstance(found, str):
        return found
    text = (found.include / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
    version = int(re.search(r"^#define CUDART_VERSION +(\d+)", text, re.M)[1])
    if version < 13000:
        return f"the CUDA headers in {found.include} are older than CUDA 13"
    return found


def jobs_on_fake_cuda(toolkit):
    """All compile jobs; those of files that do not see CUDA are the ones of a build without it."""
    tools, kernels = build_tools(), [ROOT / "csrc/kernels"]
    compilers = tools.host_compiler("CC"), tools.host_compiler("CXX")
    jobs = {
        (job.source, job.how): job for job in tools.jobs_for(ROOT, kernels, *compilers, toolkit)
    }
    seen = re.compile(r"GM_WITH_CUDA|GM_BUILD_|cuda_internal\.h|<cuda|\"family\.h\"")
    for job in tools.jobs_for(ROOT, kernels, *compilers, None):
        if (job.source, job.how) in jobs and not seen.search((ROOT / job.source).read_text()):
            jobs[job.source, job.how] = job
    like = jobs["csrc/backend/cuda.c", "c"]
    for path in sorted((ROOT / "tests/fake_cuda").glob("*.c")):
        name = str(path.relative_to(ROOT))
        jobs[name, "c"] = tools.Job(name, "c", [*like.command[:-1], name], like.identity)
    return [job for job in jobs.values() if job.how != "nvcc"]


@functools.cache
def build_fake_cuda(toolkit):
    """The path of the module with the CUDA backend, on the CUDA runtime of tests/fake_cuda.

    No nvcc runs: the name of each kernel's host stub becomes that of its plain kernel.
    """
    tools = build_tools()
    cc, cxx = tools.host_compiler("CC"), tools.host_compiler("CXX")
    jobs = jobs_on_fake_cuda(dataclasses.replace(toolkit, archs=("90a",)))
    with path_of("fake_cuda") as path:
        builder = tools.Builder(ROOT, ROOT / "build/cache", cxx.command)
        objects = builder.objects(jobs)
        plain = [made for job, made in zip(jobs, objects, strict=True) if job.how == "plain"]
        listed = subprocess.run(
            ["nm", "--defined-only", "-P", *plain], capture_output=True, text=True, check=True
        )
        stubs = re.findall(r"^gm_plain_(\w+) T", listed.stdout, re.M)
        aliases = [f"-Wl,--defsym={stub}=gm_plain_{stub}" for stub in stubs]
        libraries = ["-lpthread", "-lm", "-ldl", *aliases, *tools.words("LDFLAGS")]
        builder.link([*cc.command, *tools.LINK_FLAGS], objects, libraries, path)
    return path
