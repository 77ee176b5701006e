"""Runs tests on builds of the extension module with the host's sanitizers.

``tools/sanitize_core.py address`` looks for faults of memory and undefined behaviour in the C code
(with ``--kernels`` also for the latter in plain kernels), ``thread`` for data races between host
threads; without a name, both. Needs GCC, its sanitizers' libraries and the extra ``test``; other
arguments replace the chosen tests. The copies are build/sanitized-address and -thread.

Three things to know. Traced kernels have the hooks of the thread sanitizer for the simulator
itself, so that the build renames those (csrc/build_sanitizers.py). ASan does not track what is on
the stack after a return (the simulator switches stacks), nor leaks, since CPython has some. TSan
holds back signals that a thread does not cause itself, so that tests of loops that never end are
not among its tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import private_copy

# Tests where bytes are counted by hand: what is allocated, converted, handed over or left midway.
TESTS = {
    "address": (
        "test_astype.py test_array_like.py test_copy_into_views.py"
        " test_cuda_array_interface.py test_device_array.py"
        " test_device_assign.py test_device_elements.py test_device_lifetime.py test_device_repr.py"
        " test_device_to_host.py test_empty_elements.py test_exchange.py test_exchange_producers.py"
        " test_exchange_api.py test_exchange_api_ours.py test_memory.py"
        " test_order.py test_permute_words.py test_refusals.py"
        " sim/test_faults.py sim/test_races.py sim/test_uninitialised.py"
    ),
    "thread": "test_parallel.py test_overlap.py test_stream_context.py test_forks.py",
}
# Tests that look at what a sanitizer changes, such as the memory of the process.
LEFT_OUT = {
    "address": "not (results_of_calls_are_freed or nothing_is_left_behind or nothing_grows)",
    "thread": "",
}
LIBRARIES = {"address": ("asan", "ubsan"), "thread": ("tsan",)}
# What shows that the module is instrumented.
MARKS = {"address": "__asan_report_", "thread": "__tsan_read"}
FOUND = re.compile(r"ERROR: \w+Sanitizer|runtime error:|WARNING: ThreadSanitizer")
# What TSan reports though it is right. In libraries that are not built with it: NumPy's BLAS waits
# for its threads in ways that TSan does not know, and the loader frees the thread-local memory of a
# thread that ended. The simulator's timer allocates in its handler, but only where it has stopped a
# kernel's own code, which is never within an allocation (csrc/sim/preempt.c).
SUPPRESSED = ("race:libscipy_openblas", "race:_dl_deallocate_tls", "signal:seen_before")


def environment(kind: str, folder: Path, reports: Path) -> dict[str, str]:
    suppressed = reports.parent / "suppressed"
    suppressed.write_text("".join(f"{line}\n" for line in SUPPRESSED))
    paths = []
    for library in LIBRARIES[kind]:
        ask = [os.environ.get("CC", "gcc"), f"-print-file-name=lib{library}.so"]
        path = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(path).is_absolute():  # GCC repeats the name of what it lacks
            sys.exit(f"GCC's lib{library} is not installed")
        paths.append(path)
    options = f"log_path={reports / 'report'}:print_stacktrace=1:allocator_may_return_null=1"
    return private_copy.environment_of(
        folder,
        LD_PRELOAD=" ".join(paths),
        ASAN_OPTIONS=f"detect_leaks=0:detect_stack_use_after_return=0:{options}",
        UBSAN_OPTIONS=options,
        TSAN_OPTIONS=f"exitcode=0:suppressions={suppressed}:{options}",
        OPENBLAS_NUM_THREADS="1",
        PYTHONMALLOC="malloc",
        GPUMEM_SANITIZE="",  # tests that build modules build them as always
    )


def run(kind: str, kernels: bool, tests: list[str], one_in: int) -> bool:
    """Whether the tests passed and the sanitizer found nothing."""
    started = time.monotonic()
    folder = private_copy.copy_checkout(f"sanitized-{kind}")
    names = "thread" if kind == "thread" else "address,undefined" + kernels * ",kernels"
    built = private_copy.build(folder, GPUMEM_SANITIZE=names)
    if built.returncode:
        print(built.stdout)
        return False
    (module,) = (folder / "gpumem").glob("_core.*.so")
    listed = subprocess.run(["nm", "-D", module], capture_output=True, text=True, check=True)
    if MARKS[kind] not in listed.stdout:
        print(f"{kind}: the extension module has no instrumentation")
        return False
    print(f"{kind}: built in {time.monotonic() - started:.0f} s", flush=True)

    reports = folder / "build" / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    # With addresses at random TSan may find its own taken.
    fixed = ["setarch", "-R"] if kind == "thread" and shutil.which("setarch") else []
    tests = tests or [f"tests/{name}" for name in TESTS[kind].split()]
    chosen = ["-k", LEFT_OUT[kind]] if LEFT_OUT[kind] else []
    chosen += ["--one-in", str(one_in)]
    commands = (
        ["-m", "pytest", "-q", "-n", "auto", *chosen, *tests],
        ["tools/soak.py", "--seconds", "10", "--processes", "1", "--threads", "8"],
    )
    given = {"cwd": folder, "env": environment(kind, folder, reports)}
    passed = [
        subprocess.run([*fixed, sys.executable, *command], **given).returncode == 0
        for command in commands
    ]
    texts = [path.read_text(errors="replace") for path in sorted(reports.iterdir())]
    found = [text for text in texts if FOUND.search(text)]
    print("\n".join(found) or f"{kind}: the sanitizer has found nothing")
    print(f"{kind}: {time.monotonic() - started:.0f} s", flush=True)
    return all(passed) and not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=sorted(TESTS), help="default: both")
    parser.add_argument("--kernels", action="store_true", help="undefined behaviour in kernels too")
    parser.add_argument(
        "--one-in", type=int, default=1, metavar="N", help="of N tests, other ones for each commit"
    )
    parser.add_argument("tests", nargs="*", help="what to give pytest")
    words, more = parser.parse_known_args()
    kinds = [words.kind] if words.kind else sorted(TESTS)
    clean = [run(kind, words.kernels, words.tests + more, words.one_in) for kind in kinds]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
