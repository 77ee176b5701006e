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


HANGS = 60  # seconds after which what should have happened at once does not happen


def python(code, *options, backend="sim", **environment):
    """Run code in a fresh interpreter, which ends well and without a word of complaint: what it
    prints. It may import what these tests may."""
    ways = [os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"GPUMEM_BACKEND": backend, "PYTHONPATH": os.pathsep.join(ways)} | environment
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=5 * HANGS,
        env=os.environ | environment,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"exit {done.returncode}\n{done.stderr}"
    return done.stdout
