"""Kernels from .cu files, with their inputs and what NumPy says they should compute.

A ``Case`` is one launch. The manifests in tests/features and tests/foreign list cases; tests run
them on the simulator, tools/crosscheck_modules.py on a GPU too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent

i32, u32, i64, u64 = np.int32, np.uint32, np.int64, np.uint64
f32, f64 = np.float32, np.float64


@dataclass(frozen=True)
class Array:
    """An array argument: how it is made, and whether the kernel writes it."""

    make: Callable[[np.random.Generator], np.ndarray]
    output: bool = False


class Case(NamedTuple):
    """One launch of a kernel.

    ``args`` are Arrays and NumPy scalars. ``expected`` gets the arguments as they are before the
    launch and returns what the arrays with ``output`` hold after it: an array, or a tuple.
    """

    file: str
    kernel: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: Sequence[Any]
    expected: Callable[..., Any]
    shared: int = 0
    cooperative: bool = False
    rtol: float = 0.0
    atol: float = 0.0
    mismatches: float = 0.0  # the share of elements that may differ: where rounding decides
    any_order: tuple[int, ...] = ()  # outputs whose elements are sorted before they are compared

    @property
    def name(self) -> str:
        return f"{self.file}:{self.kernel}"

    def __str__(self) -> str:
        return self.name

    def arguments(self) -> list[Any]:
        """Return the arguments: arrays made anew, the same ones each time."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [a.make(random) if isinstance(a, Array) else a for a in self.args]

    def outputs(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """Return those of the arguments that the kernel writes."""
        pairs = zip(self.args, arguments, strict=True)
        return [a for spec, a in pairs if isinstance(spec, Array) and spec.output]

    def wanted(self) -> list[np.ndarray]:
        """Return what the outputs should be."""
        with np.errstate(all="ignore"):
            result = self.expected(*self.arguments())
            results = result if isinstance(result, tuple) else (result,)
            outputs = self.outputs(self.arguments())
            pairs = zip(results, outputs, strict=True)
            return [np.asarray(r).astype(o.dtype).reshape(o.shape) for r, o in pairs]

    def differences(self, got: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> str:
        """Return what is wrong with the outputs, or nothing."""
        for k, (a, b) in enumerate(zip(got, wanted, strict=True)):
            if k in self.any_order:
                a, b = np.sort(a, axis=None), np.sort(b, axis=None)
            if a.dtype.fields is not None:
                bad = a != b
            else:
                wide = np.float64 if a.dtype.kind == "f" else a.dtype
                with np.errstate(all="ignore"):
                    near = np.isclose(
                        a.astype(wide), b.astype(wide), self.rtol, self.atol, equal_nan=True
                    )
                bad = ~near if self.rtol or self.atol else ~((a == b) | ((a != a) & (b != b)))
            if np.count_nonzero(bad) > self.mismatches * bad.size:
                (first, *_) = np.argwhere(bad)
                at = tuple(map(int, first))
                return (
                    f"output {k}: {np.count_nonzero(bad)} of {bad.size} elements differ; "
                    f"the first at {list(at)} is {a[at]!r}, not {b[at]!r}"
                )
        return ""


# ---- arrays -------------------------------------------------------------------------------


def floats(*shape: int, low: float = -1, high: float = 1, dtype: Any = f32) -> Array:
    return Array(lambda random: random.uniform(low, high, shape).astype(dtype))


def integers(*shape: int, low: int = -100, high: int = 100, dtype: Any = i32) -> Array:
    return Array(lambda random: random.integers(low, high, shape, dtype=dtype))


def words(*shape: int, dtype: Any = u32) -> Array:
    """Every value of the type, small ones, and those with few bits set."""

    def make(random: np.random.Generator) -> np.ndarray:
        limits = np.iinfo(dtype)
        whole = random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        shift = random.integers(0, limits.bits, shape).astype(dtype)
        return np.where(random.random(shape) < 0.5, whole >> shift, whole).astype(dtype)

    return Array(make)


def fixed(values: Any, dtype: Any = None) -> Array:
    return Array(lambda _: np.array(values, dtype))


def zeros(*shape: int, dtype: Any = f32) -> Array:
    """An output."""
    return Array(lambda _: np.zeros(shape, dtype), output=True)


def updated(array: Array) -> Array:
    """An array that the kernel reads and writes."""
    return Array(array.make, output=True)
