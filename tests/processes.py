"""Run threads that start together, and code and tests in fresh interpreters."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap
import threading


def at_once(count, work):
    """Run work(0) … work(count - 1) in threads that start together; return the results."""
    start = threading.Barrier(count)

    def run(number):
        start.wait()
        return work(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


HANGS = 60  # seconds; what takes longer is taken to hang


def python(code, *options, backend="sim", **environment):
    """Run code in a fresh interpreter and return its stdout; it can import what the tests can.

    The interpreter must exit with status 0 and print nothing to stderr.
    """
    paths = [os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"GPUMEM_BACKEND": backend, "PYTHONPATH": os.pathsep.join(paths)} | environment
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=5 * HANGS,
        env=os.environ | environment,
    )
    assert (done.returncode, done.stderr) == (0, ""), f"exit {done.returncode}\n{done.stderr}"
    return done.stdout


def run_pytest(file, function):
    """Run a test function, with all its parameters, under a pytest of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ["-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, f"{file}::{function}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=5 * HANGS,
        env=own,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}"
