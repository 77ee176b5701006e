"""What the processor stops in a kernel is an error; the process goes on."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from building import ROOT
from loading import load

import gpumem as gm

FAR = 1 << 40  # no address that the system gives out
OVERFLOW = r"stack overflow: more than \d+ KiB of local variables and calls"
plain_and_traced = pytest.mark.parametrize("plain", [False, True], ids=["traced", "plain"])


@pytest.fixture
def stops(probes):
    """Check the error of a variant, and that the next call works."""

    def check(variant, a, thread, message, offset=0, stride=4, plain=True):
        with pytest.raises(probes.SimulationError, match=message) as caught:
            if plain:
                probes.call("survival", variant, (a,), None, None, None, (offset, stride))
            else:
                probes.traffic("survival", variant, (a,), (offset, stride))
        error = caught.value
        assert error.kernel == f"survival_{variant}"
        if thread is not None:
            assert (error.block, error.thread) == ((thread // 64, 0, 0), (thread % 64, 0, 0))
        ones = np.ones(100, np.float32)
        result = probes.call("survival", "division", (ones,), None, None, None, (0, 0))
        assert np.array_equal(result, 1000 * ones)
        return error

    return check


@plain_and_traced
def test_division_by_zero(stops, plain):
    a = np.ones(200, np.float32)
    a[[100, 150]] = 0
    error = stops("division", a, 100, "integer division by zero", plain=plain)
    if not plain:
        assert error.file == "tests/probes/survival/division.cu"


@plain_and_traced
def test_stack_overflow(stops, plain):
    # Every thread does so; traced threads take turns, and any may be the first.
    thread = 0 if plain else None
    stops("deep", np.zeros(64, np.float32), thread, OVERFLOW, offset=1, plain=plain)


@plain_and_traced
def test_recursion_1000_deep(probes, plain):
    a = np.ones(256, np.float32)
    if plain:
        result = probes.call("survival", "deep", (a,), None, None, None, (1000, 0))
    else:
        result = probes.traffic("survival", "deep", (a,), (1000, 0))["result"]
    assert np.array_equal(result, 500500 * a)


@plain_and_traced
def test_null_function_pointer(stops, plain):
    a = np.zeros(64, np.float32)
    a[40] = 1
    error = stops("null_function", a, 40, "a call of a null function pointer", plain=plain)
    if not plain:
        assert error.file == "tests/probes/survival/null_function.cu"


@plain_and_traced
def test_trap(stops, plain):
    a = np.zeros(64, np.float32)
    a[40] = 1
    stops("trap", a, 40, "a trap", plain=plain)


def test_address_without_memory(stops):
    a = np.zeros(64, np.float32)
    a[40] = 1
    stops("wild", a, 40, "an access at address 0x10000000000, where there is no", offset=FAR)
    stops("wild", a, 40, "an access at address 8, a null pointer", offset=8)
    stops("wild", a, 40, "an access to an invalid or misaligned address", offset=1 << 62)


def test_fault_in_a_function_of_the_host(stops):
    a = np.zeros(64, np.float32)
    a[40] = 1
    stops("in_a_copy", a, 40, "an access at address 0x1", offset=FAR, stride=4096)


def test_every_host_thread_survives(stops):
    a = np.zeros(1 << 18, np.float32)
    for _ in range(10):
        stops("division", a, 0, "integer division by zero")


def run_python(text):
    """Run a script in a process of its own, with the probes; return its result."""
    script = f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n{text}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False
    )


CALL = """
import faulthandler, os, signal
import numpy as np
from building import build_probes
probes = build_probes()
def call():
    try:
        probes.call("survival", "division", (np.zeros(64, np.float32),), None, None, None, (0, 0))
    except probes.SimulationError:
        print("survived", flush=True)
"""


@pytest.mark.parametrize("first", ["faulthandler", "kernel"])
def test_other_faults_go_to_the_handler_before(first):
    steps = ["faulthandler.enable()", "call()"]
    steps = steps if first == "faulthandler" else steps[::-1]
    done = run_python(CALL + "\n".join([*steps, "call()", "faulthandler._sigsegv()"]))
    assert done.returncode == -11, done
    assert done.stdout == "survived\n" * 2
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1


def test_handlers_written_in_python_are_called():
    done = run_python(
        CALL
        + "signal.signal(signal.SIGFPE, lambda *_: print('handler', flush=True))\n"
        + "call(); os.kill(os.getpid(), signal.SIGFPE); call()"
    )
    assert (done.returncode, done.stdout) == (0, "survived\nhandler\nsurvived\n"), done


def test_a_child_survives_too():
    done = run_python(CALL + "call()\nif os.fork() == 0: call(); os._exit(0)\nos.wait(); call()")
    assert (done.returncode, done.stdout) == (0, "survived\n" * 3), done


NEARLY_FULL = """
__device__ __noinline__ unsigned down(const char *top, int bytes, int rounds)
{
    volatile char here[64];
    here[0] = 0;
    if (top - (const char *)here < bytes) {
        return down(top, bytes, rounds) + here[0];
    }
    unsigned x = rounds;
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x + here[0];
}

__global__ void nearly_full(unsigned *out, int bytes, int rounds)
{
    char top;
    out[0] = down(&top, bytes, rounds);
}
"""


@pytest.fixture(scope="module")
def nearly_full():
    return load(source=NEARLY_FULL)


@plain_and_traced
def test_a_timer_leaves_a_nearly_full_stack_alone(nearly_full, plain):
    """Near the end of its stack a thread is not interrupted: there is no room to do that.

    Stacks begin up to 6 KiB below 512, to fall into different sets of the cache.
    """
    run = nearly_full.run if plain else nearly_full.traffic
    right, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    rounds = 30_000_000  # several periods of the timer
    run("nearly_full", 1, 1, (right, 0, rounds))
    for left in range(8192, 0, -512):
        out[0] = 0
        try:
            run("nearly_full", 1, 1, (out, 512 * 1024 - left, rounds))
        except gm.SimulationError as error:
            assert "stack overflow" in str(error) and left < 8192
        else:
            assert out[0] == right[0] != 0
