"""Runs cases of `bad_calls` in a process of its own: bad_run.py MODULE LIST.

It prints each case before it runs it, so that the last line says what ended the process; then what
was wrong with it, if anything. It may use MOST_MEMORY, and have touched MOST_TOUCHED at the end.
"""

import faulthandler
import importlib
import resource
import sys
import warnings

from bad_calls import Call, cases, wrong

MOST_MEMORY = 2**33  # bytes of addresses, the simulator's and the interpreter's included
MOST_TOUCHED = 2**29  # bytes
WRONG = "  WRONG: "


def touched() -> int:
    """Return the most bytes of memory that this process has had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024


def run(calls: list[Call]) -> None:
    count = 0
    for call in calls:
        for case in cases(call):
            count += 1
            print(ascii(str(case)), flush=True)
            problem = wrong(case)
            if problem:
                print(WRONG + ascii(problem), flush=True)
    print(f"done: {count} cases", flush=True)
    if touched() > MOST_TOUCHED:
        print(f"{WRONG}{touched()} bytes of memory were touched", flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    module, name = sys.argv[1:]
    run(getattr(importlib.import_module(module), name))
