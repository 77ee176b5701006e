"""Memory runs out anywhere in a call: nothing is kept, and the next call is right."""

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import processes
import pytest

HERE = Path(__file__).resolve().parent

hooks = pytest.mark.skipif(
    importlib.util.find_spec("_testcapi") is None,
    reason="this Python has no hook for failing allocations",
)
# CPython's own loop survives a failing allocation in 3.11 alone: 3.12 and 3.13 lose references and
# crash outside of gpumem. There the calls of the extension module are swept, without Python's code.
survives = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="only CPython 3.11's loop survives failing allocations"
)


def sweep(function):
    processes.run_pytest(HERE / "allocation_sweeps.py", function)


@hooks
@survives
def test_every_family():
    sweep("test_every_family")


@hooks
def test_calls_of_the_extension_module():
    sweep("test_calls_of_the_extension_module")


@hooks
@survives
def test_other_functions():
    sweep("test_other_functions")


def test_memory_of_the_c_code(tmp_path):
    """No allocation of gpumem's own is taken for granted."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("it wraps glibc's malloc")
    library = tmp_path / "malloc.so"
    command = [os.environ.get("CC", "cc"), "-std=c11", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*command, str(HERE / "stand_in/malloc.c"), "-ldl"], check=True)
    done = subprocess.run(
        [sys.executable, str(HERE / "faulty_memory.py")],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"GPUMEM_BACKEND": "sim", "LD_PRELOAD": str(library)},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
