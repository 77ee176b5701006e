"""The calls that crosscheck_ncu.py compares: a few of every variant with a kernel of its own."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

Array = np.ndarray[Any, Any]

MOVING = ("copy", "strided_read", "strided_write", "gather", "shift_points", "transpose")
OTHERS = (
    *("chase", "stream", "reduce", "scan", "histogram", "scatter_add", "permute"),
    *("add", "polynomial", "sample", "prefetch_sum", "sgemm", "matmul"),
)
PRODUCTS = ("sgemm", "matmul")
FAMILIES = MOVING + OTHERS

# What variants launch beside their own kernels, and the simulator counts. It does not count what
# checks an index or copies coefficients.
HELPERS = {
    "matmul": ("add_shares",),
    "reduce": ("zeros", "add_partials"),
    "scan": ("zeros", "tile_sums", "scan_sums"),
    "sgemm": ("pack", "zeros", "add_shares"),
}


class Call(NamedTuple):
    """The arrays and keyword arguments of one call, and a name for them."""

    case: str
    arrays: Callable[[], tuple[Any, ...]]
    parameters: dict[str, Any]


def _random(family: str, shape: Any, dtype: Any = None, seed: int = 0) -> Callable[[], Any]:
    return functools.partial(oracle.arguments, family, shape, dtype, seed=seed)


# ---- families that move elements ----------------------------------------------------------


def _floats(nbytes: int, seed: int = 0) -> Array:
    a: Array
    (a,) = oracle.arguments("copy", nbytes // 4, "float32", seed)
    return a


def _strided_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    def arrays(offset: int, stride: int) -> tuple[Any, ...]:
        a = _floats(nbytes)
        if variant.family == "strided_read":
            return (a,)
        return a, _floats(a[offset::stride].nbytes, seed=1)

    for offset, stride in ((0, 1), (1, 1), (8, 1), (31, 1), (0, 2), (0, 3), (0, 8), (0, 32)):
        parameters = {"offset": offset, "stride": stride}
        make = functools.partial(arrays, offset, stride)
        yield Call(f"offset {offset}, stride {stride}", make, parameters)


def _gather_cases(_: gm.Variant, nbytes: int) -> Iterator[Call]:
    n = nbytes // 4 // 32 * 32
    indices: dict[str, Callable[[np.random.Generator], Array]] = {
        "in order": lambda random: np.arange(n),
        "one address": lambda random: np.full(n, 7),
        "permuted in lines": lambda random: random.permuted(
            np.arange(n).reshape(-1, 32), axis=1
        ).reshape(n),
        "random": lambda random: random.permutation(n),
    }

    def arrays(case: str) -> tuple[Any, ...]:
        return _floats(4 * n), indices[case](np.random.default_rng(1)).astype(np.int64)

    for case in indices:
        yield Call(case, functools.partial(arrays, case), {})


def _plain_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    parameters = {"dx": 1.0, "dy": -1.0} if variant.family == "shift_points" else {}
    plain = functools.partial(oracle.claimed_arguments, variant, nbytes)
    yield Call("plain", plain, parameters)

    # A few elements less on each side: unaligned rows and partial warps.
    (a,) = plain()
    shape = tuple(max(side - 3 - 2 * axis, 1) for axis, side in enumerate(a.shape))
    if variant.family != "shift_points" and oracle.takes(variant, shape, a.dtype):
        yield Call("ragged", _random(variant.family, shape, a.dtype), parameters)


# ---- permute ------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Arrays whose axes change places, and the variants (a pattern) that they are for."""

    variants: str
    case: str
    dtypes: str
    shape: Callable[[int], tuple[int, ...]]  # of about so many elements
    axes: tuple[int, ...]


def _side(n: int) -> int:
    """Return the side of two square matrices of n elements: whole vectors of any element."""
    return max(math.isqrt(n // 2) // 16 * 16, 16)


def _pixels(n: int) -> int:
    """Return the pixels of each of two images with three channels: whole vectors."""
    return max(n // 6 // 16 * 16, 16)


def _images(more: int, planes: bool) -> Callable[[int], tuple[int, ...]]:
    if planes:
        return lambda n: (2, 3, _pixels(n) + more)
    return lambda n: (2, _pixels(n) + more, 3)


UNITS = "uint8 uint16 float32"
MATRIX = (0, 2, 1)
LAYOUTS = (
    Layout("elementwise|runs|tiles", "reversed", "float32", lambda n: (round(n ** (1 / 3)),) * 3,
           (2, 1, 0)),
    Layout("elementwise|runs|tiles|matrices:shifted.*", "odd matrices", UNITS,
           lambda n: (2, _side(n) - 1, _side(n) - 3), MATRIX),
    Layout("matrices:.*", "whole matrices", f"{UNITS} float64 complex128",
           lambda n: (2, _side(n), _side(n)), MATRIX),
    Layout("joined:.*", "axes in reverse", f"{UNITS} float64 complex128",
           lambda n: (24, max(n // 9216, 1), 24, 16), (3, 2, 1, 0)),
    Layout("joined:.*", "columns of two odd axes", "uint8 uint16",
           lambda n: (max(n // 315, 1) | 1, 3, 21, 5), (2, 1, 3, 0)),
    Layout("words", "rows with steps", UNITS, lambda n: (max(n // 123, 1), 41, 3), MATRIX),
    Layout("words", "short rows", UNITS, lambda n: (max(n // 15, 1), 3, 5), MATRIX),
    Layout("words", "two short axes", "uint8 uint16", lambda n: (max(n // 6, 1), 2, 3), MATRIX),
    Layout("runs|shifted", "odd rows", "uint8",
           lambda n: (16, max(n // (16 * 301), 1), 301), (1, 0, 2)),
    Layout(r"pixels:b\d+", "to planes", UNITS, _images(0, planes=False), MATRIX),
    Layout(r"pixels:b\d+", "to pixels", UNITS, _images(0, planes=True), MATRIX),
    Layout("pixels:.*_words", "words to planes", UNITS, _images(4, planes=False), MATRIX),
    Layout("pixels:.*_words", "words to pixels", UNITS, _images(4, planes=True), MATRIX),
    Layout("pixels:.*_shifted", "odd planes", UNITS, _images(3, planes=False), MATRIX),
    Layout("pixels:.*_shifted", "odd pixels", UNITS, _images(3, planes=True), MATRIX),
    Layout("channels:.*", "to planes", UNITS, lambda n: (2, max(n // 18, 9) | 1, 9), MATRIX),
    Layout("channels:.*", "to pixels", UNITS, lambda n: (2, 12, max(n // 24, 12) // 8 * 8), MATRIX),
    Layout("packed:small", "short axes", "uint8 uint16",
           lambda n: (5, max(n // 210, 1), 6, 7), (2, 0, 3, 1)),
    Layout("packed:words", "short axes", "float32",
           lambda n: (5, max(n // 210, 1), 6, 7), (2, 0, 3, 1)),
    Layout("packed:.*", "short rows", "uint8 float32",
           lambda n: (max(n // 480, 1), 12, 40), (1, 0, 2)),
)  # fmt: skip


def _permute_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    for layout in LAYOUTS:
        if not re.fullmatch(layout.variants, variant.name):
            continue
        for dtype in map(np.dtype, layout.dtypes.split()):
            shape = layout.shape(nbytes // dtype.itemsize)
            parameters = {"axes": layout.axes}
            if _taken(variant, ((shape, dtype),), parameters):
                make = _random("permute", shape, dtype)
                yield Call(f"{layout.case} of {dtype}", make, parameters)


def _taken(variant: gm.Variant, inputs: tuple[Any, ...], parameters: dict[str, Any]) -> bool:
    """Whether a variant takes such arrays, by the simulator: the same everywhere."""
    values = table.parameters(variant.family, parameters)
    return _core.takes(variant.family, variant.name, inputs, values, "sim") is None


# ---- the others ---------------------------------------------------------------------------


def _chase_cases(_: gm.Variant, nbytes: int) -> Iterator[Call]:
    """Yield chains of at most 16 KiB, which any memory holds: each step is a request."""
    length = min(max(nbytes // 64, 64), 2**14) // 4
    for case, dtype, steps, start in (("plain", "int32", 256, 0), ("few steps", "uint32", 7, 5)):
        make = _random("chase", length, dtype)
        yield Call(case, make, {"steps": steps, "start": start})


def _stream_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    for reads, writes, ragged in ((1, 1, 1), (2, 1, 0), (3, 0, 0), (0, 2, 0), (4, 4, 0)):
        columns = max(nbytes // 4 // max(reads, 1) // 4 * 4, 4) - ragged
        shape, parameters = (reads, columns), {"writes": writes}
        if ragged and not _taken(variant, ((shape, np.dtype("uint32")),), parameters):
            shape = (reads, columns + ragged)
        yield Call(f"{reads} read, {writes} written", _random("stream", shape), parameters)


def _sum_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    for dtype in ("float32", "int64"):
        count = nbytes // np.dtype(dtype).itemsize
        yield Call(dtype, _random(variant.family, count, dtype), {})
    if variant.family == "reduce":
        yield Call("one block", _random(variant.family, nbytes // 4096), {})


def _histogram_cases(_: gm.Variant, nbytes: int) -> Iterator[Call]:
    nbytes = max(nbytes // 4, 1)  # the simulator takes long for equal bytes and global atomics
    yield Call("random", _random("histogram", nbytes), {})
    yield Call("one value", lambda: (np.full(nbytes, 7, np.uint8),), {})


def _scatter_add_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    def arrays(places: str, dtype: str) -> tuple[Any, ...]:
        shape = oracle.shape_for("scatter_add", nbytes, dtype, variant.name)
        out, index, a = oracle.arguments("scatter_add", shape, dtype, seed=0)
        if places == "in order":
            index = np.arange(a.size) % out.size
        elif places == "one place":
            index = np.full(a.size, out.size // 2)
        return out, index.astype(np.int64 if dtype == "float32" else np.int32), a

    for places, dtype in (
        *((places, "float32") for places in ("in order", "random", "one place")),
        ("random", "int32"),
    ):
        yield Call(f"{places}, {dtype}", functools.partial(arrays, places, dtype), {})


def _computing_cases(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    if variant.family in PRODUCTS:
        nbytes = max(nbytes // 16, 2**14)  # as many products as a simulator can count
    dtype = oracle.dtype_of(variant)
    shape = oracle.shape_for(variant.family, nbytes, dtype, variant.name)
    if variant.family == "matmul" and variant.name.startswith("whole"):  # a block per product
        shape = max(nbytes // (shape[0] ** 2 * np.dtype(dtype).itemsize), 1), *shape
    yield Call("plain", _random(variant.family, shape, dtype), {})
    ragged = tuple(max(side - 3 - 2 * axis, 1) for axis, side in enumerate(shape))
    if variant.family in PRODUCTS and oracle.takes(variant, ragged, dtype):
        yield Call("ragged", _random(variant.family, ragged, dtype), {})


# ---- all of them --------------------------------------------------------------------------

CASES: dict[str, Callable[[gm.Variant, int], Iterator[Call]]] = {
    "gather": _gather_cases,
    "strided_read": _strided_cases,
    "strided_write": _strided_cases,
    "chase": _chase_cases,
    "stream": _stream_cases,
    "reduce": _sum_cases,
    "scan": _sum_cases,
    "histogram": _histogram_cases,
    "scatter_add": _scatter_add_cases,
    "permute": _permute_cases,
    **dict.fromkeys(("add", "polynomial", "sample", "prefetch_sum", *PRODUCTS), _computing_cases),
}


def calls(variant: gm.Variant, nbytes: int) -> Iterator[Call]:
    """Yield the calls on which a variant is checked: full, aligned tiles and harder cases."""
    return CASES.get(variant.family, _plain_cases)(variant, nbytes)


def checked(families: Sequence[str]) -> list[gm.Variant]:
    """Return the variants that have a kernel of their own, which the simulator can run."""
    everything = [v for name in families for v in gm.variants(name, instances=True)]
    return [v for v in everything if v.source.endswith(".cu") and not v.reason_on("sim")]


def kernel(family: str, variant: str) -> str:
    """Return the C symbol of a variant's kernel."""
    return f"{family}_{variant}".replace(":", "_")


def kernels(families: Sequence[str]) -> list[str]:
    """Return the names of all functions that the calls of some families launch."""
    own = [kernel(v.family, v.name) for v in checked(families)]
    return own + [kernel(name, helper) for name in families for helper in HELPERS.get(name, ())]


def owner(name: str, names: Sequence[str]) -> str:
    """Return the kernel that one is, or is a part of: the longest name that it begins with."""
    return max((n for n in names if f"{name}_".startswith(f"{n}_")), key=len, default=name)
