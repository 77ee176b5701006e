"""Overlap of outputs and inputs: one rule for every family, variant, layout and backend.

`out` must not share a byte with an input; only sgemm's `c` may be `out` itself. The reference is
np.shares_memory, which is exact, no matter how the arrays would be copied to the device.
"""

import numpy as np
import pytest
import small_calls

import gpumem as gm
from gpumem.families import oracle

BUFFER_BYTES = 2**18  # bytes; input and output are views of one such buffer
MIDDLE = 2**13  # default offset in bytes
INPUTS = [
    (family, name)
    for family in gm.families()
    for name in small_calls.make(family).arrays
    if not (family in small_calls.IN_PLACE and name == "out")
]
VARIANTS = {
    f: ["auto", *(v.name for v in gm.variants(f) if v.memory is None)] for f in gm.families()
}


def dense(buffer, a, at=MIDDLE):
    """A contiguous view of the buffer with the shape and dtype of a, at byte offset `at`."""
    return buffer[at : at + a.nbytes].view(a.dtype).reshape(a.shape)


def padded(buffer, a, gap):
    """A view like a with `gap` bytes after each row; also returns the first gap."""
    if a.ndim == 0:
        return dense(buffer, a, 0), buffer[a.nbytes : a.nbytes + gap]
    row = a.nbytes // len(a)
    rows = buffer[: len(a) * (row + gap)].reshape(len(a), row + gap)
    view = rows[:, :row].view(a.dtype)
    return (view if a.ndim == 2 else view[:, 0]), rows[0, row:]


def strided(buffer, a, first=0):
    """A view like a: every other element of a longer array, starting at `first`."""
    if a.ndim == 0:
        return dense(buffer, a, MIDDLE + first * a.itemsize)
    longer = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    return dense(buffer, longer)[..., first::2]


# Each function maps (buffer, input, output) to views of the buffer with those shapes and dtypes.
LAYOUTS = {
    "same": lambda r, a, out: (dense(r, a), dense(r, out)),
    "one-element-on": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE + out.itemsize)),
    "one-element-before": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE - out.itemsize)),
    "one-byte-on": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE + 1)),
    "input-one-byte-on": lambda r, a, out: (dense(r, a, MIDDLE + 1), dense(r, out)),
    "last-byte": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE + a.nbytes - 1)),
    "first-byte": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE - out.nbytes + 1)),
    "backwards": lambda r, a, out: (dense(r, a)[::-1], dense(r, out)),
    "columns-backwards": lambda r, a, out: (dense(r, a)[..., ::-1], dense(r, out, MIDDLE + 16)),
    "turned": lambda r, a, out: (dense(r, np.empty(a.shape[::-1], a.dtype)).T, dense(r, out)),
    "thin": lambda r, a, out: (strided(r, a), dense(r, out, MIDDLE + 16)),
    "thin-from-1": lambda r, a, out: (strided(r, a, 1), dense(r, out)),
    "rows-apart": lambda r, a, out: (padded(r, a, 16)[0], dense(r, out, 16)),
    "behind": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE + a.nbytes)),
    "before": lambda r, a, out: (dense(r, a), dense(r, out, MIDDLE - out.nbytes)),
    "between-rows": lambda r, a, out: (
        (lambda view, gap: (view, dense(gap, out, 0)))(*padded(r, a, out.nbytes + -out.nbytes % 16))
    ),
}  # fmt: skip
# The output is strided too; only host arrays allow that.
HOST_LAYOUTS = {
    "interleaved": lambda r, a, out: (strided(r, a), strided(r, out, 1)),
    "interleaved-backwards": lambda r, a, out: (strided(r, a)[::-1], strided(r, out, 1)),
    "thin-both": lambda r, a, out: (strided(r, a), strided(r, out)),
    "thin-both-backwards": lambda r, a, out: (strided(r, a)[::-1], strided(r, out)),
    "halves": lambda r, a, out: (padded(r, a, 512)[0], padded(r[256:], out, 512)[0]),
}


def same_elements(a, b):
    return a.ctypes.data == b.ctypes.data and (a.shape, a.strides) == (b.shape, b.strides)


def check(family, name, variant, layout, backend, where):
    """The call is refused if and only if np.shares_memory says that bytes are shared."""
    call = small_calls.make(family, variant)
    buffer = np.zeros(BUFFER_BYTES, "u1")
    a, out = layout(buffer, call.arrays[name], call.result)
    is_out = (family, name) == ("sgemm", "c") and same_elements(a, out)
    shared = np.shares_memory(a, out) and not is_out
    a[...], out[...] = call.arrays[name], call.result  # not used if they overlap
    if where == "device":
        buffer = gm.to_device(buffer, backend=backend)
        a, out = layout(buffer, call.arrays[name], call.result)
    others = {
        key: gm.to_device(value, backend=backend) if where == "device" else value
        for key, value in call.arrays.items()
        if key not in (name, "out")
    }
    arguments = others | {name: a, "out": out}
    keywords = {"variant": variant, "backend": backend}
    before = buffer.to_host() if where == "device" else buffer.copy()
    try:
        got = call.run(family, **arguments, **keywords)
    except gm.UnavailableError:
        return
    except ValueError as error:
        assert ("overlaps" in str(error)) == shared, error
        if shared:
            assert str(error).startswith(f"out overlaps {name} in memory")
        else:  # the variant does not support this layout
            assert variant != "auto" and f"variant {variant}" in str(error), error
        after = buffer.to_host() if where == "device" else buffer
        assert np.array_equal(before, after)
        return
    assert not shared, "nothing was refused"
    assert got is out
    arguments_in_order = [
        call.result if key == "out" else value for key, value in call.arrays.items()
    ]
    results = [x.to_host() if where == "device" else np.asarray(x, order="C") for x in (a, out)]
    oracle.check(family, results[1], *arguments_in_order, variant=variant, **call.keywords)
    assert is_out or np.array_equal(results[0], call.arrays[name])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_on_the_device(family, name, layout, backend):
    for variant in VARIANTS[family]:
        check(family, name, variant, LAYOUTS[layout], backend, "device")


@pytest.mark.parametrize("layout", [*LAYOUTS, *HOST_LAYOUTS])
@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_on_the_host(family, name, layout, backend):
    for variant in VARIANTS[family]:
        check(family, name, variant, (LAYOUTS | HOST_LAYOUTS)[layout], backend, "host")


def test_an_undecided_overlap_is_refused(backend):
    """The search is limited in steps, not in time, so the answer does not depend on the machine."""
    as_strided = np.lib.stride_tricks.as_strided
    buffer = np.zeros(192163377, "i1")  # the pages are never touched
    a = as_strided(buffer, (1049, 1049, 1049), (36674, 61119, 85569))
    out = as_strided(buffer[64023025:], (1049, 1049, 1049), (12223, 12224, 0))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(a, out, max_work=100_000)
    with pytest.raises(ValueError, match="out overlaps a in memory"):
        gm.copy(a, out=out, backend=backend)


def test_to_host_follows_the_same_rule(monkeypatch):
    """On the simulator, from_dlpack borrows host memory, so to_host can overlap it."""
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    host = np.arange(64, dtype="f4")
    device = gm.from_dlpack(host)
    for array, out in (
        (device, host),
        (device[:32], host[1:33]),
        (device[::-1], host),
        (device[::2], host[32:]),
        (device[:32], host[::-2]),
    ):
        with pytest.raises(ValueError, match="out overlaps the array in memory"):
            array.to_host(out=out)
    assert np.array_equal(host, np.arange(64))
    for array, out, wanted in (
        (device[::2], host[1::2], np.arange(0, 64, 2)),
        (device[:32][::2], host[:31:-2], np.arange(0, 32, 2)),
    ):
        assert array.to_host(out=out) is out and np.array_equal(out, wanted)
        host[...] = np.arange(64)


def test_one_object_may_be_several_inputs(backend):
    device_array = gm.to_device(np.ones((8, 8), "f4"), backend=backend)
    out = gm.DeviceArray((8, 8), backend=backend)
    assert gm.add(device_array, device_array, out=out) is out and (out.to_host() == 2).all()
    assert (
        gm.sgemm(device_array, device_array, out, beta=1, out=out) is out
        and (out.to_host() == 10).all()
    )
