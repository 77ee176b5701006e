"""Builds of the extension module that tests make."""

import fcntl
import functools
import importlib.machinery
import importlib.util
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def build_probes(name: str = "probes"):
    """The module once more, with the kernels of tests/probes for a table.

    The compilers are those of the environment; name tells builds of several apart. The first of
    several workers builds, the others find its objects in the cache.
    """
    specification = importlib.util.spec_from_file_location("gpumem_build", ROOT / "csrc/build.py")
    build = importlib.util.module_from_spec(specification)
    sys.modules["gpumem_build"] = build
    specification.loader.exec_module(build)

    path = ROOT / "build" / name / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name("lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        build.build_module(ROOT / "tests/probes", path, ROOT / "build/cache", cuda=False)
    loader = importlib.machinery.ExtensionFileLoader(f"gpumem_{name}._core", str(path))
    module = importlib.util.module_from_spec(
        importlib.machinery.ModuleSpec(f"gpumem_{name}._core", loader, origin=str(path))
    )
    loader.exec_module(module)
    return module
