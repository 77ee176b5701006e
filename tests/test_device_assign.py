"""d[index] = value on a DeviceArray, against NumPy's."""

import gc
import sys

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core

CUBE = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)

INDICES = [
    0,
    (1, 2, 3),
    ...,
    None,
    (slice(None), 1),
    (slice(None), slice(1, None)),
    (..., slice(1, 3)),
    (..., slice(None, None, 2)),
    (slice(None, None, -1), ..., slice(None, None, -3)),
    (slice(None), slice(None, None, 2), slice(None, None, 2)),
    (0, ..., None),
    (slice(5, 1),),
    (np.int64(1), slice(0, 0)),
]
TARGETS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "sliced": lambda a: a[:, 1:, ::2],
}


@pytest.fixture
def cube(backend):
    return gm.to_device(CUBE, backend=backend)


def numbers(shape, dtype="f4"):
    return (np.arange(np.prod(shape, dtype=int)) + 100).astype(dtype).reshape(shape)


# ---- what is written --------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["device", "device-view", "host", "number"])
def test_as_numpy(index, target, kind, cube):
    wanted = CUBE.copy()
    here, there = TARGETS[target](wanted), TARGETS[target](cube)
    try:
        shape = here[index].shape
    except IndexError:
        with pytest.raises(IndexError):
            there[index] = 1
        return
    if kind == "number":
        value = given = -7.5
    elif kind == "device-view":
        value = numbers(shape[::-1]).T
        given = gm.to_device(numbers(shape[::-1]), backend=cube.backend).T
    else:
        value = numbers(shape)
        given = gm.to_device(value, backend=cube.backend) if kind == "device" else value
    here[index] = value
    there[index] = given
    np.testing.assert_array_equal(cube.to_host(), wanted)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (2, 1, 1), (1, 1, 2, 3, 4)])
@pytest.mark.parametrize("device", [False, True])
def test_broadcast(shape, device, cube):
    value, wanted = numbers(shape), CUBE.copy()
    given = gm.to_device(value, backend=cube.backend) if device else value
    for view in (lambda a: a, lambda a: a[::-1]):
        cube.fill_bytes(255)
        view(wanted)[...] = value
        view(cube)[...] = given
        np.testing.assert_array_equal(cube.to_host(), wanted)
    padded = np.full((2, 3, 9), -1, "f4")
    there = gm.to_device(padded, backend=cube.backend)
    padded[..., 1::2] = value
    there[..., 1::2] = given
    np.testing.assert_array_equal(there.to_host(), padded)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f8", "c16", "V3", "S5", [("a", "i2"), ("b", "u1")]])
def test_elements_of_any_size(dtype, backend):
    size = np.dtype(dtype).itemsize
    here = np.arange(4 * 5 * 6 * size).astype("u1").view(dtype).reshape(4, 5, 6)
    value = here[::-1, ::-1, ::-1].copy()
    for view in (lambda a: a[1:3, ::2, 1:5], lambda a: a.T[1:, :, ::3], lambda a: a[:, 4]):
        there, wanted = gm.to_device(here, backend=backend), here.copy()
        view(wanted)[...] = view(value)
        view(there)[...] = view(gm.to_device(value, backend=backend))
        assert there.to_host().tobytes() == wanted.tobytes()


def test_fields(backend):
    here = np.zeros((3, 4), [("x", "f4"), ("y", "i8")])
    there = gm.to_device(here, backend=backend)
    for array in (here, there):
        array["y"][1:] = np.arange(4)
        array["x"] = 4
    here[0, 0] = value = np.array((2.5, 9), here.dtype)[()]
    there[0, 0] = value
    assert there.to_host().tobytes() == here.tobytes()


def test_many_dimensions(backend):
    shape = (2,) * 12
    wanted = np.zeros((4,) * 12, "u1")
    there = gm.to_device(wanted, backend=backend)
    index = (slice(None, None, 2),) * 12
    for array in (wanted, there):
        array[index] = numbers(shape, "u1")
    assert there.to_host().tobytes() == wanted.tobytes()
    ones = gm.to_device(np.zeros((1,) * 64, "f4"), backend=backend)
    ones[...] = np.full((1,) * 64, 3, "f4")
    assert ones.item() == 3


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (np.s_[:-1], np.s_[1:]),
        (np.s_[1:], np.s_[:-1]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[:20:2], np.s_[1:11]),
        (np.s_[:10], np.s_[0:20:2]),
        (np.s_[3:4], np.s_[:]),
        (np.s_[:], np.s_[:]),
    ],
    ids=str,
)
def test_overlapping(source, target, backend):
    here = np.arange(24)
    there = gm.to_device(here, backend=backend)
    here[target] = here[source].copy()
    there[target] = there[source]
    assert there.tolist() == here.tolist()


def test_overlapping_transposed(backend):
    here = np.arange(49.0).reshape(7, 7)
    there = gm.to_device(here, backend=backend)
    there[...] = there.T
    there[1:, ::2] = there[:-1, 1:5]
    here[...] = here.T.copy()
    here[1:, ::2] = here[:-1, 1:5].copy()
    np.testing.assert_array_equal(there.to_host(), here)


# ---- what is taken ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("f4", 1.5),
        ("f4", True),
        ("f8", np.float32(0.1)),
        ("f8", 3),
        ("f8", np.int32(-3)),
        ("c8", 1.5),
        ("c8", 1 + 2j),
        ("u1", 255),
        ("?", True),
        ("i8", np.arange(3, dtype="i4")),
        ("f8", np.arange(3, dtype="f4")[::-1]),
        ("M8[ms]", np.datetime64("2026-01-02")),
        ("S4", b"ab"),
        ("U4", "é"),
        ("f4", memoryview(np.arange(3, dtype="f4"))),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, memoryview) else str(given),
)
def test_casts_that_are_safe(dtype, value, backend):
    here = np.zeros(3, dtype)
    there = gm.to_device(here, backend=backend)
    there[...] = value
    here[...] = value
    assert there.to_host().tobytes() == here.tobytes()


@pytest.mark.parametrize(
    ("dtype", "value", "error", "words"),
    [
        ("i4", 1.5, TypeError, "value has dtype float64, which does not cast safely to int32"),
        ("f4", 1j, TypeError, "does not cast safely to float32"),
        ("?", 1, TypeError, "does not cast safely to bool"),
        ("u1", 256, OverflowError, "^value is 256, which does not fit in uint8$"),
        ("u1", -1, OverflowError, "^value is -1, which does not fit in uint8$"),
        ("i8", 2**64, OverflowError, "^value is 18446744073709551616, .* int64$"),
        ("f4", np.float64(1), TypeError, r"float64, which .* float32; astype\(\) converts"),
        ("f4", np.arange(3.0), TypeError, "does not cast safely"),
        ("i4", np.arange(3, dtype="u4"), TypeError, "uint32, which does not cast safely"),
        ("S1", b"ab", TypeError, "does not cast safely"),
        ("V4", 1, TypeError, "^value is 1, which does not cast safely to |V4$"),
        ("S3", 1.5, TypeError, "^value is 1.5, which does not cast safely to |S3$"),
        ("f4", "1", TypeError, "does not cast safely"),
        ("f4", [1, 2, 3], TypeError, "does not cast safely"),
        ("f4", None, TypeError, "value must be .*of this NoneType"),
        ("f4", np.array([None] * 3), TypeError, "plain bytes"),
        ("f4", np.ma.zeros(3), TypeError, "masked"),
        ("f4", np.zeros(2, "f4"), ValueError, r"shape \(2,\), which does not broadcast to \(3,\)"),
        ("f4", np.zeros((2, 3), "f4"), ValueError, r"\(2, 3\), which does not broadcast to \(3,\)"),
        ("f4", np.zeros(0, "f4"), ValueError, r"\(0,\), which does not broadcast"),
    ],
    ids=str,
)
def test_values_that_are_refused(dtype, value, error, words, backend):
    there = gm.to_device(np.zeros(3, dtype), backend=backend)
    with pytest.raises(error, match=words):
        there[...] = value
    assert there.to_host().tobytes() == np.zeros(3, dtype).tobytes()


def test_device_values_keep_their_dtype(backend):
    there = gm.to_device(np.zeros(3), backend=backend)
    for dtype in ("f4", "i8", "M8[s]"):
        with pytest.raises(TypeError, match=r"value has dtype .*, expected dtype\('float64'\)"):
            there[...] = gm.to_device(np.zeros(3, dtype), backend=backend)
    with pytest.raises(ValueError, match=r"\(2,\), which does not broadcast to \(3,\)"):
        there[...] = gm.to_device(np.zeros(2), backend=backend)
    assert there.tolist() == [0, 0, 0]


def test_another_librarys_array(backend):
    class Producer:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    there = gm.to_device(CUBE, backend=backend)
    there[1] = Producer(gm.to_device(CUBE[0] + 1, backend=backend))
    np.testing.assert_array_equal(there.to_host()[1], CUBE[0] + 1)
    there[:, ::2] = Producer(CUBE[:, 1:])  # of the host
    np.testing.assert_array_equal(there.to_host()[:, ::2], CUBE[:, 1:])


@pytest.mark.parametrize("index", [[0], 1.0, True, np.array([0]), {}], ids=str)
def test_other_indices_are_refused(index, cube):
    with pytest.raises(TypeError, match="indexed by integers, slices"):
        cube[index] = 1
    with pytest.raises(IndexError):
        cube[2] = 1
    np.testing.assert_array_equal(cube.to_host(), CUBE)


@pytest.mark.gpu
def test_read_only_memory_stays():
    class ReadOnly:
        def __init__(self, array):
            interface = dict(array.__cuda_array_interface__)
            interface["data"] = (array.pointer, True)
            self.__cuda_array_interface__ = interface

    there = gm.to_device(CUBE, backend="cuda")
    lent = _core.adopt(ReadOnly(there), "x", None)
    for index in (0, ..., (..., 1)):
        with pytest.raises(ValueError, match="the array is read-only"):
            lent[index] = 1
    np.testing.assert_array_equal(there.to_host(), CUBE)
    there[...] = lent[::-1]
    np.testing.assert_array_equal(there.to_host(), CUBE[::-1])


@pytest.mark.gpu
def test_backends_do_not_mix():
    there, other = (gm.to_device(CUBE, backend=name) for name in ("cuda", "sim"))
    for a, b in ((there, other), (other, there)):
        with pytest.raises(ValueError, match=f'value is on backend "{b.backend}", the array is'):
            a[...] = b


def test_elements_that_share_memory_are_refused():
    here = gm.empty(6, "f4", kind="mapped", backend="sim")
    here[...] = 0
    for shape, strides in [((3, 2), (0, 4)), ((3, 3), (4, 4)), ((3, 2), (4, 4)), ((2, 2), (2, 4))]:
        windows = np.lib.stride_tricks.as_strided(here, shape, strides)
        there = _core.over(windows, "sim")
        with pytest.raises(ValueError, match="elements of the array share memory"):
            there[...] = 1
    assert not here.any()


def test_order_with_calls(backend):
    """Assignments wait for calls before them, and calls for assignments, on any stream."""
    stream = gm.Stream(backend=backend)
    there = gm.DeviceArray((64, 100), backend=backend)
    for step in range(20):
        value = gm.copy(gm.to_device(np.full((64, 50), step, "f4"), backend=backend), stream=stream)
        there[:, ::2] = value
        there[:, 1::2] = step + 1
        got = gm.copy(there, stream=stream).to_host()
        assert (got[:, ::2] == step).all() and (got[:, 1::2] == step + 1).all()


def test_nothing_is_left_behind(cube, backend):
    host, value = CUBE[:, :, ::2].copy(), gm.to_device(CUBE, backend=backend)

    def everything():
        cube[0, 1, 2] = 1.5
        cube[...] = np.float32(2)
        cube[..., ::2] = host
        cube[1:, ::2] = value[:1, ::2]
        cube[...] = cube[::-1]
        for misuse in (1j, "a", host, host.astype("f8"), [1], value[0, 0, :2], cube.view("i4")):
            with pytest.raises((TypeError, ValueError)):
                cube[...] = misuse
        with pytest.raises(TypeError):
            del cube[0]

    watched = [cube, host, value, cube.dtype, host.dtype]
    for _ in range(3):
        everything()
    gc.collect()  # what other tests left may hold dtypes, too, and go at any time
    counts = [sys.getrefcount(one) for one in watched]
    used = gm.pool_info(backend=backend)["device"]["used"]
    for _ in range(50):
        everything()
    now = [sys.getrefcount(one) for one in watched]
    assert all(after <= before for after, before in zip(now, counts, strict=True)), (now, counts)
    assert gm.pool_info(backend=backend)["device"]["used"] == used
