"""Bad arguments of every kind to every public call, made from the signatures: see `bad_calls`.

At least so many cases, by the kind of the value (LEAST): scalars 20000, arrays 3500, views of
device arrays 1000, producers that lie 3000, outputs that overlap an input 200, unknown keywords 50,
texts for options of commands 500.
Nothing in them is random. Each list of calls runs in a process of its own; if it dies, the message
names the case.
"""

import collections
import os
import subprocess
import sys

import bad_arrays
import bad_calls
import bad_commands
import bad_distributed
import bad_modules
import bad_options
import bad_public
import bad_tools
import pytest
from bad_run import WRONG
from processes import HANGS

LEAST = {
    "scalars": 20000,
    "arrays": 3500,
    "device": 1000,
    "producers": 3000,
    "overlaps": 200,
    "keywords": 50,
    "texts": 500,
}
LISTS = {
    ("bad_public", "ON_HOST"): bad_public.ON_HOST,
    ("bad_public", "ON_DEVICE"): bad_public.ON_DEVICE,
    ("bad_arrays", "METHODS"): bad_arrays.METHODS,
    ("bad_arrays", "FUNCTIONS"): bad_arrays.FUNCTIONS,
    ("bad_commands", "CALLS"): bad_commands.CALLS,
    ("bad_modules", "CALLS"): bad_modules.CALLS,
    ("bad_tools", "COUNTING"): bad_tools.COUNTING,
    ("bad_tools", "MEASURING"): bad_tools.MEASURING,
    ("bad_tools", "RESULTS"): bad_tools.RESULTS,
    ("bad_distributed", "CALLS"): bad_distributed.CALLS,
    ("bad_options", "FILTERS"): bad_options.FILTERS,
    ("bad_options", "PLOTS"): bad_options.PLOTS,
    ("bad_options", "BENCHMARKS"): bad_options.BENCHMARKS,
}


def check(module, name, folder=None):
    done = subprocess.run(
        [sys.executable, os.path.join(os.path.dirname(__file__), "bad_run.py"), module, name],
        capture_output=True,
        text=True,
        timeout=10 * HANGS,
        cwd=folder,  # where results of odd names are written
        env=os.environ | {"GPUMEM_BACKEND": "sim", "OPENBLAS_NUM_THREADS": "1"},
    )
    lines = done.stdout.splitlines()
    wrong = [f"{lines[i - 1]}\n{one}" for i, one in enumerate(lines) if one.startswith(WRONG)]
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong[:50])
    ended = f"exit {done.returncode} in {lines[-1:]}\n{done.stderr}"
    assert done.returncode == 0 and lines[-1].startswith("done: "), ended
    cases = sum(1 for call in LISTS[module, name] for _ in bad_calls.cases(call))
    assert lines[-1] == f"done: {cases} cases"


def test_there_are_thousands_of_cases():
    counted = collections.Counter(
        case.group for calls in LISTS.values() for call in calls for case in bad_calls.cases(call)
    )
    assert sum(counted.values()) >= 3000
    for kind, least in LEAST.items():
        assert counted[kind] >= least, (kind, counted)


def test_labels_are_distinct():
    labels = [label for known in bad_calls.GROUPS.values() for label in known]
    assert len(labels) == len(set(labels))


# One function for each list: pytest-xdist runs them side by side.


def test_families_on_the_host():
    check("bad_public", "ON_HOST")


def test_families_on_the_device():
    check("bad_public", "ON_DEVICE")


def test_methods_of_device_arrays():
    check("bad_arrays", "METHODS")


def test_functions_of_arrays():
    check("bad_arrays", "FUNCTIONS")


def test_kernels_of_modules():
    check("bad_modules", "CALLS")


def test_counting_and_explaining():
    check("bad_tools", "COUNTING")


def test_measuring():
    check("bad_tools", "MEASURING")


def test_results(tmp_path):
    check("bad_tools", "RESULTS", tmp_path)


def test_filters_of_results():
    check("bad_options", "FILTERS")


@pytest.mark.exhaustive  # thousands of pictures
def test_options_of_pictures():
    check("bad_options", "PLOTS")


def test_arguments_of_benchmarks():
    check("bad_options", "BENCHMARKS")


def test_distributed():
    done = subprocess.run([sys.executable, "-c", "import mpi4py.MPI"], capture_output=True)
    if done.returncode:
        pytest.skip("mpi4py is not installed with an MPI library (pip install mpi4py mpich)")
    check("bad_distributed", "CALLS")


def test_options_of_commands(tmp_path):
    check("bad_commands", "CALLS", tmp_path)
