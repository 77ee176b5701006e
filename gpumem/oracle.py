"""What every family should compute, in NumPy: arguments, results, and how near is equal.

One entry per family. ``verify``, ``traffic(shape=)``, ``bench`` and the tests live on it and
know no family by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from . import _core, sizes
from .variants import Variant, find, variants


class Case(NamedTuple):
    """One call for ``verify``: made by :func:`cases`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parameters: dict[str, Any]


class _Family(NamedTuple):
    # Fresh random input arrays, from shape, dtype, random generator and the keywords.
    arguments: Callable[..., tuple[Any, ...]]
    # The result, from the inputs, `variant` and the keywords of the family's function.
    expected: Callable[..., np.ndarray[Any, Any]]
    # Largest error allowed per element of the result; None: equal byte for byte.
    bound: Callable[..., np.ndarray[Any, Any]] | None
    # Bytes read and written, and floating-point operations or None, of one call.
    work: Callable[..., tuple[int, int | None]]
    # The shape whose first input has about so many bytes.
    shape: Callable[[int, int], tuple[int, ...]]
    # What bench holds the family against: another variant's GB/s in the same run.
    reference: tuple[str, str]
    # For verify: sizes at and past every edge, element sizes, keywords.
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    parameters: tuple[dict[str, Any], ...]
    # Variants that take not every shape: those they take, from shape and element size.
    takes: dict[str, Callable[[tuple[int, ...], int], bool]] = {}  # noqa: RUF012
    # Variants that only bound the others, and do another job.
    bounds: tuple[str, ...] = ()
    # `shape` for variants that want their arrays in another one.
    shapes_of: dict[str, Callable[[int, int], tuple[int, ...]]] = {}  # noqa: RUF012
    # Bytes of the first input by which traffic is told, where no shape is given.
    traffic: int = 2**22
    # Variants with a bound of their own.
    coarse: tuple[str, ...] = ()
    # Parameters that mean nothing to a variant. They never change what any variant returns.
    ignores: dict[str, tuple[str, ...]] = {}  # noqa: RUF012
    # The arguments for which the claims of the table hold, where the usual ones will not do.
    claimed: Callable[[tuple[np.ndarray[Any, Any], ...]], tuple[Any, ...]] = lambda arguments: (
        arguments
    )


# ---- helpers ------------------------------------------------------------------------------

# Random bytes repeat after a prime number of them, so that no two tiles of a large array
# are alike: a kernel that reads the wrong one is found out.
_PERIOD = 2**24 - 3


def _mend(a: np.ndarray[Any, Any], random: np.random.Generator) -> None:
    """Draw again what not every pattern of bytes is a value of: truth values and text."""
    if a.dtype.names is not None:
        for name in a.dtype.names:
            _mend(a[name], random)
    elif a.dtype.kind == "b" and a.size:
        a[...] = random.integers(0, 2, a.shape, dtype=np.uint8)
        a.flat[0] = True
    elif a.dtype.kind == "U" and a.dtype.itemsize:
        letters = random.integers(97, 123, (*a.shape, a.dtype.itemsize // 4), dtype=np.uint32)
        a[...] = letters.view(f"U{letters.shape[-1]}")[..., 0]


def _random(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Return an array of random bytes, none of them 0, that NumPy can also print."""
    a = np.empty(shape, dtype)
    if dtype.itemsize == 0:
        return a
    raw = a.reshape(-1).view(np.uint8)
    done = min(raw.size, _PERIOD)
    raw[:done] = random.integers(1, 256, done, dtype=np.uint8)
    while done < raw.size:  # doubling whole periods
        more = min(done, raw.size - done)
        raw[done : done + more] = raw[:more]
        done += more
    _mend(a, random)
    return a


def _opaque(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of elements as so many bytes, which NumPy moves whole.

    Copying a structure as such, it may leave the padding between the fields behind.
    """
    return a.view(f"V{a.dtype.itemsize}")


def _bytes(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in a row as unsigned integers, or as rows of bytes: equal means equal."""
    flat = np.ascontiguousarray(_opaque(a)).reshape(-1)
    if a.dtype.itemsize in (1, 2, 4, 8):
        return flat.view(f"u{a.dtype.itemsize}")
    return flat.view(np.uint8).reshape(flat.size, a.dtype.itemsize)


def _show(a: np.ndarray[Any, Any], place: int) -> str:
    one = a.reshape(-1)[place : place + 1]  # a scalar would not keep every bit
    raw = one.tobytes()
    return f"{one[0]} (bytes {raw[:16].hex()}{'…' if len(raw) > 16 else ''})"


# ---- copy ---------------------------------------------------------------------------------

_PADDED = np.dtype([("small", "u1"), ("large", "f8")], align=True)


def _copy_expected(a: Any, **_: Any) -> np.ndarray[Any, Any]:
    a = np.asarray(a)
    return np.array(_opaque(a), order="C").view(a.dtype) if a.dtype.itemsize else a.copy()


# ---- access -------------------------------------------------------------------------------


def _count(length: int, offset: int = 1, stride: int = 2) -> int:
    return len(range(*slice(offset, None, stride).indices(length)))


def _strided_read_expected(
    a: Any, offset: int = 1, stride: int = 2, **_: Any
) -> np.ndarray[Any, Any]:
    return _copy_expected(np.asarray(a)[offset::stride])


def _strided_write_expected(
    out: Any, a: Any, offset: int = 1, stride: int = 2, **_: Any
) -> np.ndarray[Any, Any]:
    result = _copy_expected(out)
    if result.dtype.itemsize:
        _opaque(result)[offset::stride] = _opaque(np.ascontiguousarray(a))
    return result


def _strided_write_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **parameters: Any
) -> tuple[Any, ...]:
    if len(shape) != 1:
        raise ValueError(f"shape is {shape}, expected one dimension")
    return tuple(_random((n,), dtype, random) for n in (shape[0], _count(shape[0], **parameters)))


def _strided_work(shape: tuple[int, ...], itemsize: int, **parameters: Any) -> tuple[int, None]:
    """The bytes that are wanted, once read and once written; not the sectors they lie in."""
    return 2 * itemsize * _count(math.prod(shape), **parameters), None


def _gather_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """As many places as there are elements, of both signs, each as likely as any other."""
    n = math.prod(shape)
    return _random(shape, dtype, random), random.integers(-n, n, n) if n else np.empty(0, "i8")


_OFFSETS = ({}, {"offset": 0, "stride": 1}, {"offset": -3, "stride": -7}, {"offset": 9**9})
_LINES = ((0,), (1,), (2,), (33,), (1027,), (65537,))


# ---- layout -------------------------------------------------------------------------------


def _floats(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Numbers of every size, infinities and NaN; random bytes if it is no float at all."""
    if dtype.kind != "f":
        return (_random(shape, dtype, random),)
    a = (random.standard_normal(shape) * 10.0 ** random.integers(-9, 9, shape)).astype(dtype)
    a[random.random(shape) < 0.01] = np.nan
    a[random.random(shape) < 0.01] = -np.inf
    return (a,)


def _shift_points_expected(
    p: Any, dx: float = 1.0, dy: float = -1.0, variant: str = "auto", **_: Any
) -> np.ndarray[Any, Any]:
    p = np.asarray(p)
    soa = p.shape[0] == 2 and (p.shape[1] != 2 or variant == "soa")
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.array([dx, dy]).astype(p.dtype)
        return p + (shift[:, None] if soa else shift)


# ---- spaces -------------------------------------------------------------------------------

_TERMS = 16  # coefficients of the polynomial that the family is told by


def _polynomial_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    if dtype.kind != "f":
        return _random(shape, dtype, random), _random((_TERMS,), dtype, random)
    x = random.uniform(-1.5, 1.5, shape).astype(dtype)
    x[random.random(shape) < 0.01] = np.nan
    x[random.random(shape) < 0.01] = np.inf
    return x, random.standard_normal(_TERMS).astype(dtype)


def _horner(x: Any, coefficients: Any) -> np.ndarray[Any, Any]:
    """In the widest floats that NumPy has here."""
    x = np.asarray(x).astype(np.longdouble)
    value = np.zeros(x.shape, np.longdouble)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        for i, c in enumerate(np.asarray(coefficients)[::-1]):
            value = value * x + c if i else np.full(x.shape, c, np.longdouble)
    return value


def _polynomial_expected(x: Any, coefficients: Any, **_: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return _horner(x, coefficients).astype(np.asarray(x).dtype)


def _polynomial_bound(x: Any, coefficients: Any, **_: Any) -> np.ndarray[Any, Any]:
    """A rounding per product and per sum of each step, the last of the expected one, subnormals."""
    x, coefficients = np.abs(x), np.abs(coefficients)
    finfo = np.finfo(x.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = _horner(x, coefficients) * (2 * len(coefficients) + 1) * finfo.eps
        return (sizes + len(coefficients) * finfo.smallest_subnormal).astype(np.float64)


def _sample_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """An image, and as many points as pixels: in between, on pixels, and outside."""
    image = random.standard_normal(shape).astype(dtype)
    count = math.prod(shape)
    xy = random.uniform(-2, np.maximum(shape[::-1], 1) + 2.0, (count, 2)).astype("f4")
    on_pixel = random.random(count) < 0.1
    xy[on_pixel] = np.rint(xy[on_pixel])
    return image, xy


def _corners(image: Any, xy: Any) -> tuple[Any, Any, Any]:
    """The four pixels around each point, in float64, and the shares of the right and lower ones."""
    image = np.asarray(image).astype(np.float64)
    last = np.array(image.shape[::-1]) - 1
    at = np.clip(np.nan_to_num(np.asarray(xy).astype(np.float64), nan=0.0), 0, last)
    low = np.minimum(np.floor(at).astype(np.int64), last)
    high = np.minimum(low + 1, last)
    (left, top), (right, below) = low.T, high.T
    pixels = image[top, left], image[top, right], image[below, left], image[below, right]
    return np.array(pixels), *(at - low).T


def _mix(a: Any, b: Any, share: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.where(share == 0, a, (1 - share) * a + share * b)


def _sample_expected(image: Any, xy: Any, **_: Any) -> np.ndarray[Any, Any]:
    if len(np.asarray(xy)) == 0:
        return np.empty(0, "f4")
    (a, b, c, d), across, down = _corners(image, xy)
    return _mix(_mix(a, b, across), _mix(c, d, across), down).astype("f4")


def _sample_bound(image: Any, xy: Any, variant: str = "auto", **_: Any) -> np.ndarray[Any, Any]:
    """Roundings of three interpolations; the texture unit's shares are off by up to 1/256 each."""
    if len(np.asarray(xy)) == 0:
        return np.empty(0)
    pixels, _, _ = _corners(image, xy)
    with np.errstate(invalid="ignore"):
        rounded = 8 * np.finfo("f4").eps * np.abs(pixels).max(axis=0)
        if variant == "texture":
            rounded = rounded + np.ptp(pixels, axis=0) / 120
    return rounded


def _number(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """One number, whatever the shape."""
    return (random.integers(-1000, 1000, ()).astype(dtype),)


def _static_value_expected(x: Any, **_: Any) -> np.ndarray[Any, Any]:
    x = np.asarray(x)
    with np.errstate(over="ignore"):
        return np.asarray(x + x.dtype.type(2))


# ---- prefetch -----------------------------------------------------------------------------

_ROW = 8192  # elements of a row by which prefetch_sum is told, if there are as many


def _prefetch_sum_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Numbers on which f is lively; infinities and NaN in some rows, as one spoils a sum."""
    if dtype.kind != "f":
        return (_random(shape, dtype, random),)
    a = random.standard_normal(shape).astype(dtype)
    for row in np.flatnonzero(random.random(shape[:1]) < 0.1):
        if a[row].size:
            a[row].flat[random.integers(a[row].size)] = random.choice([np.inf, -np.inf, np.nan])
    return (a,)


def _prefetch_sum_terms(a: Any, work: int = 2) -> np.ndarray[Any, Any]:
    y = np.array(a, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(work):
            y = np.exp(-y * y) + 0.25 * y
    return y


def _prefetch_sum_expected(a: Any, work: int = 2, **_: Any) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore", over="ignore"):
        return _prefetch_sum_terms(a, work).sum(axis=1)


def _prefetch_sum_bound(a: Any, work: int = 2, **_: Any) -> np.ndarray[Any, Any]:
    """Sums in another order, and an exp of another library: 1e-12 of the terms' magnitudes."""
    with np.errstate(over="ignore"):
        return 1e-12 * np.abs(_prefetch_sum_terms(a, work)).sum(axis=1)


# ---- transpose ----------------------------------------------------------------------------

_BLOCK = 512  # rows and columns at a time: a large matrix turned at once misses every cache


def _transpose_expected(a: Any, variant: str = "auto", **_: Any) -> np.ndarray[Any, Any]:
    a = _copy_expected(a)
    if variant in _FAMILIES["transpose"].bounds:
        return a
    turned = np.empty(a.shape[::-1], a.dtype)
    if a.dtype.itemsize:
        to, move = _opaque(turned), _opaque(a)
        for row in range(0, a.shape[0], _BLOCK):
            for column in range(0, a.shape[1], _BLOCK):
                rows, columns = slice(row, row + _BLOCK), slice(column, column + _BLOCK)
                to[columns, rows] = move[rows, columns].T
    return turned


def _whole_vectors(shape: tuple[int, ...], itemsize: int) -> bool:
    """Whether the rows of both matrices are made of 16-byte vectors."""
    return 0 in shape or all(side * itemsize % 16 == 0 for side in shape)


def _matrix_shape(nbytes: int, itemsize: int) -> tuple[int, int]:
    """The square of about so many bytes, a multiple of 64 wide if it is that wide at all."""
    side = math.isqrt(nbytes // itemsize)
    side = side // 64 * 64 or side
    return side, side


def _whole_tiles(arguments: tuple[np.ndarray[Any, Any], ...]) -> tuple[Any, ...]:
    """The upper left corner, powers of two high and wide: no tile hangs over its edge."""
    rows, columns = (1 << n.bit_length() - 1 for n in arguments[0].shape)
    return (np.ascontiguousarray(arguments[0][:rows, :columns]),)


# ---- sgemm --------------------------------------------------------------------------------


def _sgemm_sides(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise ValueError(f"shape is {shape}, expected (m, n, k): a is m x k, b is k x n")
    return shape


def _sgemm_arguments(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    random: np.random.Generator,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> tuple[Any, ...]:
    """Normal numbers; infinities and NaN in few lines, as one spoils a whole one.

    Large products have none: they are there to be measured.
    """
    m, n, k = _sgemm_sides(shape)
    share = 0.01 if m * n * k < 2**26 else 0.0
    sides = [(k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n)]
    sides += [(m, n)] if beta != 0 else []
    if dtype.kind != "f":
        return tuple(_random(side, dtype, random) for side in sides)
    arrays = []
    for side in sides:
        a = random.standard_normal(side, np.float32).astype(dtype, copy=False)
        for line in np.flatnonzero(random.random(side[0]) < share):
            if a[line].size:
                place = random.integers(a[line].size)
                a[line, place] = random.choice([np.inf, -np.inf, np.nan])
        arrays.append(a)
    return tuple(arrays)


def _sgemm_terms(
    arrays: tuple[Any, ...],
    change: Callable[[Any], Any],
    alpha: float,
    beta: float,
    trans_a: bool,
    trans_b: bool,
) -> tuple[np.ndarray[Any, Any], Any]:
    """The product and what is added to it, in double precision, of changed numbers."""
    a, b, c = (*(np.asarray(x) for x in arrays), None, None)[:3]
    a, b = (x.T if turned else x for x, turned in ((a, trans_a), (b, trans_b)))
    shape = a.shape[0], b.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        alpha, beta = (change(float(np.float32(x))) for x in (alpha, beta))
        product, added = np.zeros(shape), np.zeros(shape)
        if alpha != 0 and a.shape[1] != 0:
            product = alpha * (change(a.astype(np.float64)) @ change(b.astype(np.float64)))
        if beta != 0:
            added = beta * change(np.asarray(c).astype(np.float64))
    return product, added


def _sgemm_expected(
    *arrays: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> np.ndarray[Any, Any]:
    product, added = _sgemm_terms(arrays, lambda x: x, alpha, beta, trans_a, trans_b)
    with np.errstate(invalid="ignore", over="ignore"):
        return (product + added).astype(np.float32)


def _sgemm_bound(
    a: Any,
    *others: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> np.ndarray[Any, Any]:
    """Sums in any order, with products rounded or not.

    A term is rounded as a product, in each of the at most k sums, by alpha, and in the last
    sum: k + 3 times half a unit in the last place, taken here as a whole one. A rounding to a
    subnormal number errs by half the smallest, which alpha and beta may enlarge. What comes of
    infinities and NaN is exact.
    """
    depth = np.shape(a)[0 if trans_a else 1]
    product, added = _sgemm_terms((a, *others), np.abs, alpha, beta, trans_a, trans_b)
    eps, least = np.finfo(np.float32).eps, float(np.finfo(np.float32).smallest_subnormal)
    with np.errstate(invalid="ignore", over="ignore"):
        tiny = (
            (depth + 1) * abs(float(np.float32(alpha))) + abs(float(np.float32(beta))) + 3
        ) * least
        error = (depth + 3) * eps * product + 2 * eps * (added + product) + tiny
    return np.where(np.isfinite(error), error, 0.0)


def _sgemm_work(shape: tuple[int, ...], itemsize: int, beta: float = 0.0, **_: Any) -> Any:
    """Each array once, and a multiplication and an addition per term of each sum."""
    m, n, k = _sgemm_sides(shape)
    elements = m * k + k * n + (2 if beta != 0 else 1) * m * n
    return elements * itemsize, 2 * m * n * k


def _sgemm_shape(nbytes: int, itemsize: int) -> tuple[int, int, int]:
    side, _ = _matrix_shape(nbytes, itemsize)
    return side, side, side


# ---- add ----------------------------------------------------------------------------------


def _addends(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    flat = (math.prod(shape),)
    return tuple(_floats(flat, dtype, random)[0].reshape(shape) for _ in range(2))


def _add_expected(a: Any, b: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.asarray(a) + np.asarray(b))


_FAMILIES = {
    "copy": _Family(
        arguments=lambda shape, dtype, random, **_: (_random(shape, dtype, random),),
        expected=_copy_expected,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * int(np.prod(shape, dtype=object)) * itemsize, None),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,)),
        dtypes=("bool", "int16", "float32", "float64", "complex128", "S3", _PADDED),
        parameters=({}, {"max_blocks": 3}),
    ),
    "strided_read": _Family(
        arguments=lambda shape, dtype, random, **_: (_random(shape, dtype, random),),
        expected=_strided_read_expected,
        bound=None,
        work=_strided_work,
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=_LINES,
        dtypes=("bool", "int16", "float32", "float64", "complex128", "S3", _PADDED),
        parameters=_OFFSETS,
    ),
    "strided_write": _Family(
        arguments=_strided_write_arguments,
        expected=_strided_write_expected,
        bound=None,
        work=_strided_work,
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=_LINES,
        dtypes=("bool", "int16", "float32", "float64", "complex128", "S3", _PADDED),
        parameters=_OFFSETS,
    ),
    "gather": _Family(
        arguments=_gather_arguments,
        expected=lambda a, index, **_: _copy_expected(_copy_expected(a)[np.asarray(index)]),
        bound=None,
        # The index is read as well.
        work=lambda shape, itemsize, **_: (math.prod(shape) * (2 * itemsize + 8), None),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=_LINES,
        dtypes=("bool", "int16", "float32", "float64", "complex128", "S3", _PADDED),
        parameters=({},),
        claimed=lambda arguments: (arguments[0], np.arange(arguments[0].size)),
    ),
    "shift_points": _Family(
        arguments=_floats,
        expected=_shift_points_expected,
        bound=lambda p, **_: np.zeros(np.shape(p)),
        work=lambda shape, itemsize, **_: (2 * math.prod(shape) * itemsize, None),
        shape=lambda nbytes, itemsize: (nbytes // itemsize // 2, 2),
        reference=("copy", "memcpy"),
        shapes=((0, 2), (2, 0), (1, 2), (2, 1), (2, 2), (33, 2), (2, 33), (65537, 2), (2, 65537)),
        dtypes=("float32", "float64"),
        parameters=({"dx": 1.5, "dy": -0.1}, {"dx": 0.0, "dy": 1e300}),
        takes={
            "aos": lambda shape, _: shape[1] == 2,
            "aos_vec2": lambda shape, _: shape[1] == 2,
            "soa": lambda shape, _: shape[0] == 2,
        },
        shapes_of={"soa": lambda nbytes, itemsize: (2, nbytes // itemsize // 2)},
    ),
    "polynomial": _Family(
        arguments=_polynomial_arguments,
        expected=_polynomial_expected,
        bound=_polynomial_bound,
        work=lambda shape, itemsize, **_: (
            2 * math.prod(shape) * itemsize,
            2 * _TERMS * math.prod(shape),
        ),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7)),
        dtypes=("float32", "float64"),
        parameters=({}, {"carveout": 50}),
    ),
    "sample": _Family(
        arguments=_sample_arguments,
        expected=_sample_expected,
        bound=_sample_bound,
        # A point and its value; how often a pixel is read depends on the points.
        work=lambda shape, itemsize, **_: (math.prod(shape) * (itemsize + 12), None),
        shape=_matrix_shape,
        reference=("copy", "memcpy"),
        shapes=((0, 0), (1, 1), (1, 9), (9, 1), (2, 2), (31, 33), (257, 130)),
        dtypes=("float32",),
        parameters=({},),
        coarse=("texture",),
    ),
    "static_value": _Family(
        arguments=_number,
        expected=_static_value_expected,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * itemsize, None),
        shape=lambda nbytes, itemsize: (),
        reference=("copy", "memcpy"),
        shapes=((),),
        dtypes=("float64", "float32", "int32", "int64"),
        parameters=({},),
    ),
    "prefetch_sum": _Family(
        arguments=_prefetch_sum_arguments,
        expected=_prefetch_sum_expected,
        bound=_prefetch_sum_bound,
        work=lambda shape, itemsize, **_: ((math.prod(shape) + shape[0]) * itemsize, None),
        shape=lambda nbytes, itemsize: (
            max(1, nbytes // itemsize // _ROW),
            min(nbytes // itemsize, _ROW),
        ),
        reference=("prefetch_sum", "baseline"),
        shapes=((0, 5), (3, 0), (1, 1), (2, 31), (3, 127), (5, 128), (7, 1000), (2, 12345)),
        dtypes=("float64",),
        parameters=(
            {},
            {"distance": 1, "padding": 0},
            {"distance": 16, "padding": 0, "threads": 32, "sync": True},
            {"distance": 9, "work": 1, "threads": 96},
            {"distance": 5, "work": 0, "sync": True},
        ),
        ignores={"baseline": ("distance", "padding"), "any": ("distance", "padding")}
        | dict.fromkeys(
            (
                "unroll",
                "scalar_batch",
                "scalar_rolling",
                "smem_rolling_async_interleaved",
                "l2",
                "bulk",
            ),
            ("padding",),
        ),
    ),
    "transpose": _Family(
        arguments=lambda shape, dtype, random, **_: (_random(shape, dtype, random),),
        expected=_transpose_expected,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * int(np.prod(shape, dtype=object)) * itemsize, None),
        shape=_matrix_shape,
        reference=("copy", "memcpy"),
        shapes=(
            (0, 0),
            (0, 5),
            (7, 0),
            (1, 1),
            (1, 70),
            (70, 1),
            (31, 33),
            (64, 64),
            (127, 257),
            (5, 4099),
            (4099, 3),
            (640, 384),
        ),
        dtypes=("bool", "int16", "float32", "float64", "complex128", "S3", _PADDED),
        parameters=({},),
        bounds=("copy_row", "copy_col"),
        takes={
            "tile_vec8": _whole_vectors,
            "tile_vec16": _whole_vectors,
            "tma": _whole_vectors,
            "narrow": lambda shape, _: min(shape) <= 64,
        },
        shapes_of={"narrow": lambda nbytes, itemsize: (nbytes // itemsize // 16, 16)},
        claimed=_whole_tiles,
    ),
    "add": _Family(
        arguments=_addends,
        expected=lambda a, b, **_: _add_expected(a, b),
        bound=lambda a, b, **_: np.zeros(np.shape(a)),
        work=lambda shape, itemsize, **_: (3 * math.prod(shape) * itemsize, math.prod(shape)),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((), (0,), (1,), (3,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7), (4, 0)),
        dtypes=("float32", "float64", "int32", "int64", "uint32", "uint64"),
        parameters=({},),
    ),
    "sgemm": _Family(
        arguments=_sgemm_arguments,
        expected=_sgemm_expected,
        bound=_sgemm_bound,
        work=_sgemm_work,
        shape=_sgemm_shape,
        reference=("sgemm", "cublas"),
        shapes=(
            (0, 0, 0),
            (0, 5, 3),
            (5, 0, 3),
            (5, 3, 0),
            (1, 1, 1),
            (1, 70, 33),
            (70, 1, 33),
            (33, 31, 17),
            (127, 129, 5),
            (128, 128, 16),
            (128, 256, 64),
            (129, 130, 131),
            (300, 200, 513),
        ),
        dtypes=("float32",),
        parameters=(
            {},
            {"trans_a": True},
            {"trans_b": True},
            {"trans_a": True, "trans_b": True, "alpha": -0.5, "beta": 2.0},
            {"alpha": 0.0, "beta": 1.5},
            {"alpha": 3.0, "beta": 1.0},
        ),
        claimed=lambda arguments: tuple(
            np.ascontiguousarray(x) for x in (arguments[0][:128, :32], arguments[1][:32, :128])
        ),
        traffic=2**16,
    ),
}


# ---- the interface ------------------------------------------------------------------------


def _rungs(family: str) -> list[str]:
    return [variant.name for variant in variants(family)]


def _find(family: str) -> _Family:
    try:
        return _FAMILIES[family]
    except (KeyError, TypeError):
        known = ", ".join(_FAMILIES)
        raise ValueError(f"there is no family {family!r}; the families are: {known}") from None


def dtype_for(family: str, dtype: Any = None) -> np.dtype[Any]:
    """Return a dtype; None is the one that the family is told by, float32 if it takes that."""
    if dtype is None:
        known = _find(family).dtypes
        dtype = "float32" if "float32" in known else known[0]
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"dtype {dtype} holds Python objects, which no device can read")
    return dtype


def arguments(
    family: str, shape: Any, dtype: Any = None, seed: int | None = None, **parameters: Any
) -> tuple[Any, ...]:
    """Return fresh random input arrays for a family.

    Parameters
    ----------
    family : str
        Which family.
    shape : int or tuple of int
        The shape that the family is told by: for copy, that of `a`.
    dtype : dtype, optional
        Of the inputs. Any but object: numbers are random bytes, NaN and infinities
        included, none of them 0, where the family does not compute with them. By default
        float32, or what the family takes instead.
    seed : int, optional
        The same seed gives the same arrays.
    **parameters
        The keywords of the family's function, where they decide on the size of an array.

    Raises
    ------
    ValueError
        If the family is unknown, or `shape` is no shape or too large.
    TypeError
        If `dtype` is no dtype, or holds objects.
    """
    entry, dtype = _find(family), dtype_for(family, dtype)
    sides = sizes.check_shape(shape, dtype.itemsize)
    return entry.arguments(sides, dtype, np.random.default_rng(seed), **parameters)


def placed(variant: Variant, a: np.ndarray[Any, Any], backend: str) -> np.ndarray[Any, Any]:
    """Return the array in the kind of host memory that the variant needs, copied if need be."""
    if variant.memory is None:
        return a
    there = _core.empty(a.shape, a.dtype, kind=variant.memory, backend=backend)
    there[...] = a
    return there


def told_dtype(variant: Variant) -> str:
    """Return the dtype that a variant is told by: the family's, or one of a size that it takes."""
    dtype = dtype_for(variant.family)
    if variant.itemsizes and dtype.itemsize not in variant.itemsizes:
        return {1: "uint8", 2: "uint16", 8: "float64", 16: "complex128"}[variant.itemsizes[0]]
    return dtype.name


def claimed_arguments(variant: Variant, nbytes: int) -> tuple[Any, ...]:
    """Return arguments of about so many bytes for which the variant's claims hold."""
    entry, dtype = _find(variant.family), told_dtype(variant)
    shape = shape_for(variant.family, nbytes, dtype, variant.name)
    return entry.claimed(arguments(variant.family, shape, dtype, seed=3))


def expected(
    family: str, *arguments: Any, variant: str = "auto", **parameters: Any
) -> np.ndarray[Any, Any]:
    """Return what the family's function should return, computed by NumPy.

    Parameters
    ----------
    family : str
        Which family.
    *arguments : array_like
        Its inputs, on the host; they are not changed.
    variant : str
        Which kernel: those that only bound the others do another job.
    **parameters
        The keywords of its function that change the meaning or the way.
    """
    return _find(family).expected(*arguments, variant=variant, **parameters)


def bound(
    family: str, *arguments: Any, variant: str = "auto", **parameters: Any
) -> np.ndarray[Any, Any] | None:
    """Return the largest error allowed per element, None where not a bit may differ."""
    function = _find(family).bound
    if function is not None:
        return function(*arguments, variant=variant, **parameters)
    if variant != "auto" and find(family, variant).kinds:  # moves numbers: NaN is any NaN
        return np.zeros(expected(family, *arguments, variant=variant, **parameters).shape)
    return None


def job(family: str, variant: str) -> str:
    """Return a name that variants with the same result have in common."""
    return variant if variant in _find(family).bounds else "auto"


def ignores(family: str, variant: str) -> tuple[str, ...]:
    """Return the parameters that mean nothing to a variant."""
    return _find(family).ignores.get(variant, ())


def accuracy(family: str, variant: str) -> str:
    """Return a name that variants with the same result and the same bound have in common."""
    if variant in _find(family).coarse:
        return variant
    numbers = variant != "auto" and variant in _rungs(family) and find(family, variant).kinds
    return f"{job(family, variant)}{' of numbers' if numbers else ''}"


def takes(variant: Variant, shape: Any, dtype: Any) -> bool:
    """Return whether a variant promises to take arrays of this shape and dtype.

    What it does not take it refuses with a ValueError. Alignment and layout are not asked
    after: arrays are taken to be whole and contiguous.
    """
    dtype = dtype_for(variant.family, dtype)
    if variant.itemsizes and dtype.itemsize not in variant.itemsizes:
        return False
    if variant.kinds and dtype.kind not in variant.kinds:
        return False
    special = _find(variant.family).takes.get(variant.name)
    return special is None or special(sizes.check_shape(shape, dtype.itemsize), dtype.itemsize)


def compare(family: str, got: Any, wanted: Any, within: Any = None) -> None:
    """Raise AssertionError with the first index at which two arrays differ.

    Parameters
    ----------
    family : str
        For the message.
    got, wanted : ndarray
        Must agree in shape and dtype.
    within : ndarray, optional
        The largest absolute error per element; NaN equals NaN then. By default, every byte
        must be the same, so the payload of a NaN and the sign of a zero count.
    """
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{family}: got {type(got).__name__}, expected an ndarray")
    if got.shape != wanted.shape:
        raise AssertionError(f"{family}: got shape {got.shape}, expected {wanted.shape}")
    if got.dtype != wanted.dtype:
        raise AssertionError(f"{family}: got dtype {got.dtype}, expected {wanted.dtype}")
    if got.dtype.itemsize == 0 or got.size == 0:
        return
    if within is None:
        differs = _bytes(got) != _bytes(wanted)
        if differs.ndim == 2:
            differs = differs.any(axis=1)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            near = abs(got - wanted) <= within
        near |= (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        differs = ~near.reshape(-1)
    count = int(np.count_nonzero(differs))
    if count:
        place = int(differs.argmax())
        index = tuple(map(int, np.unravel_index(place, got.shape)))
        raise AssertionError(
            f"{family}: {count} of {got.size} elements differ, the first at index {index}: "
            f"got {_show(got, place)}, expected {_show(wanted, place)}"
        )


def check(family: str, got: Any, *arguments: Any, variant: str = "auto", **parameters: Any) -> None:
    """Raise AssertionError unless a result is right.

    Moves must be equal byte for byte; sums lie within the family's stated bound.

    Parameters
    ----------
    family : str
        Which family.
    got : ndarray
        The result to check.
    *arguments, variant, **parameters
        What the family's function was called with.
    """
    wanted = expected(family, *arguments, variant=variant, **parameters)
    compare(family, got, wanted, bound(family, *arguments, variant=variant, **parameters))


def work(family: str, shape: Any, dtype: Any, **parameters: Any) -> tuple[int, int | None]:
    """Return bytes read plus written, and floating-point operations or None, of one call."""
    entry, itemsize = _find(family), dtype_for(family, dtype).itemsize
    return entry.work(sizes.check_shape(shape, itemsize), itemsize, **parameters)


def shape_for(
    family: str, nbytes: int, dtype: Any = None, variant: str = "auto"
) -> tuple[int, ...]:
    """Return the shape, as a variant takes it, whose first input holds about `nbytes` bytes.

    Raises
    ------
    ValueError
        If that is less than one element.
    """
    entry, dtype = _find(family), dtype_for(family, dtype)
    if dtype.itemsize == 0 or nbytes < dtype.itemsize:
        raise ValueError(f"sizes: {nbytes} bytes hold not one element of {dtype}")
    return entry.shapes_of.get(variant, entry.shape)(nbytes, dtype.itemsize)


def traffic_shape(family: str, dtype: Any = None, variant: str = "auto") -> tuple[int, ...]:
    """Return the shape, as a variant takes it, by which its traffic is told."""
    return shape_for(family, _find(family).traffic, dtype, variant)


def reference(family: str) -> tuple[str, str]:
    """Return the family and the variant that a benchmark measures beside this family."""
    return _find(family).reference


def cases(family: str) -> Iterator[Case]:
    """Yield the calls that ``verify`` makes: awkward sizes, dtypes and parameters."""
    entry = _find(family)
    for shape in entry.shapes:
        for dtype in entry.dtypes:
            for parameters in entry.parameters:
                yield Case(shape, np.dtype(dtype), parameters)
