"""Arrays that are given to call after call, and others at their addresses; prints how many."""

import os
import random

import fake_device as fake  # first
import numpy as np
from exchange_api_cases import API, lend, load_library
from processes import at_once

import gpumem as gm

BYTES = 16384
READ_ONLY = 1  # DLPack's flag
library = load_library(os.environ["PRODUCER"])
Kind = type("Kind", (library.Array,), {API: library.table()})
draw = random.Random(1)
fake.set_devices(int(os.environ["FAKE_DEVICES"]))


class Mirrored:
    """Memory of the device, and the same bytes on the host."""

    def __init__(self):
        self.host = np.random.default_rng(0).integers(0, 256, BYTES, np.uint8)
        self.there = gm.to_device(self.host, backend="cuda")

    def lend(self, view, **said):
        """Lend what is on the device where the view of the host's bytes is."""
        at = self.there.pointer + view.ctypes.data - self.host.ctypes.data
        return lend(Kind, view, data=at, device_type=2, **said)


def views(*all_bytes):
    """The same random view of each, often where another one has been."""
    dtype, gap = draw.choice(["f4", "i4", "i8", "f2"]), draw.random()
    first = draw.choice([0, 0, 512, 16 * draw.randrange(64)])
    shape = [draw.choice([1, 2, 8]) for _ in range(draw.choice([0, 1, 1, 3]))]
    axes = draw.sample(range(len(shape)), len(shape))
    for one in all_bytes:
        run = one[first:].view(dtype)[:: 2 if gap < 0.3 else 1]
        yield run[: int(np.prod(shape))].reshape(shape).transpose(axes)


def many_layouts(count):
    """Each call reads and writes the array that it is given, not one that was at the address."""
    source, target = Mirrored(), Mirrored()
    for _ in range(count):
        a, out = views(source.host, target.host)
        got = gm.copy(source.lend(a))
        assert got.dtype == a.dtype and got.shape == a.shape
        assert got.to_host().tobytes() == a.tobytes()
        theirs = target.lend(out)
        assert gm.copy(source.lend(a), out=theirs) is theirs
        out[...] = a
        np.testing.assert_array_equal(target.there.to_host(), target.host)


def refusals():
    """What a call refuses, it refuses after others have used the same memory."""
    memory = Mirrored()
    a, b, across = (memory.host[at : at + 16].view("f4") for at in (0, 64, 8))
    for _ in range(2):
        assert gm.copy(memory.lend(a), out=memory.lend(b)) is not None
        for out, message in (
            (memory.lend(b, flags=READ_ONLY), "read-only"),
            (memory.lend(across), "overlaps"),
            (memory.lend(b[:3]), "shape"),
            (memory.lend(b.view("i4")), "dtype"),
        ):
            try:
                gm.copy(memory.lend(a), out=out)
            except (TypeError, ValueError) as error:
                assert message in str(error), error
            else:
                raise AssertionError(message)


def streams():
    """Each call follows the stream that its library names now, and is followed there."""
    theirs = [fake.Theirs(value, 1000) for value in (1, 2)]
    memory, host = theirs[0].memory, np.zeros(1000, "u4")
    fake.cuda("cudaStreamSynchronize", theirs[0].stream)
    for value in range(3, 9):
        now = theirs[value % 2].stream
        library.set_stream(now.value)
        fake.cuda("cudaMemsetAsync", memory, value, 4000, now)
        got = gm.copy(lend(Kind, host, data=memory.value, device_type=2))
        fake.cuda("cudaMemsetAsync", memory, 0, 4000, now)
        np.testing.assert_array_equal(got.to_host(), np.full(1000, value * 0x01010101, "u4"))
        fake.cuda("cudaStreamSynchronize", now)
    library.set_stream(0)
    for one in theirs:
        one.free()
    memory, asked = Mirrored(), library.counts()[2]
    a, b, out = (memory.host[at : at + 64].view("f4") for at in (0, 64, 128))
    gm.add(memory.lend(a), memory.lend(b), out=memory.lend(out))
    assert library.counts()[2] == asked + 1  # one stream for all arrays of a call


def threads():
    """Threads take and leave descriptions of the same array, and of others at its address."""
    source, targets = Mirrored(), [Mirrored() for _ in range(8)]
    others = [source.host[:64].view(dtype) for dtype in ("f4", "i4", "i8", "f2")]

    def work(number):
        for i in range(100):
            gm.copy(source.lend(source.host), out=targets[number].lend(targets[number].host))
            a = others[(number + i) % 4][: 4 + i % 3]
            got = gm.copy(source.lend(a))
            assert got.dtype == a.dtype and got.shape == a.shape
            assert got.to_host().tobytes() == a.tobytes()

    at_once(8, work)
    for target in targets:
        np.testing.assert_array_equal(target.there.to_host(), source.host)


before = library.counts()[3]
for pace in (0, 30):
    fake.set_pace(pace, 5)
    many_layouts(300)
    refusals()
    streams()
    threads()
gm.synchronize("cuda")
assert library.counts()[3] == before  # nothing that was lent is kept
print(library.counts()[0])
fake.check()
