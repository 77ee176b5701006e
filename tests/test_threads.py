"""Threads, signals and forks: results are right, the GIL is released, Ctrl-C works."""

import hashlib
import json
import time

import midway
import numpy as np
import processes
import pytest
from processes import at_once

import gpumem as gm

NAMES = [v.name for v in gm.variants("copy")]
ON_SIM = [v for v in gm.variants("copy") if v.reason_on("sim") is None]


def python(code, **environment):
    """Run code in a fresh interpreter and decode the JSON on its last line of output."""
    return json.loads(processes.python(code, **environment).splitlines()[-1])


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


# ---- Ctrl-C -----------------------------------------------------------------------------------

# Interrupts a call after about a sixteenth of its work, and reports whether it ends before half of
# the work is done. Measures work in processor time, because the result of a trace or of a host call
# cannot be observed on the way. On a busy machine the signal may come late, so there are several
# attempts. A view with 17 dimensions that cannot be merged takes long for little memory.
INTERRUPTED = """
    import json, os, signal, time
    import numpy as np
    import gpumem as gm
    from gpumem import _core
    from midway import when

    where, grid = {arguments!r}
    blocks = None if grid == "full" else int(grid)

    class Work:
        def __init__(self, bits):
            self.bits = bits
            if where == "host":
                self.a, self.out = np.zeros(2**bits, "u1"), np.empty(2**bits, "u1")
            else:
                self.there, self.result = (gm.DeviceArray(2**bits, "u1") for _ in range(2))
                self.there.fill_bytes(7)
                self.view = self.there.reshape(-1, *(2,) * 16).T
            self.do(16)
            self.sixteenth = self.do(16)

        def do(self, part=1):
            began = time.process_time()
            n = 2**self.bits // part
            if where == "host":
                gm.copy(self.a[:n], out=self.out[:n], variant="scalar", max_blocks=blocks)
            elif where == "traced":
                _core.traffic("copy", "strided", (self.view[..., : n >> 16],), (blocks or 0,))
            else:
                gm.copy(self.view[..., : n >> 16], max_blocks=blocks,
                        out=self.result[:n].reshape(*(2,) * 16, -1))
            return time.process_time() - began

    def ends_early(work):
        if where == "host":
            work.out[:] = 0xAA
        began = time.process_time()
        sender = when(lambda: time.process_time() > began + work.sixteenth,
                      lambda: os.kill(os.getpid(), signal.SIGINT))
        try:
            work.do()
            sender.join()
            time.sleep({hangs})
        except KeyboardInterrupt:
            sender.join()
        return time.process_time() - began < 8 * work.sixteenth

    # The simulator checks for signals every 20 ms.
    work = next(w for w in map(Work, range(22, 31)) if w.sixteenth > 0.04 or w.bits == 30)
    early = any(ends_early(work) for _ in range(20))
    untouched = where != "host" or bool(np.all(work.out == 0xAA))
    small = np.arange(100_003, dtype="u1")
    right = all(np.array_equal(v(small), small) for v in gm.variants("copy") if v.available)
    traced = gm.traffic("copy", small, variant="vec4").result
    right = right and bool(np.array_equal(traced, small))
    print(json.dumps([early, untouched, right]))
"""


@pytest.mark.parametrize(
    ("where", "grid"),
    [
        ("device", "full"),
        ("device", "128"),
        ("device", "1"),
        ("host", "128"),
        ("host", "1"),
        ("traced", "full"),
        ("traced", "1"),
    ],
)
def test_ctrl_c_ends_a_long_simulation(where, grid):
    """The call ends early for any grid, also if a few warps do all the work."""
    code = INTERRUPTED.format(arguments=(where, grid), hangs=processes.HANGS)
    early, untouched, right = python(code, GPUMEM_SIM_THREADS="2")
    assert early and untouched and right


def test_ctrl_c_ends_a_long_transfer_to_the_simulator():
    """The signal arrives before the kernel starts, while the system maps the arrays' memory."""
    found = python(
        """
        import json, signal, time
        import numpy as np
        import gpumem as gm

        n = 2**28
        a, out = np.zeros(n, "u1"), np.full(n, 0xAA, "u1")

        def interrupt(*_):
            raise KeyboardInterrupt

        def attempt(wait):
            "Whether a call that is interrupted after `wait` seconds leaves `out` unchanged."
            out[:] = 0xAA
            signal.setitimer(signal.ITIMER_REAL, wait)
            try:
                gm.copy(a, out=out, variant="memcpy")
                time.sleep(HANGS)  # the signal is late, or not sent yet
            except KeyboardInterrupt:
                pass
            return bool(np.all(out == 0xAA))

        gm.copy(a[:1000], variant="memcpy")
        signal.signal(signal.SIGALRM, interrupt)
        began = time.perf_counter()
        gm.copy(a, out=out, variant="memcpy")
        whole = time.perf_counter() - began
        print(json.dumps(any(attempt(whole / 8) for _ in range(20))))
        """.replace("HANGS", str(processes.HANGS))
    )
    assert found is True


TRANSFERS = {  # each takes several times as long as the 20 ms between looks for signals
    "strided to the device": (27, "[::2]", "gm.to_device(a)"),
    "rows to the device": (27, ".reshape(2, -1)[:, ::2]", "gm.to_device(a)"),
    "contiguous to the device": (30, "[: n]", "gm.to_device(a)"),
    "strided to a call": (27, "[::2]", "gm.copy(a)"),
}


@pytest.mark.parametrize("what", TRANSFERS)
def test_a_signal_ends_a_transfer(what):
    """The signal is sent after a sixteenth of the bytes, and handled before three quarters."""
    bits, index, call = TRANSFERS[what]
    filled = python(
        f"""
        import json, os, resource, signal, threading
        import numpy as np
        import gpumem as gm

        n = 2**{bits}
        a = np.zeros(2 * n, "u1"){index}

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()

        class Interrupted(Exception):
            pass

        def handler(*_):
            raise Interrupted(resident() - before)

        def send():
            while resident() - before < n // 16:
                pass
            os.kill(os.getpid(), signal.SIGUSR1)

        gm.copy(np.zeros(1 << 20, "u1")[::2])
        signal.signal(signal.SIGUSR1, handler)
        before = resident()
        sender = threading.Thread(target=send, daemon=True)
        try:
            sender.start()
            result = {call}
            sender.join()
        except Interrupted as interrupt:
            print(json.dumps(interrupt.args[0] / n))
        """
    )
    assert 1 / 16 <= filled < 3 / 4


def test_an_exception_from_a_signal_handler_propagates():
    found = python(
        """
        import json, os, signal
        import numpy as np
        import gpumem as gm
        from midway import Progress, bytes_of, when

        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm("from the handler")

        a = gm.to_device(np.ones(2**23, "u1"))[::-1]
        out = gm.DeviceArray(2**23, "u1")
        progress = Progress(bytes_of(out))
        signal.signal(signal.SIGALRM, handler)

        def attempt():
            "The message of the handler's exception, if it is raised during a call."
            progress.restart()
            sender = when(progress.some, lambda: os.kill(os.getpid(), signal.SIGALRM))
            message = None
            try:
                gm.copy(a, out=out)
                sender.join()
            except Alarm as error:
                message = str(error)
            return message if progress.half_done() else None

        message = next(filter(None, (attempt() for _ in range(20))), "nothing")
        gm.copy(a, out=out)
        print(json.dumps([message, bool(np.all(out.to_host() == 1))]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert found == ["from the handler", True]


def test_a_handler_that_returns_does_not_stop_the_call():
    found = python(
        """
        import json, signal
        import numpy as np
        import gpumem as gm
        from midway import Progress, bytes_of

        a = np.arange(2**24, dtype="u4").view("u1")[: 2**22]
        there, out = gm.to_device(a)[::-1], gm.DeviceArray(2**22, "u1")
        progress = Progress(bytes_of(out))
        nested_results = []

        def handler(*_):
            if progress.half_done():
                nested_results.append(gm.copy(np.arange(9)).tolist())

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        right = True
        for _ in range(100):
            progress.restart()
            gm.copy(there, out=out)
            right = right and out.to_host().tobytes() == a[::-1].tobytes()
            if nested_results:
                break
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps([nested_results[:1] == [list(range(9))], right]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert found == [True, True]


def test_a_handler_that_calls_the_interrupted_function():
    """Both calls need the one table of constants: the handler gets an exception, no deadlock."""
    message, right = python(
        """
        import json, signal
        import numpy as np
        import gpumem as gm

        messages = []
        x, few = np.ones(2**20, "f4"), np.ones(3, "f4")

        def handler(*_):
            try:
                gm.polynomial(few, few, variant="constant")
            except gm.UnavailableError as error:
                messages.append(str(error))

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        got = gm.polynomial(x, few, variant="constant")
        while not messages and x.size < 2**27:  # until a call is long enough to check for signals
            x = np.ones(2 * x.size, "f4")
            got = gm.polynomial(x, few, variant="constant")
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps([messages[0], bool(np.all(got == 3))]))
        """,
        GPUMEM_SIM_THREADS="1",
    )
    assert "polynomial" in message and "signal handler" in message
    assert right


def test_only_the_main_thread_handles_signals():
    """Ctrl-C interrupts the main thread at once; a simulation in another thread continues."""
    found = python(
        """
        import json, os, signal, threading, time
        import numpy as np
        import gpumem as gm
        from midway import Progress, bytes_of

        a = np.arange(2**24, dtype="u4").view("u1")[: 2**23]
        there, out = gm.to_device(a), gm.DeviceArray(2**23, "u1")
        progress = Progress(bytes_of(out))

        def attempt():
            "Whether Ctrl-C arrives before the other thread ends, and whether its result is right."
            progress.restart()
            worker = threading.Thread(target=lambda: gm.copy(there[::-1], out=out))
            worker.start()
            while not progress.some():
                time.sleep(0.0005)
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(HANGS)
                interrupted = False
            except KeyboardInterrupt:
                interrupted = progress.half_done()
            worker.join()
            return interrupted, out.to_host().tobytes() == a[::-1].tobytes()

        found = []
        while len(found) < 20 and not any(interrupted for interrupted, _ in found):
            found.append(attempt())
        print(json.dumps([found[-1][0], all(right for _, right in found)]))
        """.replace("HANGS", str(processes.HANGS)),
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


# ---- fork -------------------------------------------------------------------------------------


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


# ---- exit of the interpreter ------------------------------------------------------------------


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
