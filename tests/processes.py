"""Threads that start together, and interpreters that have to end in good order."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap
import threading


def at_once(count, work):
    """Run work(0), work(1) … in as many threads, all starting together; their results."""
    start = threading.Barrier(count)

    def run(number):
        start.wait()
        return work(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def python(code, *options, backend="sim", timeout=120):
    """Run code in a fresh interpreter, which ends well and without a word of complaint: what it
    prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | {"GPUMEM_BACKEND": backend},
    )
    assert (done.returncode, done.stderr) == (0, ""), f"exit {done.returncode}\n{done.stderr}"
    return done.stdout
