"""Shared by all tests: the backends, deselected GPU tests, xdist workers and probe kernels."""

from __future__ import annotations

import fcntl
import functools
import gc
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from building import build_probes

from gpumem import _core, cli, pool_trim

# Tables have the same width in every terminal.
os.environ["COLUMNS"] = "100"

ROOT = Path(__file__).resolve().parent.parent
# Modules of kernels are compiled into the checkout, not into the user's cache; runs share them.
os.environ.setdefault("GPUMEM_CACHE_DIR", str(ROOT / "build"))
# Where Python is told to leave no bytecode beside its sources, build/ keeps it: otherwise each of
# the hundreds of interpreters that tests start compiles gpumem anew, and each worker the tests.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "pycache"))
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"]
    sys.dont_write_bytecode = False
MOST_WORKERS = 8  # each worker collects all tests before it runs its share
# Bytes of a GPU's memory: what a worker may take, and a test that says that it takes gigabytes.
FOR_WORKER, FOR_GIGABYTES = 2**34, 5 * 2**33
LEFT_OUT = pytest.StashKey[dict[str, int]]()


# ---- tests that need a GPU --------------------------------------------------------------------


# A shell makes background processes ignore SIGINT, and their children inherit that. Tests that
# interrupt a call need the default handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def why_no_gpu() -> str | None:
    """Return why there is no usable GPU, or None if there is one."""
    info = _core.backend_info("cuda")
    return None if info["available"] else info["reason"]


def shares_of_gpu(nbytes: int) -> int:
    """Return how many tests find so many bytes of the smallest GPU's memory at once, at least 1."""
    devices = _core.backend_info("cuda")["devices"]
    return max(min(device["memory_bytes"] for device in devices) // nbytes, 1)


def pytest_addoption(parser):
    parser.addoption(
        "--one-in",
        type=int,
        default=1,
        metavar="N",
        help="run one in N tests, other ones for each commit: in N commits each about once",
    )


def pytest_configure(config):
    config.stash[LEFT_OUT] = {}


@functools.cache
def commit() -> str:
    """Return the commit of the checkout, "" where there is none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def is_chosen(name: str, one_in: int) -> bool:
    """Return whether a test is among the one in so many that run for this commit."""
    return zlib.crc32(f"{commit()} {name}".encode()) % one_in == 0


@pytest.hookimpl(trylast=True)  # after -k and -m: count only selected tests
def pytest_collection_modifyitems(config, items):
    one_in = config.getoption("one_in")
    if one_in < 1:
        raise pytest.UsageError(f"--one-in is {one_in}, it should be 1 or more")
    left = [item for item in items if not is_chosen(item.nodeid, one_in)]
    if left:
        items[:] = [item for item in items if is_chosen(item.nodeid, one_in)]
        config.hook.pytest_deselected(items=left)
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and why_no_gpu() is not None:
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=on_gpu)
        config.stash[LEFT_OUT][why_no_gpu()] = len(on_gpu)


def freeze():
    """Freeze all objects that exist: gc.collect() in tests that count freed ones is then fast."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish():
    freeze()


def pytest_terminal_summary(terminalreporter, config):
    for reason, count in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"{count} tests need a GPU and were left out: {reason}")


# ---- workers of pytest-xdist, where it is installed -------------------------------------------

# How the names of files begin that run in one worker each. The tests of the first three share
# results, those in folders the modules of kernels that they compile. Kernels of notebooks choose a
# free port before they bind it, so two that start at once can collide.
TOGETHER = (
    "tests/python/test_explain.py",
    "tests/python/test_plot.py",
    "tests/test_measure_sweeps.py",
    "tests/cuda_c/",
    "tests/dialect/",
    "tests/modules/",
    "tests/test_notebooks.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """The meaning of -n auto: one worker per available processor, up to MOST_WORKERS.

    With a GPU there are no more than find room in its memory.
    """
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    workers = min(len(os.sched_getaffinity(0)), MOST_WORKERS)
    return workers if why_no_gpu() else min(workers, shares_of_gpu(FOR_WORKER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute test functions with all their parameters; files in TOGETHER as a whole."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file.startswith(TOGETHER) else nodeid.partition("[")[0]

        def remove_node(self, node):
            """Give the rest of a worker's tests to others, without the one that crashed it.

            The method of xdist repeats that one, in every worker that it then starts.
            """
            units = self.assigned_work.pop(node)
            left = [(tests, name) for tests in units.values() for name in tests if not tests[name]]
            if not left:
                return None
            tests, crashed = left[0]
            tests[crashed] = True
            for scope, tests in units.items():
                if not all(tests.values()):
                    self.workqueue[scope] = tests
            for other in self.assigned_work:
                self._reschedule(other)
            return crashed

    return Scheduling(config, log)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take the counts of any worker: all workers collect and deselect the same tests."""
    found = getattr(node, "workeroutput", {}).get("left_out")
    if found is not None:
        node.config.stash[LEFT_OUT] = found


# ---- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test leaves open, so that the next test starts with none."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(params=["sim", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request):
    """Each available backend."""
    return request.param


@pytest.fixture
def gigabytes(request):
    """Wait until other workers leave enough of the GPU's memory, and return all of it afterwards.

    Where many workers had filled an H200, tests of managed memory failed, too: an illegal access.
    """
    if request.node.get_closest_marker("gpu") is None:
        yield
        return
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    turn = ROOT / "build" / f"gigabytes-{worker % shares_of_gpu(FOR_GIGABYTES)}"
    turn.parent.mkdir(exist_ok=True)
    with turn.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        gc.collect()
        pool_trim(backend="cuda")


@pytest.fixture(scope="module")
def frozen():
    """Freeze what earlier tests left, for tests that often collect garbage."""
    freeze()


@pytest.fixture
def rng():
    """Fresh random numbers each time; a failing test prints the seed."""
    seed = np.random.SeedSequence().entropy
    print(f"seed: {seed}")
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def probes():
    """Small kernels with known traffic and known faults, built with their own simulator."""
    return build_probes()


# ---- the command line -------------------------------------------------------------------------


@pytest.fixture
def run(capsys):
    """Run a command of gpumem; return its exit status, stdout and stderr."""

    def call(*words):
        status = cli.main([str(word) for word in words])
        return status, *capsys.readouterr()

    return call
