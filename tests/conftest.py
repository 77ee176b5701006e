"""What all tests share: the backends, what is left out, workers, and the probe kernels."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from building import build_probes

from gpumem import _core

# Tables are as wide as they like, whatever terminal the tests are run in.
os.environ["COLUMNS"] = "100"

ROOT = Path(__file__).resolve().parent.parent
MOST_WORKERS = 8  # each of them collects all tests before it runs its share
LEFT_OUT = pytest.StashKey[dict[str, int]]()


# ---- tests that need a GPU --------------------------------------------------------------------


# A shell has what it runs in the background ignore Ctrl-C, and whatever that starts would too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def why_no_gpu() -> str | None:
    info = _core.backend_info("cuda")
    return None if info["available"] else info["reason"]


def pytest_configure(config):
    config.stash[LEFT_OUT] = {}


@pytest.hookimpl(trylast=True)  # after -k and -m: only what was asked for is counted
def pytest_collection_modifyitems(config, items):
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and why_no_gpu() is not None:
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=on_gpu)
        config.stash[LEFT_OUT][why_no_gpu()] = len(on_gpu)


def pytest_collection_finish():
    """What tests are made of stays: tests that count what is freed need not look through it."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter, config):
    for reason, count in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"{count} tests need a GPU and were left out: {reason}")


# ---- workers of pytest-xdist, where it is installed -------------------------------------------

# Files whose tests share what is made once for the file; and kernels of notebooks choose their
# ports before they take them, so that of two that start at once both may choose the same.
TOGETHER = ("tests/python/test_explain.py", "tests/python/test_plot.py", "tests/test_notebooks.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """What -n auto means: the processors that this process may use; one where there is a GPU, over
    whose memory several would fight."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS) if why_no_gpu() else 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share out whole functions with all their parameters, or whole files."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file in TOGETHER else nodeid.partition("[")[0]

    return Scheduling(config, log)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Workers collect the same tests, and leave the same ones out."""
    found = getattr(node, "workeroutput", {}).get("left_out")
    if found is not None:
        node.config.stash[LEFT_OUT] = found


# ---- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def close_figures():
    """A figure that a test leaves open is not the next one's."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


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


@pytest.fixture(scope="session")
def probes():
    """Tiny kernels with known traffic and known faults, on their own copy of the simulator."""
    return build_probes()
