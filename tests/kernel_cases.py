"""Kernels from .cu files, with their inputs and what NumPy says they should compute.

A ``Case`` is one launch. The manifests in tests/features and tests/foreign list cases; tests run
them on the simulator, tools/crosscheck_modules.py on a GPU too.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import loading
import numpy as np

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

    @property
    def function(self) -> str:
        """The kernel's name without namespaces and template arguments."""
        return self.kernel.partition("<")[0].rpartition("::")[2]

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


class Modules:
    """The modules of a folder's sources, each loaded once."""

    def __init__(self, folder: Path, cases: Sequence[Case]) -> None:
        self.folder = folder
        self.instances: dict[str, list[str]] = {}
        for case in cases:
            templates = self.instances.setdefault(case.file, [])
            if "<" in case.kernel:
                templates.append(case.kernel)
        self.load = functools.cache(self._load)

    def _load(self, file: str) -> loading.Loaded:
        return loading.load(self.folder / file, instances=self.instances.get(file, ()))

    def run(self, case: Case, traced: bool) -> list[np.ndarray]:
        """Run a case on the simulator and return its outputs; a finding is raised."""
        arguments = case.arguments()
        launched = self.load(case.file).check if traced else self.load(case.file).run
        options = {"shared_bytes": case.shared, "cooperative": case.cooperative}
        flat = [as_bytes(a) for a in arguments]
        error = launched(case.kernel, case.grid, case.block, flat, **options)
        if error is not None:
            raise error
        return case.outputs(arguments)


def kernels_of(source: Path) -> set[str]:
    """Return the names of the kernels that a source spells out."""
    text = re.sub(r"__launch_bounds__\([^)]*\)|\\\n", " ", source.read_text(encoding="utf-8"))
    return set(re.findall(r"__global__\s+void\s+(\w+)\s*\(", text)) - {"name"}


def as_bytes(argument: Any) -> Any:
    """View arrays of structures as bytes, which every interface takes."""
    if isinstance(argument, np.ndarray) and argument.dtype.fields is not None:
        return argument.view(np.uint8)
    return argument


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
