"""gpumem.DeviceArray: attributes, views, lifetime, copies to the host, and what it refuses."""

import operator

import numpy as np
import pytest
from device_array_cases import ATTRIBUTES, CUBE, POINT, make_cube, make_points, same

import gpumem as gm

cube = pytest.fixture(make_cube)
points = pytest.fixture(make_points)


pytestmark = pytest.mark.usefixtures("frozen")


# ---- attributes ---------------------------------------------------------------------


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


# ---- views --------------------------------------------------------------------------

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


# ---- filling ------------------------------------------------------------------------


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
