"""Many threads, signals and forks: results stay right, the GIL is free, and Ctrl-C is heard."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import processes
import pytest
from processes import at_once

import gpumem as gm

NAMES = [v.name for v in gm.variants("copy")]
ON_SIM = [v for v in gm.variants("copy") if v.reason_on("sim") is None]


def python(code, timeout=60, **environment):
    """Run code in a fresh interpreter; the JSON that it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | {"GPUMEM_BACKEND": "sim"} | environment,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


# ---- several threads --------------------------------------------------------------------------


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
    """Each trace counts its own run alone."""
    a = np.arange(2**14, dtype="f4")

    def work(number):
        variant = ON_SIM[number % 3]
        report = gm.traffic("copy", a, variant=variant)
        return report.to_dict() == alone[number % 3] and np.array_equal(report.result, a)

    alone = [gm.traffic("copy", a, variant=variant).to_dict() for variant in ON_SIM[:3]]
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


def slow_call(seconds=0.4):
    """A call on the simulator that takes about so long: backwards, one byte at a time."""
    count = 2**19
    source = gm.to_device(np.ones(2**26, "u1"), backend="sim")[::-1]
    out = gm.DeviceArray(2**26, "u1", backend="sim")
    out.fill_bytes(0)  # so that its pages are there: while they come, Python's memory has to wait

    def call(n):
        begin = time.perf_counter()
        gm.copy(source[:n], out=out[:n])
        return time.perf_counter() - begin

    call(count)
    took = min(call(count), call(count))
    count = int(min(2**26, count * seconds / took))
    return lambda: call(count)


def test_the_gil_is_free_while_a_kernel_runs():
    call = slow_call()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.wait(0.002):
            ticks.append(time.perf_counter())

    counter = threading.Thread(target=tick)
    counter.start()
    try:
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
    finally:
        stop.set()
        counter.join()
    during = [t for t in ticks if begin < t < end]
    gaps = np.diff([begin, *during, end])
    assert end - begin > 0.1
    assert len(during) > 10 and max(gaps) < (end - begin) / 2


def test_the_gil_is_free_while_data_moves():
    """Counting goes on while large host arrays are copied in and out."""
    a = np.ones(2**27, "u1")
    out = np.empty_like(a)
    gm.copy(a, variant="memcpy", out=out, backend="sim")
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    counter = threading.Thread(target=tick)
    counter.start()
    begin = time.perf_counter()
    for _ in range(3):
        gm.copy(a, variant="memcpy", out=out, backend="sim")
    end = time.perf_counter()
    stop.set()
    counter.join()
    # Three moves of 128 MiB per call; held, the GIL would let one tick pass between them.
    assert sum(begin < t < end for t in ticks) > 20


# ---- Ctrl-C -----------------------------------------------------------------------------------

# Sends itself SIGINT 0.2 s into a run of a second or more, and tells how long it took to end and
# whether everything works afterwards. A view with 17 dimensions that do not run on in memory is
# slow work for little memory.
INTERRUPTED = """
    import json, os, signal, threading, time
    import numpy as np
    import gpumem as gm
    from gpumem import _core

    where, grid, bits = {arguments!r}
    blocks = None if grid == "full" else int(grid)
    a = np.full(2**bits, 7, "u1")
    out = np.full(2**bits, 0xAA, "u1")
    there, result = gm.to_device(a), gm.DeviceArray(2**bits, "u1")
    view = there.reshape(-1, *(2,) * 16).T

    def call(n=2**bits):
        if where == "host":
            gm.copy(a[:n], out=out[:n], variant="scalar", max_blocks=blocks)
        elif where == "traced":
            _core.traffic("copy", "strided", (view[..., : n >> 16],), (blocks or 0,))
        else:
            gm.copy(view[..., : n >> 16], max_blocks=blocks,
                    out=result[:n].reshape(*(2,) * 16, -1))

    call(2**20)
    out[:] = 0xAA

    sent = []

    def interrupt():
        time.sleep(0.2)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    ended = None
    try:
        call()
        ended = time.perf_counter()
        time.sleep(5)
    except KeyboardInterrupt:
        ended = ended or time.perf_counter()
    sender.join()
    untouched = where != "host" or bool(np.all(out == 0xAA))
    small = np.arange(100_003, dtype="u1")
    right = all(np.array_equal(v(small), small) for v in gm.variants("copy") if v.available)
    traced = gm.traffic("copy", small, variant="vec4").result
    right = right and bool(np.array_equal(traced, small))
    print(json.dumps([ended - sent[0], untouched, right]))
"""


@pytest.mark.parametrize(
    ("where", "grid", "bits"),
    [
        ("device", "full", 26),
        ("device", "128", 26),
        ("device", "1", 26),
        ("host", "128", 28),
        ("host", "1", 28),
        ("traced", "full", 24),
        ("traced", "1", 24),
    ],
)
def test_ctrl_c_ends_a_long_simulation(where, grid, bits):
    """Within half a second, whatever the grid: also where a few warps do all the work."""
    code = INTERRUPTED.format(arguments=(where, grid, bits))
    seconds, untouched, right = python(code, GPUMEM_SIM_THREADS="2")
    if seconds < 0:
        pytest.skip("this machine is too fast for this test")
    assert seconds < 0.5
    assert untouched and right


def test_ctrl_c_ends_a_long_way_to_the_simulator():
    """Before a kernel begins: while memory for the arrays is found and filled."""
    found = python(
        """
        import json, signal, time
        import numpy as np
        import gpumem as gm

        n = 2**29
        a, out = np.zeros(n, "u1"), np.full(n, 0xAA, "u1")
        gm.copy(a[:1000], variant="memcpy")

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        begin = time.perf_counter()
        late = False
        try:
            gm.copy(a, out=out, variant="memcpy")
            late = True
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        print(json.dumps([time.perf_counter() - begin, late, bool(np.all(out == 0xAA))]))
        """
    )
    seconds, late, untouched = found
    assert seconds < 1
    # A signal that nobody looked at during the call is seen right after it.
    assert not late and untouched


def test_the_exception_of_a_signal_handler_arrives():
    found = python(
        """
        import json, signal, time
        import numpy as np
        import gpumem as gm

        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm("from the handler")

        a = gm.to_device(np.ones(2**25, "u1"))[::-1]
        out = gm.DeviceArray(2**25, "u1")
        begin = time.perf_counter()
        gm.copy(a[:2**20], out=out[:2**20])
        took = time.perf_counter() - begin
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, took)
        try:
            gm.copy(a, out=out)
            said = "nothing"
        except Alarm as error:
            said = str(error)
        out.fill_bytes(0)
        gm.copy(a, out=out)
        print(json.dumps([said, bool(np.all(out.to_host() == 1))]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert found == ["from the handler", True]


def test_a_handler_that_returns_stops_nothing():
    found = python(
        """
        import json, signal
        import numpy as np
        import gpumem as gm

        heard = []
        signal.signal(signal.SIGALRM, lambda *_: heard.append(gm.copy(np.arange(9)).tolist()))
        a = np.arange(2**24, dtype="u4").view("u1")[: 2**24]
        there, out = gm.to_device(a), gm.DeviceArray(2**24, "u1")
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        gm.copy(there[::-1], out=out)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps([len(heard) > 0 and heard[0] == list(range(9)),
                          out.to_host().tobytes() == a[::-1].tobytes()]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert found == [True, True]


def test_only_the_main_thread_hears_signals():
    """Ctrl-C reaches the main thread at once while another one simulates, which goes on."""
    found = python(
        """
        import json, os, signal, threading, time
        import numpy as np
        import gpumem as gm

        a = np.arange(2**24, dtype="u4").view("u1")[: 2**24]
        there, out = gm.to_device(a), gm.DeviceArray(2**24, "u1")
        worker = threading.Thread(target=lambda: gm.copy(there[::-1], out=out))
        worker.start()
        time.sleep(0.05)
        begin = time.perf_counter()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        seconds = time.perf_counter() - begin
        worker.join()
        print(json.dumps([seconds < 0.5, out.to_host().tobytes() == a[::-1].tobytes()]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert found == [True, True]


# ---- host threads of the simulator ------------------------------------------------------------

DIGESTS = """
    import hashlib, json, os, threading, time
    import numpy as np
    import gpumem as gm

    found = {}
    for variant in gm.variants("copy"):
        if not variant.available:
            continue
        for count in (0, 1, 4097, 2**22 + 3):
            for blocks in (None, 1, 5, 2**31 - 1):
                a = (np.arange(count, dtype="u4") * 2654435761 >> 9).astype("u1")
                got = variant(a, max_blocks=blocks)
                key = f"{variant.name} {count} {blocks}"
                found[key] = hashlib.sha256(got.tobytes()).hexdigest()

    there, out = gm.to_device(np.ones(2**25, "u4")), gm.DeviceArray(2**25, "u4")
    before, most, stop = len(os.listdir("/proc/self/task")), 0, False

    def watch():
        global most
        while not stop:
            most = max(most, len(os.listdir("/proc/self/task")))
            time.sleep(0.0005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    gm.copy(there, out=out, variant="scalar", max_blocks=20_000)
    stop = True
    watcher.join()
    print(json.dumps([found, most - before - 1]))
"""


def test_results_do_not_depend_on_the_number_of_host_threads():
    runs = {n: python(DIGESTS, GPUMEM_SIM_THREADS=n) for n in ("1", "2", "7")}
    assert runs["1"][0] == runs["2"][0] == runs["7"][0]
    assert [runs[n][1] for n in ("1", "2", "7")] == [0, 1, 6]  # beside the caller's own
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
    """The import is not disturbed; each call says what is wrong."""
    first, again = python(COPY, GPUMEM_SIM_THREADS=wish)
    assert first == again
    assert f'GPUMEM_SIM_THREADS is "{wish}", expected an integer from 1 to 256' in first


# ---- fork -------------------------------------------------------------------------------------


def test_a_forked_child_simulates_on():
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
                signal.alarm(20)
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
    """No lock may be left taken in the child by a thread that it does not have."""
    found = python("""
        import json, os, signal, threading, warnings
        import numpy as np
        import gpumem as gm

        warnings.simplefilter("ignore")  # of Python, about forks beside threads
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
                signal.alarm(5)
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


# ---- the end ----------------------------------------------------------------------------------


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
