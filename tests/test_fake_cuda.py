"""The CUDA backend without a GPU, on the CUDA runtime of tests/fake_cuda."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import build_fake_cuda, find_cuda_headers
from exchange_api_cases import make_library
from processes import python

PROGRAMS = Path(__file__).parent / "fake_cuda"


# Tests of a GPU that the fake device runs too, and those among them that it cannot: they take more
# memory, tensor cores, clusters or libraries, or start processes without it.
FILES = """
access add array_like astype chase copy device_array device_assign device_elements device_repr
empty_elements gather histogram layout matmul_stacks memory out_of_core permute prefetch reduce
refusals scan scatter_add spaces stream stream_context strided_out strided_read strided_write
subclasses threads transfer transpose copy_sizes device_lifetime device_to_host layout_refusals
polynomial transpose_grids out_of_core_ends strided_threads
"""
BEYOND = """
31_bits 32_bits 2_31 2_32 more_points_than more_elements_than_an_int_counts tf32x3 cublas geam
remote_shared launch_bounds_spill exit_with_live forked
"""


@pytest.fixture(scope="module")
def path():
    """The module that uses the fake device."""
    toolkit = find_cuda_headers()
    if isinstance(toolkit, str):
        pytest.skip(toolkit)
    return str(build_fake_cuda(toolkit))


@pytest.fixture
def run(path):
    """Run a program of tests/fake_cuda, and return what it prints."""

    def run(name, **environment):
        code = (PROGRAMS / f"{name}.py").read_text()
        return python(code, backend="cuda", FAKE_CUDA=path, **environment)

    return run


def test_families(run):
    """Every variant gives the right result, however late the device runs its work."""
    assert int(run("families")) > 300


@pytest.mark.parametrize(
    ("families", "most"), [("prefetch_sum", 2), ("scan sgemm transpose", 100)], ids=lambda v: str(v)
)
def test_grids_of_few_blocks(run, families, most):
    """What there are too many of is done by the blocks that there are, or refused."""
    right, refused = run("small_grids", FAMILIES=families, MOST_BLOCKS=str(most)).split()
    assert int(right) > 500 and (int(refused) > 0) == ("transpose" in families)


def test_bands_of_tall_matrices(run):
    """Of a matrix as wide as two tiles, the column that is larger by a row is cut."""
    assert run("bands").split() == ["False", "True"]


def test_failing_calls(run):
    """Calls of the runtime that fail raise the right exception, leak nothing and leave no error."""
    assert int(run("faults", FAKE_COLD="")) > 1000


@pytest.mark.exhaustive
def test_two_failing_calls(run):
    """The same where the call that is to make up for the first failure fails as well."""
    assert int(run("faults", FAKE_COLD="", FAKE_TWICE="1")) > 5000


def test_failing_calls_at_first(run):
    """The same of the calls with which a process begins to use a device."""
    assert int(run("faults", FAKE_COLD="1")) > 200


def test_a_full_device(run, tmp_path):
    """Everything that finds no memory says so, and what comes after it works."""
    library = tmp_path / "libcublas.so.13"
    source = PROGRAMS.parent / "stand_in/cublas.c"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    counts = run("full", FAKE_CUBLAS=str(library), LD_LIBRARY_PATH=str(tmp_path)).split()
    steps, ran_out = map(int, counts)
    assert steps == 600 and 20 < ran_out < 500


@pytest.mark.parametrize(
    ("archs", "loads_all"),
    [
        ("90a", True),
        ("80+PTX,90a,100", True),
        ("90+PTX", True),
        ("80+PTX,100,120", False),
        ("100a", False),
    ],
)
def test_kernels_are_loaded_at_the_first_launch(run, archs, loads_all):
    """Unless the driver has to compile them for this device, whose capability is 9.0."""
    calls = int(run("loading", ARCHS=archs))
    assert calls > 150 if loads_all else calls < 20


def test_how_large_clusters_are_is_asked_once(run):
    assert int(run("clusters", FAKE_CLUSTERS="1")) == 4


@pytest.mark.parametrize("pool", ["", "1"])
def test_streams(run, pool):
    """Other libraries' arrays and streams, our own streams, transfers of all kinds, and pools."""
    counts = run("streams", FAKE_NO_POOL=pool).split("\n")
    assert len(set(filter(None, counts))) == 1  # nothing is left that was not kept the first time


@pytest.mark.parametrize(("devices", "spared"), [("1", "1 1"), ("2", "0 0")])
def test_whose_memory_it_is_is_asked_once(run, devices, spared):
    """For an address, unless it may be another device's by now; the host's memory is refused."""
    assert run("adopted", FAKE_DEVICES=devices).split("\n")[0] == spared


@pytest.mark.parametrize("devices", ["1", "2"])
def test_arrays_that_come_again(run, tmp_path_factory, devices):
    """An array of another library is what it says in this call, whatever was at its address."""
    producer = make_library(tmp_path_factory).__file__
    assert int(run("spares", FAKE_DEVICES=devices, PRODUCER=producer)) > 1000


@pytest.mark.parametrize("pool", ["", "1"])
def test_two_devices(run, pool):
    counts = run("devices", FAKE_NO_POOL=pool).split("\n")
    assert len(set(filter(None, counts))) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", FILES.split())
def test_what_a_gpu_is_tested_with(path, file):
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own |= {"FAKE_CUDA": path, "PYTHONPATH": str(PROGRAMS.parent)}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "fake_device", "-p", "no:xdist"]
    words += ["-p", "no:cacheprovider", "-m", "gpu and not exhaustive"]
    words += ["-k", f"not ({' or '.join(BEYOND.split())})", f"{PROGRAMS.parent}/test_{file}.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, env=own)
    assert done.returncode == 0, done.stdout
