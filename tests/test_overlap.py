"""Results and inputs in one memory: one rule for every family, variant, layout and backend.

`out` shares no byte with an input; sgemm's `c` alone may be `out` itself. NumPy's exact answer is
the judge, whatever way the arrays would have gone.
"""

import numpy as np
import pytest
import small_calls

import gpumem as gm
from gpumem.families import oracle

ROOM = 2**16  # bytes that both are cut from
MIDDLE = 2**13
INPUTS = [
    (family, name)
    for family in gm.families()
    for name in small_calls.make(family).arrays
    if (family, name) != ("strided_write", "out")
]
VARIANTS = {
    f: ["auto", *(v.name for v in gm.variants(f) if v.memory is None)] for f in gm.families()
}


def cut(room, a, at=MIDDLE):
    """A contiguous array like a, at an offset in bytes."""
    return room[at : at + a.nbytes].view(a.dtype).reshape(*a.shape)


def spread(room, a, gap):
    """Like a, with a gap of bytes after each row, and the first gap."""
    row = a.nbytes // len(a)
    rows = room[: len(a) * (row + gap)].reshape(len(a), row + gap)
    view = rows[:, :row].view(a.dtype)
    return (view if a.ndim == 2 else view[:, 0]), rows[0, row:]


def thin(room, a, first=0):
    """Like a, every other element of a longer array."""
    longer = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    return cut(room, longer)[..., first::2]


# From a room of bytes, an input and a result to views that are like them.
LAYOUTS = {
    "same": lambda r, a, out: (cut(r, a), cut(r, out)),
    "one-element-on": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE + out.itemsize)),
    "one-element-before": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE - out.itemsize)),
    "one-byte-on": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE + 1)),
    "input-one-byte-on": lambda r, a, out: (cut(r, a, MIDDLE + 1), cut(r, out)),
    "last-byte": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE + a.nbytes - 1)),
    "first-byte": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE - out.nbytes + 1)),
    "backwards": lambda r, a, out: (cut(r, a)[::-1], cut(r, out)),
    "columns-backwards": lambda r, a, out: (cut(r, a)[..., ::-1], cut(r, out, MIDDLE + 16)),
    "turned": lambda r, a, out: (cut(r, np.empty(a.shape[::-1], a.dtype)).T, cut(r, out)),
    "thin": lambda r, a, out: (thin(r, a), cut(r, out, MIDDLE + 16)),
    "thin-from-1": lambda r, a, out: (thin(r, a, 1), cut(r, out)),
    "rows-apart": lambda r, a, out: (spread(r, a, 16)[0], cut(r, out, 16)),
    "behind": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE + a.nbytes)),
    "before": lambda r, a, out: (cut(r, a), cut(r, out, MIDDLE - out.nbytes)),
    "between-rows": lambda r, a, out: (
        (lambda view, gap: (view, cut(gap, out, 0)))(*spread(r, a, out.nbytes + -out.nbytes % 16))
    ),
}  # fmt: skip
# Where the result has gaps as well, which it has on the host alone.
ON_THE_HOST = {
    "interleaved": lambda r, a, out: (thin(r, a), thin(r, out, 1)),
    "interleaved-backwards": lambda r, a, out: (thin(r, a)[::-1], thin(r, out, 1)),
    "thin-both": lambda r, a, out: (thin(r, a), thin(r, out)),
    "thin-both-backwards": lambda r, a, out: (thin(r, a)[::-1], thin(r, out)),
    "halves": lambda r, a, out: (spread(r, a, 512)[0], spread(r[256:], out, 512)[0]),
}


def same_elements(a, b):
    return a.ctypes.data == b.ctypes.data and (a.shape, a.strides) == (b.shape, b.strides)


def check(family, name, variant, layout, backend, where):
    """Make the call; it is refused where NumPy says that bytes are shared, and only there."""
    call = small_calls.make(family, variant)
    room = np.zeros(ROOM, "u1")
    a, out = layout(room, call.arrays[name], call.result)
    is_out = (family, name) == ("sgemm", "c") and same_elements(a, out)
    shared = np.shares_memory(a, out) and not is_out
    a[...], out[...] = call.arrays[name], call.result  # those that share bytes are not run
    if where == "device":
        room = gm.to_device(room, backend=backend)
        a, out = layout(room, call.arrays[name], call.result)
    others = {
        key: gm.to_device(value, backend=backend) if where == "device" else value
        for key, value in call.arrays.items()
        if key not in (name, "out")
    }
    arguments = others | {name: a, "out": out}
    keywords = {"variant": variant, "backend": backend}
    before = room.to_host() if where == "device" else room.copy()
    try:
        got = call.run(family, **arguments, **keywords)
    except gm.UnavailableError:
        return
    except ValueError as error:
        assert ("overlaps" in str(error)) == shared, error
        if shared:
            assert str(error).startswith(f"out overlaps {name} in memory")
        else:  # a kernel that wants another layout
            assert variant != "auto" and f"variant {variant}" in str(error), error
        after = room.to_host() if where == "device" else room
        assert np.array_equal(before, after)
        return
    assert not shared, "nothing was refused"
    assert got is out
    wanted = [call.result if key == "out" else value for key, value in call.arrays.items()]
    here = [x.to_host() if where == "device" else np.ascontiguousarray(x) for x in (a, out)]
    oracle.check(family, here[1], *wanted, variant=variant, **call.keywords)
    assert is_out or np.array_equal(here[0], call.arrays[name])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_on_the_device(family, name, layout, backend):
    for variant in VARIANTS[family]:
        check(family, name, variant, LAYOUTS[layout], backend, "device")


@pytest.mark.parametrize("layout", [*LAYOUTS, *ON_THE_HOST])
@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_on_the_host(family, name, layout, backend):
    for variant in VARIANTS[family]:
        check(family, name, variant, (LAYOUTS | ON_THE_HOST)[layout], backend, "host")


def test_what_is_too_hard_to_decide_is_refused(backend):
    """The search has a limit in steps, not in time: the answer is the same everywhere."""
    strides = np.lib.stride_tricks.as_strided
    room = np.zeros(192163377, "i1")  # never touched
    a = strides(room, (1049, 1049, 1049), (36674, 61119, 85569))
    out = strides(room[64023025:], (1049, 1049, 1049), (12223, 12224, 0))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(a, out, max_work=100_000)
    with pytest.raises(ValueError, match="out overlaps a in memory"):
        gm.copy(a, out=out, backend=backend)


def test_to_host_has_the_same_rule(monkeypatch):
    """Memory that is borrowed on the simulator is the host's."""
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    here = np.arange(64, dtype="f4")
    there = gm.from_dlpack(here)
    for array, out in (
        (there, here),
        (there[:32], here[1:33]),
        (there[::-1], here),
        (there[::2], here[32:]),
        (there[:32], here[::-2]),
    ):
        with pytest.raises(ValueError, match="out overlaps the array in memory"):
            array.to_host(out=out)
    assert np.array_equal(here, np.arange(64))
    for array, out, wanted in (
        (there[::2], here[1::2], np.arange(0, 64, 2)),
        (there[:32][::2], here[:31:-2], np.arange(0, 32, 2)),
    ):
        assert array.to_host(out=out) is out and np.array_equal(out, wanted)
        here[...] = np.arange(64)


def test_one_object_may_be_several_inputs(backend):
    there = gm.to_device(np.ones((8, 8), "f4"), backend=backend)
    out = gm.DeviceArray((8, 8), backend=backend)
    assert gm.add(there, there, out=out) is out and (out.to_host() == 2).all()
    assert gm.sgemm(there, there, out, beta=1, out=out) is out and (out.to_host() == 10).all()
