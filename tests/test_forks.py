"""Children of fork do not wait for locks that threads of the parent held."""

import pytest
from processes import python

# What threads of the parent are doing while it forks, and the child does as well.
BUSY = {
    "traffic": 'gm.traffic("copy", a, variant="scalar")',
    "polynomial": 'gm.polynomial(a, a[:4], variant="constant")',
    "static_value": 'gm.static_value(a[:1], variant="symbol")',
    "sample": 'gm.sample(a.reshape(64, 64), a.reshape(-1, 2), variant="texture")',
    "prepared": "prepared.launch()",
    "to_device": "gm.to_device(a[::2])",
    "transfer": "gm.copy(a)",
}


@pytest.mark.parametrize("work", BUSY)
def test_a_fork_while_threads_work(work):
    python(
        f"""
        import os, signal, threading, warnings
        import numpy as np
        import gpumem as gm
        from gpumem import _core

        warnings.simplefilter("ignore")  # of Python, about forks beside threads
        a = np.ones(4096, "f4")
        there, out = gm.to_device(a.reshape(64, 64)), gm.DeviceArray((64, 64))
        prepared = _core.prepare("transpose", "strided", (there,), out, None, (0, 0))
        stop = False

        def work():
            {BUSY[work]}

        def repeat():
            while not stop:
                work()

        work()
        threads = [threading.Thread(target=repeat) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = set()
        for _ in range(30):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                work()
                os._exit(0)
            codes.add(os.waitpid(child, 0)[1])
            if codes != {{0}}:
                break
        stop = True
        for thread in threads:
            thread.join()
        assert codes == {{0}}, codes
        """
    )


def test_traffic_does_not_ask_the_loader():
    """A child can observe a kernel although the loader's list is locked."""
    python(
        """
        import ctypes, os, signal, threading, warnings
        import gpumem as gm

        warnings.simplefilter("ignore")  # of Python, about forks beside threads
        gm.traffic("copy", shape=64)
        inside, leave = threading.Event(), threading.Event()

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        def hold(*_):
            inside.set()
            leave.wait()
            return 1

        loader = ctypes.CDLL(None)
        holder = threading.Thread(target=lambda: loader.dl_iterate_phdr(hold, None))
        holder.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            gm.traffic("copy", shape=64)
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        leave.set()
        holder.join()
        assert code == 0, code
        """
    )
