"""gpumem.DeviceArray: attributes, views, lifetime, copies to the host, and what it refuses."""

import gc
import operator
import os
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import gpumem as gm

pytestmark = pytest.mark.usefixtures("frozen")

ROOT = Path(__file__).resolve().parent.parent
CUBE = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
POINT = np.dtype([("x", "f4"), ("y", "i8"), ("tags", "S3", (2,)), ("in", [("z", "i2")])])
ATTRIBUTES = "shape strides dtype ndim size nbytes itemsize".split()


@pytest.fixture
def cube(backend):
    return gm.to_device(CUBE, backend=backend)


@pytest.fixture
def points(backend):
    here = np.frombuffer(bytes(i * 29 % 256 for i in range(5 * 4 * POINT.itemsize)), POINT)
    here = here.reshape(5, 4)
    return here, gm.to_device(here, backend=backend)


def same(there, here):
    """The same attributes and, on the host, the same bytes."""
    here = np.asarray(here)
    for name in ATTRIBUTES:
        if name != "strides" or here.size:
            assert getattr(there, name) == getattr(here, name), name
    assert there.contiguous == here.flags.c_contiguous
    got = there.to_host()
    assert type(got) is np.ndarray and got.flags.c_contiguous and got.flags.writeable
    assert (got.shape, got.dtype) == (here.shape, here.dtype)
    assert got.tobytes() == here.tobytes()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


# ---- attributes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((), "f8"),
        ((7,), "u1"),
        ((3, 0, 2), "i4"),
        ((2, 3, 4), "c16"),
        ((5,), POINT),
        ((2, 2), "U3"),
        ((1,) * 64, "i2"),
        ((3,), "M8[ms]"),
    ],
    ids=str,
)
def test_attributes_are_those_of_an_ndarray(shape, dtype, backend):
    there, here = gm.DeviceArray(shape, dtype, backend=backend), np.empty(shape, dtype)
    for name in ATTRIBUTES:
        if name != "strides" or here.size:
            assert getattr(there, name) == getattr(here, name), name
    assert there.backend == backend and there.device == 0
    assert there.contiguous and there.pointer % 256 == 0 and there.pointer > 0


def test_defaults(backend):
    there = gm.DeviceArray(3, backend=backend)
    assert there.shape == (3,) and there.dtype == np.float32
    assert gm.DeviceArray([2, np.int64(3)], backend=backend).shape == (2, 3)
    assert gm.DeviceArray((2,), "(3,)i2", backend=backend).shape == (2, 3)
    assert gm.DeviceArray((), backend=backend).shape == ()
    assert gm.DeviceArray(2).backend == gm.to_device(CUBE).backend == gm.backend()


def test_attributes_cannot_be_set(cube):
    for name in [*ATTRIBUTES, "T", "backend", "device", "pointer", "contiguous", "flags"]:
        with pytest.raises(AttributeError):
            setattr(cube, name, getattr(cube, name))
    with pytest.raises(TypeError, match="item deletion"):
        del cube[0]
    with pytest.raises(AttributeError):
        cube.anything = 1


def test_length(cube, backend):
    assert len(cube) == 2 and len(cube[:0]) == 0
    with pytest.raises(TypeError, match="unsized"):
        len(gm.DeviceArray((), backend=backend))


def test_it_is_not_a_base_class():
    with pytest.raises(TypeError, match="base type"):
        type("Mine", (gm.DeviceArray,), {})


NUMPY = {
    "asarray": np.asarray,
    "array": np.array,
    "cast": lambda d: np.asarray(d, "f8"),
    "nested": lambda d: np.array([d, d]),
    "ufunc": lambda d: np.add(d, 1),
    "ufunc-second": lambda d: np.add(1, d),
    "ufunc-out": lambda d: np.add(CUBE, CUBE, out=(d,)),
    "operator": lambda d: CUBE + d,
    "scalar-operator": lambda d: np.float32(1) * d,
    "sum": np.sum,
    "concatenate": lambda d: np.concatenate([d, d]),
    "copyto": lambda d: np.copyto(CUBE.copy(), d),
    "assignment": lambda d: CUBE.copy().__setitem__(0, d[0]),
    "array-equal": lambda d: np.array_equal(d, d),
    "array-equal-host": lambda d: np.array_equal(CUBE, d),
    "array-equiv": lambda d: np.array_equiv(d, CUBE),
    "allclose": lambda d: np.allclose(d, CUBE),
    "where": lambda d: np.where(d, 1, 0),
    "any": np.any,
    "shape": np.shape,
    "reduce": np.maximum.reduce,
    "scalar-type": lambda d: np.float32(d[0, 0, 0]),
    "equal-to-ndarray": lambda d: CUBE == d,
    "equal-to-scalar": lambda d: np.float32(1) == d,
    "testing": lambda d: np.testing.assert_array_equal(d, d),
    "testing-any": lambda d: np.testing.assert_equal(d, d[...]),
}


@pytest.mark.parametrize("misuse", NUMPY)
def test_numpys_functions_raise_with_advice(misuse, cube):
    with pytest.raises(TypeError, match="to_host"):
        NUMPY[misuse](cube)


PYTHON = {
    **{f"{name}-{kind}": (lambda d, name=name, other=other: getattr(operator, name)(d, other))
       for name in ("eq", "ne", "lt", "le", "gt", "ge")
       for kind, other in (("none", None), ("int", 0), ("ndarray", CUBE))},
    "eq-itself": lambda d: d == d,
    "eq-view": lambda d: d == d[...],
    "eq-reflected": lambda d: 0 == d,
    "in-list": lambda d: d in [1, d],
    "index-of-list": lambda d: [d[...], d].index(d),
    "bool": bool,
    "not": lambda d: not d,
    "if": lambda d: 1 if d else 2,
    "and": lambda d: d and 1,
    "bool-of-one-zero": lambda d: bool(gm.to_device(np.zeros(1), backend=d.backend)),
    "int": lambda d: int(d[0, 0, 0]),
    "float": lambda d: float(d[0, 0, 0]),
    "complex": lambda d: complex(d[0, 0, 0]),
    "index": lambda d: operator.index(d.view("i4")[0, 0, 0]),
    "subscript": lambda d: [1, 2][d.view("i4")[0, 0, 0]],
    "iter": iter,
    "list": list,
    "unpack": lambda d: [*d],
    "contains": lambda d: 0 in d,
    "max": max,
}  # fmt: skip


@pytest.mark.parametrize("misuse", PYTHON)
def test_pythons_operations_raise_with_advice(misuse, cube):
    with pytest.raises(TypeError, match=r"DeviceArray.*to_host\(\).*torch.from_dlpack\(\)"):
        PYTHON[misuse](cube)


@pytest.mark.parametrize(
    ("misuse", "words"),
    [
        (lambda d: np.array_equal(d, d), "numpy.array_equal does not take"),
        (lambda d: np.multiply(d, 2), "numpy.multiply does not take"),
        (np.asarray, "numpy.asarray does not take"),
        (lambda d: d <= 1, "<= does not take"),
        (bool, r"bool\(\) does not take"),
    ],
)
def test_the_message_names_what_was_asked(misuse, words, cube):
    with pytest.raises(TypeError, match=f"^{words}"):
        misuse(cube)


def test_the_hash_is_by_identity(cube):
    """Arrays are keys of caches; equal elements do not make equal keys."""
    view = cube[...]
    assert hash(cube) == hash(cube) and len({cube, cube, view}) == 2
    assert {cube: 1, view: 2}[cube] == 1 and view not in {cube: 1}
    assert cube in [cube] and (cube,) == (cube,)  # Python looks at identity first


INTEGERS = {
    "max_blocks": lambda d, n: gm.copy(CUBE, max_blocks=n),
    "offset": lambda d, n: gm.strided_read(CUBE[0, 0], offset=n),
    "work": lambda d, n: gm.prefetch_sum(np.ones((2, 3)), work=n),
    "alpha": lambda d, n: gm.sgemm(CUBE[0], CUBE[0].T, alpha=n),
    "device": lambda d, n: gm.to_device(CUBE, device=n),
    "stream": lambda d, n: gm.copy(d, stream=n),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_it_is_not_accepted_as_a_number(name, cube):
    number = cube.view("i4")[0, 0, 0]
    with pytest.raises(TypeError, match=rf"^{name} must be .* not (gpumem.)?DeviceArray"):
        INTEGERS[name](cube, number)


ARITHMETIC = [
    *("add sub mul mod lshift rshift and_ xor or_ floordiv truediv matmul pow".split()),
    *("iadd isub imul imod ilshift irshift iand ixor ior ifloordiv itruediv imatmul ipow".split()),
]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_raises_with_advice(name, cube):
    operation = getattr(operator, name)
    words = r"DeviceArray.*to_host\(\).*torch.from_dlpack\(\)"
    for other in (cube, cube[...], 2, 1.5, True, None, [1]):
        with pytest.raises(TypeError, match=words):
            operation(cube, other)
        if not isinstance(other, list):  # list has operators of its own
            with pytest.raises(TypeError, match=words):
                operation(other, cube)
    with pytest.raises(TypeError, match="to_host"):
        operation(cube, CUBE)


@pytest.mark.parametrize(
    ("misuse", "words"),
    [
        (operator.neg, "^unary - does not take"),
        (operator.pos, r"^unary \+ does not take"),
        (operator.invert, "^~ does not take"),
        (abs, r"^abs\(\) does not take"),
        (lambda d: d + d, r"^\+ does not take"),
        (lambda d: divmod(d, 2), r"^divmod\(\) does not take"),
        (lambda d: pow(d, 2, 3), r"^\*\* does not take"),
        (memoryview, "bytes-like"),
    ],
)
def test_operators_in_messages(misuse, words, cube):
    with pytest.raises(TypeError, match=words):
        misuse(cube)


def test_other_libraries_arrays_are_asked_first(cube):
    """CuPy's operators take a DeviceArray on their left."""

    class Other:
        def __radd__(self, left):
            return left

        def __rmatmul__(self, left):
            return left

        def __rpow__(self, left):
            return left

        def __eq__(self, left):
            return NotImplemented

        __hash__ = None

    assert cube + Other() is cube
    assert cube @ Other() is cube
    assert cube ** Other() is cube


def test_attributes_that_compute_are_advised(cube):
    words = {"sim": r"numpy\.from_dlpack\(d\)", "cuda": r"cupy\.from_dlpack\(d\) or torch\."}
    for name in ("sum", "mean", "max", "round", "argsort", "to", "get"):
        assert not hasattr(cube, name) and getattr(cube, name, None) is None
        with pytest.raises(AttributeError, match=f"no attribute '{name}': {words[cube.backend]}"):
            getattr(cube, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        cube.nonsense  # noqa: B018
    if cube.backend == "sim":
        assert np.from_dlpack(cube).sum() == CUBE.sum()


# ---- views ------------------------------------------------------------------------------------

INDICES = [
    0,
    -1,
    np.int8(1),
    np.uint64(1),
    (0, 1),
    (0, 1, 2),
    (-1, -1, -1),
    (),
    ...,
    None,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(5, 1),
    (slice(None), 1),
    (slice(None), slice(2, 0, -2)),
    (..., 1),
    (1, ..., None),
    (None, 0, None, ..., None),
    (..., slice(None, None, 3)),
    (0, 1, 2, ...),
    (np.int64(1), slice(0, 0)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_numpys_and_always_a_view(index, cube):
    items = index if isinstance(index, tuple) else (index,)
    here = CUBE[index] if Ellipsis in items else CUBE[(*items, ...)]
    there = cube[index]
    assert type(there) is gm.DeviceArray
    same(there, here)
    offset = here.__array_interface__["data"][0] - CUBE.__array_interface__["data"][0]
    assert here.size == 0 or there.pointer - cube.pointer == offset
    assert there.backend == cube.backend and there.device == cube.device


@pytest.mark.parametrize(
    "index",
    [
        *(True, np.True_, (True,), [True, False], CUBE > 3),
        *([0], (0, [1]), np.array([0]), np.array(0), (slice(None), np.array([1]))),
        *(1.0, np.float32(0), b"x", ["x"], ("x",), {}),
    ],
    ids=lambda index: type(index).__name__,
)
def test_other_indices_are_refused(index, cube):
    words = "indexed by integers, slices, ... and None, not "
    with pytest.raises(TypeError, match=words):
        cube[index]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (2, IndexError),
        (-3, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((..., ...), IndexError),
        (2**70, IndexError),
        (slice(None, None, 0), ValueError),
        (slice("a", None), TypeError),
        ("x", IndexError),
    ],
    ids=str,
)
def test_indices_out_of_range(index, error, cube):
    with pytest.raises(error):
        cube[index]
    same(cube, CUBE)


def test_fields(points):
    here, there = points
    for field in POINT.names:
        same(there[field], here[field])
        same(there[::2, 1][field], here[::2, 1][field])
        same(there[2, 3][field], here[2, 3, ...][field])
    same(there["in"]["z"], here["in"]["z"])
    with pytest.raises(ValueError, match="no field of name nope"):
        there["nope"]
    with pytest.raises(TypeError):
        there[["x", "y"]]


def test_transposed(cube):
    same(cube.T, CUBE.T)
    same(cube.T.T, CUBE)
    same(cube[0].T[1:], CUBE[0].T[1:])
    assert cube.T.pointer == cube.pointer


@pytest.mark.parametrize(
    "shape", [(24,), (-1,), (4, 6), (2, -1, 2), ((3, 8),), ([24, 1],), (1, 24)]
)
def test_reshaped(shape, cube):
    same(cube.reshape(*shape), CUBE.reshape(*shape))
    assert cube.reshape(*shape).pointer == cube.pointer


def test_reshape_needs_one_run_of_memory(cube, backend):
    same(cube[1].reshape(12), CUBE[1].reshape(12))
    same(gm.to_device(np.float32(3), backend=backend).reshape(1, 1), np.full((1, 1), 3, "f4"))
    same(cube[:0].reshape(0, 5), CUBE[:0].reshape(0, 5))
    for view in (cube.T, cube[:, 1:], cube[::-1]):
        with pytest.raises(ValueError, match=r"C-contiguous.*copy\(\)"):
            view.reshape(-1)
    for shape in ((5,), (-1, -1), (7, -1), (2**62, 2**62)):
        with pytest.raises(ValueError, match=r"reshape|dimension"):
            cube.reshape(*shape)
    for shape in (("a",), (1.5,), ([None],)):
        with pytest.raises(TypeError):
            cube.reshape(*shape)


@pytest.mark.parametrize(
    "dtype", ["i4", "u1", "f8", "c8", "V2", "(2,)i2", [("a", "i2"), ("b", "u2")]]
)
def test_viewed_as_another_dtype(dtype, cube):
    same(cube.view(dtype), CUBE.view(dtype))
    same(cube[1, ::-2].view(dtype), CUBE[1, ::-2].view(dtype))
    assert cube.view(dtype).pointer == cube.pointer


@pytest.mark.parametrize(
    ("dtype", "error"),
    [
        ("O", TypeError),
        (">f4", TypeError),
        ([("a", "O")], TypeError),
        ([("a", ">i4")], TypeError),
        (np.dtypes.StringDType(), TypeError),
        ("nonsense", TypeError),
        ("V3", ValueError),
        ("c16", None),
        ("V32", ValueError),
    ],
    ids=str,
)
def test_views_that_are_refused(dtype, error, cube):
    if error is None:
        same(cube.view(dtype), CUBE.view(dtype))
        return
    with pytest.raises(error):
        cube.view(dtype)
    with pytest.raises(ValueError):
        cube.T.view("c16")
    same(cube, CUBE)


def test_a_view_needs_a_contiguous_last_axis(cube):
    with pytest.raises(ValueError):
        cube.T.view("u1")
    same(cube[:, :, :2].view("u1"), CUBE[:, :, :2].view("u1"))


# ---- to the host ------------------------------------------------------------------------------

VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "sliced": lambda a: a[:, 1:, ::2],
    "one": lambda a: a[1, 2, 3, ...],
    "none": lambda a: a[:, 3:],
    "misaligned": lambda a: a[1, 1, 1:],
}
OUTS = {
    "contiguous": lambda a: np.full(a.shape, 7, a.dtype),
    "fortran": lambda a: np.full(a.shape, 7, a.dtype, order="F"),
    "sliced": lambda a: np.full((*a.shape, 3), 7, a.dtype)[..., 1],
    "reversed": lambda a: np.full(a.size, 7, a.dtype)[::-1].reshape(a.shape),
    "unaligned": lambda a: np.ndarray(a.shape, a.dtype, bytearray(a.nbytes + 1), 1),
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_into_out(view, out, cube):
    here = VIEWS[view](CUBE)
    target = OUTS[out](here)
    assert VIEWS[view](cube).to_host(target) is target
    np.testing.assert_array_equal(target, here)
    target[...] = 7
    assert VIEWS[view](cube).to_host(out=target, stream=None) is target
    np.testing.assert_array_equal(target, here)


def test_bytes_beside_a_strided_out_stay(cube):
    buffer = np.full((2, 3, 8), -1, "f4")
    cube.to_host(buffer[:, :, 1::2])
    np.testing.assert_array_equal(buffer[:, :, 1::2], CUBE)
    assert np.all(buffer[:, :, ::2] == -1)


def test_padding_is_transferred(points):
    here, there = points
    aligned = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    here = here.view("u1")[:, : 16 * 4].copy().view(aligned)
    there = gm.to_device(here, backend=there.backend)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[::2, ::-1]):
        wanted = view(here).view("V16").tobytes()
        assert view(there).to_host().tobytes() == wanted
        for order in "CF":
            target = np.zeros(view(here).shape, aligned, order)
            assert view(there).to_host(target).view("V16").tobytes() == wanted


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((2, 3, 4)), TypeError, "out has dtype.*float64.*float32"),
        (np.zeros((2, 3, 4), ">f4"), TypeError, "out has dtype.*expected.*float32"),
        (np.zeros((2, 3), "f4"), ValueError, r"out .*shape.*\(2, 3\).*\(2, 3, 4\)"),
        (np.zeros((4, 3, 2), "f4"), ValueError, r"out .*shape.*\(4, 3, 2\).*\(2, 3, 4\)"),
        (np.broadcast_to(np.float32(0), (2, 3, 4)), ValueError, "out.*read-only"),
        ([0.0], TypeError, "out must be a NumPy array, not list"),
        (bytearray(96), TypeError, "out must be a NumPy array, not bytearray"),
        (0, TypeError, "out must be a NumPy array, not int"),
    ],
    ids=["dtype", "swapped", "ndim", "shape", "read-only", "list", "bytearray", "int"],
)
def test_a_wrong_out(out, error, words, cube):
    for view, target in ((cube, out), (cube.T.T[...], out)):
        with pytest.raises(error, match=words):
            view.to_host(target)
    assert not np.any(np.asarray(out))


def test_out_has_to_be_on_the_host(cube):
    with pytest.raises(TypeError, match=r"out must be a NumPy array, not gpumem\.Dev"):
        cube.to_host(cube)
    for arguments in (((None, None), {}), ((), {"wrong": 1})):
        with pytest.raises(TypeError):
            cube.to_host(*arguments[0], **arguments[1])
    for stream in (1.5, "s", True):
        with pytest.raises(TypeError, match=r"stream must be a gpumem\.Stream"):
            cube.to_host(stream=stream)


# ---- filling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("byte", [0, 1, 0xAA, 255, np.uint8(7)])
def test_fill_bytes(byte, backend):
    for shape in [(), (0,), (1,), (1027,), (3, 5, 7)]:
        there = gm.DeviceArray(shape, "f8", backend=backend)
        assert there.fill_bytes(byte) is None
        assert there.to_host().tobytes() == bytes([byte]) * there.nbytes


def test_fill_bytes_of_a_view_only(cube):
    cube[1, 1:].fill_bytes(0)
    wanted = CUBE.copy()
    wanted[1, 1:] = 0
    same(cube, wanted)
    cube.view("u1")[0, 0, 1:3].fill_bytes(0xFF)
    wanted.view("u1")[0, 0, 1:3] = 0xFF
    same(cube.view("u1"), wanted.view("u1"))


@pytest.mark.parametrize(
    ("byte", "error"),
    [
        (-1, ValueError),
        (256, ValueError),
        (2**70, ValueError),
        (1.5, TypeError),
        ("a", TypeError),
        (None, TypeError),
    ],
)
def test_fill_bytes_refuses(byte, error, cube):
    with pytest.raises(error):
        cube.fill_bytes(byte)
    for view in (cube.T, cube[:, 1:], cube[::-1]):
        with pytest.raises(ValueError, match="contiguous"):
            view.fill_bytes(0)
    same(cube, CUBE)


# ---- lifetime ---------------------------------------------------------------------------------


def test_a_view_outlives_its_owner(backend):
    here = np.random.default_rng(5).random((64, 1024))
    for make in (
        lambda a: a[3:5, 7:],
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: a.view("i4"),
        lambda a: a[7],
        lambda a: a[...].T[5:].T[::2],
    ):
        view = make(gm.to_device(here, backend=backend))
        gc.collect()
        others = [gm.DeviceArray(here.shape, "f8", backend=backend) for _ in range(8)]
        for one in others:
            one.fill_bytes(0)
        same(view, make(here))
        same(gm.copy(view), np.ascontiguousarray(make(here)))


def test_a_dropped_input_is_not_overwritten_too_soon(backend):
    """The input is freed, and its memory recycled, while the result is being copied."""
    for step in range(50):
        here = np.full(5000, step, "f4")
        there = gm.copy(gm.copy(gm.to_device(here, backend=backend)))
        gm.DeviceArray(5000, backend=backend).fill_bytes(0xFF)
        assert np.array_equal(there.to_host(), here)


def test_deleting_frees_the_memory():
    size = 2**26
    gc.collect()  # what other tests left behind must not be freed in between
    before = resident()
    for _ in range(20):
        there = gm.DeviceArray(size, "u1", backend="sim")
        there.fill_bytes(1)
    assert resident() - before < 2 * size + 2**23
    view = there[:10]
    del there
    assert resident() - before > size / 2
    del view
    gc.collect()
    assert resident() - before < size / 2


def test_results_of_calls_are_freed():
    a = np.ones(2**16, "c16")
    half = np.empty((2**15, 2), "c16")

    def everything():
        gm.copy(a, backend="sim")
        gm.copy(a[::2], out=half[:, 0], backend="sim")
        there = gm.to_device(a, backend="sim")
        gm.copy(there[1::2]).to_host(half[:, 1])
        there[::-1].to_host()
        gm.copy(there, out=gm.copy(there))

    for _ in range(5):
        everything()
    before = resident()
    for _ in range(100):
        everything()
    assert resident() - before < 2**24


def test_nothing_is_left_behind(backend):
    a = np.zeros((4, 5), POINT)
    out, there = a.copy(), gm.to_device(a, backend=backend)
    target = gm.DeviceArray((4, 5), POINT, backend=backend)
    stream = gm.Stream(backend=backend)

    def everything():
        gm.copy(a, backend=backend)
        gm.copy(a, out=out, backend=backend)
        gm.copy(a.T, backend=backend)
        gm.copy(there, out=target, stream=stream)
        gm.copy(there.T)
        there.to_host(), there.T.to_host(), there.to_host(out)
        gm.to_device(a[::2], backend=backend)
        there[1:, None]["x"][..., 0].T.to_host()
        there.reshape(-1).view("u1")[3:].fill_bytes(1)
        repr(there), len(there), there.shape, there.dtype, there.strides, there.pointer
        gm.DeviceArray((2, 3), "f4", backend=backend)

    for _ in range(5):
        everything()
    watched = [a, out, there, target, stream, a.dtype, POINT, there.dtype]
    counts = [sys.getrefcount(value) for value in watched]
    grown = []
    tracemalloc.start()
    try:
        for _ in range(4):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(300):
                everything()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(value) for value in watched] == counts
    assert min(grown) < 300 * 16  # the smallest object has more; caches grow once


def test_streams(backend):
    stream = gm.Stream(backend=backend)
    assert stream.backend == backend and stream.handle > 0
    there = gm.to_device(CUBE, stream=stream, backend=backend)
    del stream
    same(there, CUBE)
    with pytest.raises(TypeError):
        gm.Stream("sim")
    assert gm.synchronize(backend) is None


# ---- prepared calls ---------------------------------------------------------------------------


def test_a_prepared_call_keeps_its_arrays(backend):
    from gpumem import _core

    out = gm.DeviceArray((2, 3, 4), backend=backend)
    prepared = _core.prepare(
        "copy",
        "auto",
        (gm.to_device(CUBE, backend=backend),),
        out,
        gm.Stream(backend=backend),
        (0,),
    )
    gc.collect()
    gm.DeviceArray((2, 3, 4), backend=backend).fill_bytes(0xFF)
    assert prepared.variant in [v.name for v in gm.variants("copy")]
    for launch in (prepared.launch, lambda: _core.launch_all((prepared, prepared), 3)):
        out.fill_bytes(0)
        assert launch() is None
        gm.synchronize(backend)
        same(out, CUBE)
    out.fill_bytes(0)
    for count in (0, -1):
        _core.launch_all([prepared], count)
    _core.launch_all([], 5)
    same(out, np.zeros_like(CUBE))
    with pytest.raises(TypeError):
        type(prepared)()


def test_a_call_that_copies_its_inputs_is_not_prepared(backend):
    """Repeated, it would not see what was written to them since."""
    from gpumem import _core

    wide = gm.to_device(np.ones(6, "f4"), backend=backend)
    out = gm.DeviceArray(3, backend=backend)
    with pytest.raises(ValueError, match="inputs must be C-contiguous and aligned"):
        _core.prepare("add", "auto", (wide[::2], wide[1::2]), out, None, ())
    _core.prepare("add", "auto", (wide[:3], wide[3:]), out, None, ()).launch()
    same(out, np.full(3, 2, "f4"))


# ---- the number of the device -------------------------------------------------------------------


def test_the_device_by_its_number(backend):
    a = np.arange(12.0).reshape(3, 4)
    d = gm.DeviceArray((3, 4), "f8", device=0, backend=backend)
    d.fill_bytes(7)
    gm.synchronize(backend, device=0)
    assert (d.device, d.backend) == (0, backend)
    for number in (0, np.int64(0), None):
        d = gm.to_device(a, device=number, backend=backend)
        assert d.device == 0 and np.array_equal(d.to_host(), a)
        copy = d.T.copy(device=number)
        assert copy.contiguous and copy.pointer != d.pointer
        assert np.array_equal(copy.to_host(), a.T)


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (99, ValueError, "device is 99, "),
        (-1, ValueError, "device is -1: there is no such device"),
        (2**40, ValueError, "device is 1099511627776: there is no such device"),
        (2**80, ValueError, "there is no such device"),
        (True, TypeError, "device must be an int or None, not bool"),
        ("0", TypeError, "device must be an int or None, not str"),
        (0.0, TypeError, "device must be an int or None, not float"),
    ],
)
def test_invalid_device_numbers(number, error, words, backend):
    d = gm.to_device(np.ones(3), backend=backend)
    for call in (
        lambda: gm.DeviceArray(3, device=number, backend=backend),
        lambda: gm.to_device(np.ones(3), device=number, backend=backend),
        lambda: gm.synchronize(backend, device=number),
        lambda: d.copy(device=number),
        lambda: d[::2].copy(device=number),
    ):
        with pytest.raises(error, match=words):
            call()
    assert np.array_equal(d.to_host(), np.ones(3))


# ---- beside cupy.ndarray ------------------------------------------------------------------------

# Public names of cupy.ndarray, CuPy 14.2.
CUPY = """
    T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj
    conjugate copy cstruct cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat
    flatten get imag item itemsize mT max mdspan mean min nbytes ndim nonzero partition prod ptp put
    ravel real reduced_view repeat reshape round scatter_add scatter_max scatter_min searchsorted
    set shape size sort squeeze std strides sum swapaxes take toDlpack tobytes tofile tolist trace
    transpose var view
""".split()


def test_the_page_about_device_arrays(cube):
    text = (ROOT / "docs" / "device-array.md").read_text(encoding="utf-8")
    works, otherwise, handed = (
        re.findall(r"`(\w+)`", " ".join(re.findall(column, part, re.MULTILINE)))
        for column, part in zip(
            (r"^\| (`.*?) \| ", r"^\| (`.*?) \| ", r"^\| (`.*`) \|$"),
            re.split(r"^## .*$", text, flags=re.MULTILINE)[1:4],
            strict=True,
        )
    )
    assert sorted([*works, *otherwise, *handed]) == sorted(CUPY)
    for name in works:
        assert hasattr(cube, name)
    for name in (*otherwise, *handed):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': ") as caught:
            getattr(cube, name)
        assert ("from_dlpack(d)" in str(caught.value)) == (name in handed), name


def test_views_with_axes_in_another_order(cube):
    for axes in ((), (None,), (2, 0, 1), ((0, 2, 1),), (-1, 0, 1)):
        view = cube.transpose(*axes)
        assert view.pointer == cube.pointer
        assert np.array_equal(view.to_host(), CUBE.transpose(*axes))
    assert np.array_equal(cube.swapaxes(0, -1).to_host(), CUBE.swapaxes(0, -1))
    assert np.array_equal(cube.mT.to_host(), CUBE.swapaxes(1, 2))
    assert cube.mT.mT.strides == cube.strides
    with pytest.raises(ValueError, match="repeated axis"):
        cube.transpose(0, 0, 1)
    with pytest.raises(ValueError, match="has 1 dimension, and mT needs matrices"):
        _ = cube[0, 0].mT
    with pytest.raises(TypeError):
        cube.swapaxes(0)
