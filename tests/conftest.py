"""What all tests share: the backends, the GPU marker, and the probe kernels."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gpumem import _core

# Tables are as wide as they like, whatever terminal the tests are run in.
os.environ["COLUMNS"] = "100"

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def why_no_gpu() -> str | None:
    info = _core.backend_info("cuda")
    return None if info["available"] else info["reason"]


def pytest_collection_modifyitems(items):
    reason = why_no_gpu()
    if reason is not None:
        skip = pytest.mark.skip(reason=f"needs a GPU: {reason}")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(skip)


@pytest.fixture(params=["sim", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request):
    """Each backend that is here."""
    return request.param


@pytest.fixture
def rng():
    """Fresh random numbers each time; a failing test prints the seed."""
    seed = np.random.SeedSequence().entropy
    print(f"seed: {seed}")
    return np.random.default_rng(seed)


@functools.cache
def build_probes(name: str = "probes"):
    """The module once more, with the kernels of tests/probes for a table.

    The compilers are those of the environment; name tells builds of several apart.
    """
    specification = importlib.util.spec_from_file_location("gpumem_build", ROOT / "csrc/build.py")
    build = importlib.util.module_from_spec(specification)
    sys.modules["gpumem_build"] = build
    specification.loader.exec_module(build)

    path = ROOT / "build" / name / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    path.parent.mkdir(parents=True, exist_ok=True)
    build.build_module(ROOT / "tests/probes", path, ROOT / "build/cache", cuda=False)
    loader = importlib.machinery.ExtensionFileLoader(f"gpumem_{name}._core", str(path))
    module = importlib.util.module_from_spec(
        importlib.machinery.ModuleSpec(f"gpumem_{name}._core", loader, origin=str(path))
    )
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def probes():
    """Tiny kernels with known traffic and known faults, on their own copy of the simulator."""
    return build_probes()
