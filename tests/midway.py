"""Looking at a result while a call is still making it: how far it is, not how long it takes."""

import ctypes
import threading
import time

import numpy as np

POISON = 0xAA


def bytes_of(array):
    """The bytes of a contiguous array on the simulator, which are memory of this process."""
    return np.ctypeslib.as_array((ctypes.c_ubyte * array.nbytes).from_address(array.pointer))


class Progress:
    """How much of a result is written, by a look at a few of its bytes, none of them POISON."""

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
    """A thread, running, that does the action once the condition holds."""

    def wait():
        while not condition():
            time.sleep(0.0005)
        action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread
