"""The CUDA backend without a GPU, on the CUDA runtime of tests/fake_cuda."""

from pathlib import Path

import pytest
from building import build_fake_cuda, find_cuda_headers
from processes import python

PROGRAMS = Path(__file__).parent / "fake_cuda"


@pytest.fixture(scope="module")
def run():
    """Run a program of tests/fake_cuda, and return what it prints."""
    toolkit = find_cuda_headers()
    if isinstance(toolkit, str):
        pytest.skip(toolkit)
    path = str(build_fake_cuda(toolkit))

    def run(name, **environment):
        code = (PROGRAMS / f"{name}.py").read_text()
        return python(code, backend="cuda", FAKE_CUDA=path, **environment)

    return run


def test_families(run):
    """Every variant gives the right result, however late the device runs its work."""
    assert int(run("families")) > 300


def test_failing_calls(run):
    """Calls of the runtime that fail raise the right exception, leak nothing and leave no error."""
    assert int(run("faults", FAKE_COLD="")) > 1000


def test_failing_calls_at_first(run):
    """The same of the calls with which a process begins to use a device."""
    assert int(run("faults", FAKE_COLD="1")) > 200


@pytest.mark.parametrize("pool", ["", "1"])
def test_streams(run, pool):
    """Other libraries' arrays and streams, our own streams, transfers of all kinds, and pools."""
    counts = run("streams", FAKE_NO_POOL=pool).split("\n")
    assert len(set(filter(None, counts))) == 1  # nothing is left that was not kept the first time


@pytest.mark.parametrize("pool", ["", "1"])
def test_two_devices(run, pool):
    counts = run("devices", FAKE_NO_POOL=pool).split("\n")
    assert len(set(filter(None, counts))) == 1
