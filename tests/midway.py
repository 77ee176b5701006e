"""Observe a result while a call is writing it, to test progress without depending on time."""

import ctypes
import threading
import time

import numpy as np

POISON = 0xAA


def bytes_of(array):
    """Return a view of the bytes of a contiguous array on the simulator (host memory)."""
    return np.ctypeslib.as_array((ctypes.c_ubyte * array.nbytes).from_address(array.pointer))


class Progress:
    """Whether some or all of a result is written, judged by about 64 of its bytes.

    A byte is unwritten while it is POISON; the result must not contain that value.
    """

    def __init__(self, whole):
        self.whole = whole
        self.marks = whole[:: max(1, len(whole) // 64)]

    def restart(self):
        self.whole.fill(POISON)

    def some(self):
        return bool(np.any(self.marks != POISON))

    def all(self):
        return bool(np.all(self.marks != POISON))

    def half_done(self):
        return self.some() and not self.all()


def when(condition, action):
    """Start a thread that runs the action once the condition holds; return the thread."""

    def wait():
        while not condition():
            time.sleep(0.0005)
        action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread
