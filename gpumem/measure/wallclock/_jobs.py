"""The jobs of a round trip, on float32: how large they are, and what is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...families import oracle

_WHOLE_SIDE = 2048  # of a product up to which all of it is checked, beyond only some rows


class _Job(NamedTuple):
    inputs: int = 1
    square: bool = False  # matrices


JOBS = {
    "copy": _Job(),
    "transpose": _Job(square=True),
    "add": _Job(inputs=2),
    "sgemm": _Job(inputs=2, square=True),
}


def shape_for(job: str, nbytes: int) -> tuple[int, ...]:
    """Return the shape of an array of about so many bytes."""
    (elements,) = oracle.shape_for("copy", nbytes, "float32")
    side = math.isqrt(elements)
    return (side, side) if JOBS[job].square else (elements,)


def random_inputs(job: str, shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng()
    return [random.random(shape, np.float32) - np.float32(0.5) for _ in range(JOBS[job].inputs)]


def work(job: str, shape: tuple[int, ...]) -> tuple[int, int, int | None]:
    """Bytes to the device and back, and operations."""
    nbytes = 4 * math.prod(shape)
    return JOBS[job].inputs * nbytes, nbytes, 2 * shape[0] ** 3 if job == "sgemm" else None


def check(job: str, got: Any, inputs: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raise AssertionError unless it is what NumPy makes of the inputs."""
    if job != "sgemm":
        wanted = oracle.expected(job, *inputs)
        oracle.compare(job, got, wanted, oracle.bound(job, *inputs))
        return
    a, b = inputs
    if not isinstance(got, np.ndarray) or got.shape != (len(a), b.shape[1]):
        oracle.compare(job, got, np.empty((len(a), b.shape[1]), np.float32))
    rows = np.arange(len(a))
    if len(a) > _WHOLE_SIDE:
        rows = np.unique(np.r_[0, np.random.default_rng().integers(len(a), size=62), len(a) - 1])
    wanted = oracle.expected(job, a[rows], b)
    oracle.compare(job, got[rows], wanted, oracle.bound(job, a[rows], b))
