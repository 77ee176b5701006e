"""Ctrl-C, wherever it comes."""

import processes
import pytest
from threads_cases import python

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
        times = []
        for _ in range(3):  # the first call is slower: it has pages of its own mapped
            began = time.perf_counter()
            gm.copy(a, out=out, variant="memcpy")
            times.append(time.perf_counter() - began)
        print(json.dumps(any(attempt(min(times) / 8) for _ in range(20))))
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
    """The signal is sent after a sixteenth of the bytes, and handled before three quarters.

    On a busy machine the sender may get its turn late, so there are several attempts.
    """
    bits, index, call = TRANSFERS[what]
    code = f"""
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
    assert any(1 / 16 <= python(code) < 3 / 4 for _ in range(20))


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
