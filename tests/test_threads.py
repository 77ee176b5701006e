"""Threads, signals and forks: results are right, the GIL is released, Ctrl-C works."""

import hashlib
import time

import midway
import numpy as np
import processes
import pytest
from processes import at_once
from threads_cases import python

import gpumem as gm

NAMES = [v.name for v in gm.variants("copy")]


ON_SIM = [v for v in gm.variants("copy") if v.reason_on("sim") is None]


# ---- several threads ----------------------------------------------------------------


def test_threads_copy_at_once(backend):
    variants = [v for v in gm.variants("copy") if v.reason_on(backend) is None]

    def work(number):
        random = np.random.default_rng(number)
        stream = gm.Stream(backend=backend)
        for _ in range(25):
            variant = variants[random.integers(len(variants))]
            a = random.integers(0, 256, random.integers(0, 40_000), dtype=np.uint8)
            blocks = [None, 1, 3][random.integers(3)]
            host = variant(a, max_blocks=blocks, backend=backend)
            there = gm.to_device(a, backend=backend)
            device = variant(there, max_blocks=blocks, stream=stream).to_host(stream=stream)
            backwards = there[::-3].to_host()
            if not (host.tobytes() == device.tobytes() == a.tobytes()):
                return str(variant)
            if backwards.tobytes() != a[::-3].tobytes():
                return "backwards"
        return "right"

    assert at_once(8, work) == ["right"] * 8


def test_threads_share_an_input(backend):
    a = np.random.default_rng(1).random(300_000)
    there = gm.to_device(a, backend=backend)

    def work(number):
        variant = gm.variants("copy")[number % 3]
        return [variant(there).to_host().tobytes() == a.tobytes() for _ in range(5)]

    assert at_once(6, work) == [[True] * 5] * 6


def test_threads_trace_at_once():
    """Each trace counts only its own run."""
    a = np.arange(2**14, dtype="f4")

    def work(number):
        variant = ON_SIM[number % 3]
        report = gm.traffic("copy", a, variant=variant)
        return report.to_dict() == expected[number % 3] and np.array_equal(report.result, a)

    expected = [gm.traffic("copy", a, variant=variant).to_dict() for variant in ON_SIM[:3]]
    assert at_once(6, work) == [True] * 6


def test_each_thread_has_its_own_error(backend):
    a = np.zeros(4096, "f4")
    there = gm.to_device(a, backend=backend)

    def work(number):
        asked = 2**60 + number
        for _ in range(200):
            try:
                gm.DeviceArray(asked, "u1", backend=backend)
            except MemoryError as error:
                if f"{asked} bytes" not in str(error):
                    return str(error)
            try:
                gm.copy(there[1 + number % 3 :], variant="vec4")
            except ValueError as error:
                if f"is {4 * (1 + number % 3)} past" not in str(error):
                    return str(error)
            if gm.copy(a, backend=backend).tobytes() != a.tobytes():
                return "wrong"
        return "right"

    assert at_once(6, work) == ["right"] * 6


def test_arrays_are_made_and_dropped_by_many_threads():
    def work(number):
        live = []
        for step in range(300):
            there = gm.DeviceArray(100 + step, "u1", backend="sim")
            there.fill_bytes(number)
            live.append(gm.copy(there))
            if step % 3 == 0:
                del live[: len(live) // 2]
        return all(set(d.to_host().tobytes()) == {number} for d in live)

    assert all(at_once(8, work))


def sees_partial_result(call, progress):
    """Whether another thread observes a partly written result while a call runs.

    A thread that cannot run during the call observes none of the result, or all of it.
    """
    begun = ended = 0  # number of calls

    def seen():
        now = begun
        return progress.half_done() and begun == now > ended

    watcher = midway.when(seen, lambda: None)
    deadline = time.monotonic() + processes.HANGS
    while watcher.is_alive() and time.monotonic() < deadline:
        progress.restart()
        begun += 1
        call()
        ended += 1
        assert progress.all()
    return not watcher.is_alive()


def test_the_gil_is_free_while_a_kernel_runs():
    source = gm.to_device(np.ones(2**24, "u1"), backend="sim")[::-1]
    out = gm.DeviceArray(2**24, "u1", backend="sim")
    progress = midway.Progress(midway.bytes_of(out))
    assert sees_partial_result(lambda: gm.copy(source, out=out), progress)


def test_the_gil_is_free_during_transfers():
    """Also while the result is copied back to the host."""
    a, out = np.ones(2**26, "u1"), np.empty(2**26, "u1")
    progress = midway.Progress(out)
    assert sees_partial_result(
        lambda: gm.copy(a, variant="memcpy", out=out, backend="sim"), progress
    )


# ---- host threads of the simulator --------------------------------------------------


DIGESTS = """
    import hashlib, json, os, threading, time
    import numpy as np
    import gpumem as gm

    found = {}
    for variant in gm.variants("copy"):
        if not variant.available:
            continue
        for count in (0, 1, 4097, 2**20 + 3):
            for blocks in (None, 1, 5, 2**31 - 1):
                a = (np.arange(count, dtype="u4") * 2654435761 >> 9).astype("u1")
                got = variant(a, max_blocks=blocks)
                key = f"{variant.name} {count} {blocks}"
                found[key] = hashlib.sha256(got.tobytes()).hexdigest()

    def threads():
        return len(os.listdir("/proc/self/task"))

    there, out = gm.to_device(np.ones(2**23, "u4")), gm.DeviceArray(2**23, "u4")
    wanted = int(os.environ["GPUMEM_SIM_THREADS"]) - 1  # besides the calling thread
    before, most, stop = threads(), 0, False

    def watch():
        global most
        while not stop:
            most = max(most, threads() - before - 1)
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(50 if wanted else 1):  # on a busy machine the watcher may miss a thread
        gm.copy(there, out=out, variant="scalar", max_blocks=20_000)
        if most >= wanted:
            break
    stop = True
    watcher.join()
    print(json.dumps([found, most == wanted]))
"""


def test_results_do_not_depend_on_the_number_of_host_threads():
    runs = {n: python(DIGESTS, GPUMEM_SIM_THREADS=n) for n in ("1", "2", "7")}
    assert runs["1"][0] == runs["2"][0] == runs["7"][0]
    assert all(as_many for _, as_many in runs.values())
    for key, digest in runs["1"][0].items():
        a = (np.arange(int(key.split()[1]), dtype="u4") * 2654435761 >> 9).astype("u1")
        assert hashlib.sha256(a.tobytes()).hexdigest() == digest, key


COPY = """
    import json
    import numpy as np
    import gpumem as gm
    a = np.arange(2**21, dtype="u1")
    try:
        right = np.array_equal(gm.copy(a, variant="scalar", max_blocks=9999), a)
        print(json.dumps(bool(right)))
    except ValueError as error:
        try:
            gm.traffic("copy", a)
        except ValueError as again:
            print(json.dumps([str(error), str(again)]))
"""


@pytest.mark.parametrize("wish", ["", "1", "256", "007"])
def test_numbers_of_host_threads(wish):
    assert python(COPY, GPUMEM_SIM_THREADS=wish) is True


@pytest.mark.parametrize("wish", ["0", "-1", "abc", "257", "999999999999", "9" * 30, "2x", " 2"])
def test_wrong_numbers_of_host_threads(wish):
    """The import succeeds; each call raises an exception with the reason."""
    first, again = python(COPY, GPUMEM_SIM_THREADS=wish)
    assert first == again
    assert f'GPUMEM_SIM_THREADS is "{wish}", expected an integer from 1 to 256' in first


def test_a_wrong_number_of_multiprocessors():
    first, _ = python(COPY, GPUMEM_SIM_MULTIPROCESSORS="many")
    assert 'GPUMEM_SIM_MULTIPROCESSORS is "many", expected an integer from 1 to 1024' in first


# ---- fork ---------------------------------------------------------------------------


def test_a_forked_child_can_simulate():
    found = python("""
        import json, os, signal
        import numpy as np
        import gpumem as gm

        a = np.arange(500_000, dtype="u4")
        there = gm.to_device(a)
        gm.copy(there, variant="scalar", max_blocks=5000)
        gm.traffic("copy", a[:1000], variant="vec4")
        codes = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                right = [
                    np.array_equal(gm.copy(there, variant="scalar", max_blocks=5000).to_host(), a),
                    np.array_equal(gm.copy(a[::-1]), a[::-1]),
                    np.array_equal(gm.traffic("copy", a[:999], variant="vec4").result, a[:999]),
                ]
                os._exit(0 if all(right) else 3)
            codes.append(os.waitpid(child, 0)[1])
        there.fill_bytes(0)
        print(json.dumps([codes, bool(np.array_equal(gm.copy(a), a))]))
    """)
    assert found == [[0, 0, 0], True]


def test_a_fork_while_other_threads_simulate():
    """A lock that another thread holds at the fork must not stay locked in the child."""
    found = python("""
        import json, os, signal, threading, warnings
        import numpy as np
        import gpumem as gm

        warnings.simplefilter("ignore")  # Python warns about forks of multithreaded processes
        a = np.arange(100.0)
        stop = False

        def simulate():
            there = gm.to_device(a)
            others = [gm.DeviceArray(8) for _ in range(2000)]
            while not stop:
                gm.copy(there)

        threads = [threading.Thread(target=simulate) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = set()
        for _ in range(25):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if np.array_equal(gm.copy(a), a) else 3)
            codes.add(os.waitpid(child, 0)[1])
            if codes != {0}:
                break
        stop = True
        for thread in threads:
            thread.join()
        print(json.dumps(sorted(codes)))
    """)
    assert found == [0]


# ---- exit of the interpreter --------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        "keep = [there, gm.copy(there), there[1:].T, gm.Stream()]",
        "gm.keep = there",
        "import threading; threading.Thread(target=lambda: gm.copy(there)).start()",
        "cycle = [there]; cycle.append(cycle); del there",
        "raise SystemExit(0)",
    ],
)
def test_exit_with_live_arrays_is_clean(last):
    code = f"import numpy as np, gpumem as gm\nthere = gm.to_device(np.ones(9))\n{last}\n"
    assert processes.python(code, "-X", "dev") == ""
