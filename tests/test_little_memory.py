"""Little memory where a thread begins: an exception, and never the end of the process.

glibc allocates a shared object's thread-local variables at a thread's first access to one of them,
and aborts if it cannot.
"""

import json
import re
from pathlib import Path

import pytest
from processes import python

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(__file__).parent / "little_memory.py"
HANDLER = Path(__file__).parent / "little_memory_handler.py"

# Each is reached only by who has asked sim/storage.h before.
ASK = {
    "backend/sim_kernels.c": ["anchor"],
    "module/side.c": ["gm_lane"],
    "sim/thread.c": ["gm_lane", "gm_thread_current"],
}


def run(first, host_threads=1):
    """How many first calls failed, and how many had the right result; threads share one heap."""
    environment = {"FIRST": first, "GPUMEM_SIM_THREADS": str(host_threads), "MALLOC_ARENA_MAX": "1"}
    return map(int, python(PROGRAM.read_text(), **environment).split())


@pytest.mark.parametrize("host_threads", [1, 8])
@pytest.mark.parametrize("first", ["copy", "permute", "launch", "load"])
def test_the_first_call_of_a_thread(first, host_threads):
    """With little memory it fails, with more it works, and afterwards it always does."""
    failed, passed = run(first, host_threads)
    assert failed > 0 and passed > 0


def test_errors_of_a_thread_take_little():
    """What is wrong is said even where there is no memory for a kernel."""
    failed, passed = run("refuse")
    assert failed > 0 and passed > 40


def test_a_kernel_that_a_signal_handler_runs():
    """It fails if its thread finds no memory, and the kernel that is interrupted goes on."""
    found = python(HANDLER.read_text(), GPUMEM_SIM_THREADS="1", MALLOC_ARENA_MAX="1")
    no_memory = "out of memory for the variables of a host thread"
    assert json.loads(found) == ["right", no_memory, "right", "right"]


def test_no_other_variables_are_thread_local():
    """What each thread keeps for itself is on the heap, see csrc/per_thread.h."""
    declared = re.compile(
        r"^(?!extern)[^/*\n#]*(?:_Thread_local|GM_THREAD_LOCAL|__thread|thread_local)\b[^(\n;]*?(\w+)"
        r"(?:\[[^\n]*)?(?: =[^\n]*)?;",
        re.M,
    )
    found = {
        str(path.relative_to(ROOT / "csrc")): declared.findall(path.read_text())
        for path in sorted((ROOT / "csrc").rglob("*.[ch]"))
    }
    assert {path: names for path, names in found.items() if names} == ASK
