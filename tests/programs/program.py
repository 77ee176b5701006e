"""A whole program's kernels: how they are launched, and what NumPy says they compute."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from kernel_cases import Array, Case, integers

import gpumem as gm

FOLDER = Path(__file__).resolve().parent


class Launch(NamedTuple):
    """A launch. Arguments are names of arrays, scalars, and functions of the device's arrays."""

    kernel: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: Sequence[Any]
    shared: int = 0
    cooperative: bool = False


@dataclass(frozen=True)
class Program:
    """A program's launches; ``expected`` gets the arrays before them, and says what is after.

    Its answer is a dict by the names of arrays and of device variables.
    """

    name: str
    arrays: Mapping[str, Array]
    launches: Sequence[Launch]
    expected: Callable[[Any], dict[str, Any]]
    symbols: Mapping[str, Any] = field(default_factory=dict)  # set before
    rtol: float = 0.0
    atol: float = 0.0
    mismatches: float = 0.0  # the share of elements that may differ: where rounding decides
    unordered: tuple[str, ...] = ()  # outputs whose elements may be in any order
    daily: bool = False  # tested with every change, not only in exhaustive runs

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.cu"

    def make(self) -> dict[str, np.ndarray]:
        random = np.random.default_rng(5)
        return {name: array.make(random) for name, array in self.arrays.items()}

    def wanted(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            return self.expected(SimpleNamespace(**self.make()))

    def run(self, module: gm.Module, observed: bool = False) -> dict[str, Any]:
        """Run the launches one after another; return what `expected` speaks of."""
        arrays: dict[str, Any] = self.make()
        resident = any(callable(arg) for one in self.launches for arg in one.args)
        if resident:  # structures hold addresses
            arrays = {k: gm.to_device(v, backend=module.backend) for k, v in arrays.items()}
        for name, value in self.symbols.items():
            gm.set_symbol(module, name, value)
        for one in self.launches:
            launch = module[one.kernel].launch(
                one.grid, one.block, shared_bytes=one.shared, cooperative=one.cooperative
            )
            args = tuple(self.argument(arg, arrays) for arg in one.args)
            if observed:
                launch.observe(args)
            else:
                launch(*args)
        return {name: self.output(module, name, arrays) for name in self.wanted()}

    @staticmethod
    def argument(arg: Any, arrays: dict[str, Any]) -> Any:
        if isinstance(arg, str):
            return arrays[arg]
        return arg(SimpleNamespace(**arrays)) if callable(arg) else arg

    @staticmethod
    def output(module: gm.Module, name: str, arrays: dict[str, Any]) -> np.ndarray:
        if name not in arrays:
            return np.asarray(gm.get_symbol(module, name))
        array = arrays[name]
        return array if isinstance(array, np.ndarray) else np.asarray(array.to_host())

    def differences(self, got: Mapping[str, Any]) -> str:
        """Return what is wrong with the outputs, or nothing."""
        names = list(got)
        rules: Any = SimpleNamespace(
            rtol=self.rtol,
            atol=self.atol,
            mismatches=self.mismatches,
            any_order=tuple(names.index(name) for name in self.unordered),
        )
        right = self.wanted()
        pairs = [(got[k].reshape(-1), np.asarray(right[k]).reshape(-1)) for k in names]
        return Case.differences(rules, [a for a, _ in pairs], [b.astype(a.dtype) for a, b in pairs])

    def __str__(self) -> str:
        return self.name


def pointers(layout: str, *parts: Any) -> Callable[[Any], bytes]:
    """Return an argument that is a structure; the names of arrays stand for their addresses."""

    def make(arrays: Any) -> bytes:
        values = [getattr(arrays, p).pointer if isinstance(p, str) else p for p in parts]
        return struct.pack(layout, *values)

    return make


def padded(a: np.ndarray, multiple: int) -> np.ndarray:
    """Return a vector with zeros behind it, so that its size is a multiple."""
    return np.pad(a, (0, -len(a) % multiple))


def pixels(*shape: int) -> Array:
    return integers(*shape, low=0, high=256, dtype=np.uint8)
