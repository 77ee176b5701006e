"""Random calls in many threads and processes for as long as wanted, each compared with NumPy.

``tools/soak.py --seconds 300`` runs on the GPU, or without one on the simulator. A step is one
call of a random family, variant, shape, dtype, kind of memory, layout and stream, or a transfer, a
view, an exchange with PyTorch or CuPy where they are installed, a kernel of a user's, a count of
traffic, or a call that must be refused. At the end no device memory may be in use, and the
processes may not have grown. It ends with status 1 after a wrong result, an unexpected exception,
a crash, a hang or growth; ``--step PROCESS THREAD NUMBER`` repeats one step alone.

With ``--fill 0.999`` that share of the device memory that is free once all processes are ready is
taken (on the simulator, the address space of each process is limited instead). Then out-of-memory
errors are right answers, but what comes after them has to work.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import faulthandler
import gc
import json
import os
import resource
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
from soak_steps import SIMULATED, STEPS, Refused, Worker, make_ready, ran_out

import gpumem as gm

GROWTH = 64 << 20  # bytes of host memory: what pools of libraries and threads may take late
SAMPLING = 0.5  # seconds between looks at the memory in use
SETTLED = 0.4  # the share of the time after which a process may not grow
LEAST_SECONDS = 20  # in less time nothing settles
COURSE = 50  # looks at the memory that a report has, about
HANGS = 120  # seconds to become ready, and after the end
READY, GO = "ready", "go"


def rss() -> int:
    """Bytes of memory in use, without free pages that malloc keeps for later."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
    if trim is not None:
        trim(0)
    text = Path("/proc/self/statm").read_text().split()
    return int(text[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(sizes: list[int]) -> int:
    """Return the bytes by which a process grew from one half of the settled time to the other.

    Compared is what is there when few arrays are: those that steps work on come and go.
    """
    settled = sizes[int(len(sizes) * SETTLED) :]
    half = len(settled) // 2
    if not half:
        return 0
    earlier, later = (np.percentile(part, 10) for part in (settled[:half], settled[half:]))
    return int(later - earlier)


# ---- one process --------------------------------------------------------------------------------


class Process:
    """The threads of one process, and what they found."""

    def __init__(self, words: argparse.Namespace, number: int) -> None:
        self.words, self.number = words, number
        self.counts: collections.Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.go = threading.Event()
        make_ready(words.backend)
        scarce = bool(words.fill)
        self.workers = [Worker(n, words.backend, scarce) for n in range(words.threads)]

    def step(self, worker: Worker, number: int) -> None:
        """One step, whose random numbers depend on nothing but its number."""
        rng = np.random.default_rng([self.words.seed, self.number, worker.number, number])
        name = list(STEPS)[rng.integers(len(STEPS))]
        what = name
        try:
            STEPS[name](worker, rng)
        except Refused:
            what = f"{name} refused"
        except Exception as error:
            what = f"{name} out of memory" if ran_out(error) else name
            if not (ran_out(error) and self.words.fill):
                self.fail(worker, number, name, error)
        with self.lock:
            self.counts[what] += 1

    def fail(self, worker: Worker, number: int, name: str, error: BaseException) -> None:
        at = f"--seed {self.words.seed} --step {self.number} {worker.number} {number}"
        told = "".join(traceback.format_exception(error))
        others = "".join(f"  meanwhile {one.doing}\n" for one in self.workers if one is not worker)
        with self.lock:
            self.failures.append(f"{at}: {name}: {worker.doing}\n{others}{told}")

    def thread(self, worker: Worker) -> None:
        step = 0
        self.go.wait()
        while time.monotonic() < self.deadline and len(self.failures) < 10:
            self.step(worker, step)
            step += 1

    def run(self) -> dict:
        threads = [threading.Thread(target=self.thread, args=(one,)) for one in self.workers]
        for thread in threads:
            thread.start()
        if self.words.fill and self.words.backend == "sim":
            here = int(Path("/proc/self/statm").read_text().split()[0])
            room = here * os.sysconf("SC_PAGE_SIZE") + int(SIMULATED * (1 - self.words.fill))
            resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
        self.deadline = time.monotonic() + self.words.seconds
        self.go.set()
        sizes: list[int] = []
        while any(thread.is_alive() for thread in threads):
            sizes.append(rss())
            time.sleep(SAMPLING)
        for thread in threads:
            thread.join()
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return self.result(sizes)

    def in_use(self) -> dict:
        """Bytes of the pools that are in use, after all work has ended."""
        try:
            gm.synchronize(backend=self.words.backend)
        except gm.CudaError as error:  # what made it useless is among the failures
            self.failures.append(f"process {self.number}: at the end: {error}")
            return {}
        pools = gm.pool_info(backend=self.words.backend)
        return {name: pools[name]["used"] for name in ("device", "pinned")}

    def result(self, sizes: list[int]) -> dict:
        gc.collect()
        used = self.in_use()
        if any(used.values()) and not self.failures:
            self.failures.append(f"process {self.number}: memory is in use at the end: {used}")
        grown = growth(sizes)
        if grown > GROWTH and self.words.seconds >= LEAST_SECONDS:
            self.failures.append(f"process {self.number}: grew by {grown >> 20} MiB")
        return {
            "counts": dict(self.counts),
            "failures": self.failures,
            "grown_bytes": grown,
            "rss_bytes": sizes[-1] if sizes else 0,
            "rss_course": sizes[:: max(1, len(sizes) // COURSE)],
            "in_use": used,
        }


# ---- all processes ------------------------------------------------------------------------------


def fill(words: argparse.Namespace) -> list[gm.DeviceArray]:
    """Arrays that take so much of the free device memory; on the simulator, none."""
    if not words.fill or words.backend == "sim":
        return []
    free = gm.info()["backends"][words.backend]["devices"][0]["free_bytes"]
    wanted, taken, size = int(free * words.fill), [], 1 << 30
    while wanted > 0 and size >= 1 << 20:
        try:
            taken.append(gm.DeviceArray(min(size, wanted), "u1", backend=words.backend))
            wanted -= taken[-1].nbytes
        except MemoryError:
            size //= 2
    return taken


def summary(results: list[dict], words: argparse.Namespace, seconds: float) -> dict:
    counts: collections.Counter[str] = collections.Counter()
    for one in results:
        counts.update(one["counts"])
    return {
        "version": gm.info()["version"],
        "backend": words.backend,
        "device": gm.info()["backends"][words.backend]["devices"][0]["name"],
        "seed": words.seed,
        "seconds": round(seconds, 1),
        "processes": words.processes,
        "threads": words.threads,
        "fill": words.fill,
        "steps": counts.total(),
        "out_of_memory": sum(n for name, n in counts.items() if name.endswith("out of memory")),
        "counts": dict(sorted(counts.items())),
        "grown_bytes": [one.get("grown_bytes") for one in results],
        "rss_bytes": [one.get("rss_bytes") for one in results],
        "rss_course": [one.get("rss_course") for one in results],
        "failures": [text for one in results for text in one["failures"]],
    }


def start(words: argparse.Namespace, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__)), "--process", str(number)]
    for name in ("seconds", "threads", "seed", "fill", "backend"):
        command += [f"--{name}", str(getattr(words, name))]
    pipe, environment = subprocess.PIPE, dict(os.environ)
    if words.fill and words.backend == "sim":
        # Else each thread has 64 MiB of address space in reserve, whatever the limit, and fills it.
        environment["MALLOC_ARENA_MAX"] = "1"
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment
    )


def one_process(words: argparse.Namespace) -> int:
    """Make ready, wait for the others and for the memory to be taken, and run."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(HANGS, exit=True)
    process = Process(words, words.process)
    print(READY, flush=True)
    if sys.stdin.readline().strip() != GO:
        return 1  # whoever started it has ended
    faulthandler.dump_traceback_later(words.seconds + HANGS, exit=True)
    print(json.dumps(process.run()))
    return 0


def wait_until_ready(process: subprocess.Popen[str]) -> str:
    """Return what it said before; it is ready, or has ended."""
    said = ""
    for line in process.stdout:
        if line.strip() == READY:
            break
        said += line
    return said


def let_go(process: subprocess.Popen[str]) -> None:
    try:
        process.stdin.write(GO + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended, as its status says


def collect(process: subprocess.Popen[str], number: int, said: str) -> dict:
    out, _ = process.communicate()
    if process.returncode == 0:
        (found,) = (line for line in out.splitlines() if line.startswith('{"counts"'))
        return json.loads(found)
    ended = f"process {number} ended with {process.returncode}\n{said}{out}"
    return {"counts": {}, "failures": [ended]}


def run(words: argparse.Namespace) -> dict:
    """Start all processes, fill the device, let them go, and wait for them."""
    processes = [start(words, number) for number in range(words.processes)]
    said = [wait_until_ready(process) for process in processes]
    started, taken = time.monotonic(), fill(words)
    for process in processes:
        let_go(process)
    results = [collect(process, n, said[n]) for n, process in enumerate(processes)]
    del taken
    return summary(results, words, time.monotonic() - started)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fill", type=float, default=0.0, metavar="FRACTION")
    parser.add_argument("--backend", choices=("cuda", "sim"), default=gm.backend())
    parser.add_argument("--json", metavar="FILE", help="default: $OUT/soak.json, if OUT is set")
    parser.add_argument(
        "--step", nargs=3, type=int, metavar=("PROCESS", "THREAD", "NUMBER"), help="one step alone"
    )
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    words = parse()
    if words.step:
        process, thread, number = words.step
        words.threads = max(words.threads, thread + 1)
        alone = Process(words, process)
        alone.step(alone.workers[thread], number)
        print("\n".join(alone.failures) or dict(alone.counts))
        return 1 if alone.failures else 0
    if words.process is not None:
        return one_process(words)
    found = run(words)
    text = json.dumps(found, indent=1)
    path = words.json or (os.environ.get("OUT") and os.path.join(os.environ["OUT"], "soak.json"))
    if path:
        Path(path).write_text(text + "\n")
    failures = found["failures"]
    for failure in failures[:5]:
        print(failure[:4000])
    for name, count in found["counts"].items():
        print(f"{count:9,d}  {name}")
    grown = ", ".join("?" if size is None else f"{size >> 20}" for size in found["grown_bytes"])
    print(
        f"{found['steps']:,} steps in {found['seconds']:.0f} s on {found['device']}"
        f" ({words.processes} processes of {words.threads} threads, seed {words.seed}):"
        f" {found['out_of_memory']:,} ran out of memory, {len(failures)} failures;"
        f" processes grew by {grown} MiB"
    )
    return 1 if failures or not found["steps"] else 0


if __name__ == "__main__":
    sys.exit(main())
