"""How accurate the products of ``sgemm`` are, by kind of numbers and length of the sums.

The error of an element is given in units of single precision, relative to the sum of magnitudes:
``|got - exact| / (eps * (|a| @ |b|))``, where exact is the sum in double precision and eps is
2**-23. A sequential sum of k terms may reach k / 2 in theory; unbiased rounding errors grow with
the square root of k, and those of sums in parts more slowly. A kernel that rounds its factors, or
rounds sums other than to nearest, stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.messages import unknown
from ..base.progress import Progress
from ..base.tables import format_table
from ..families.sgemm import sgemm
from ..families.table import variants

__all__ = ["DEPTHS", "KINDS", "accuracy", "table"]

DEPTHS = (16, 64, 256, 1024, 4096, 16384, 65536)
_DEEPEST = {"sim": 4096}  # longer sums take long there
_SIDES = {"sim": 32, "cuda": 512}
_SPREAD = 32  # "wide" numbers range over this many powers of two up and down


def _wide(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    exponents = random.integers(-_SPREAD, _SPREAD, shape, dtype=np.int32, endpoint=True)
    signs = random.integers(0, 2, shape, dtype=np.int32) * 2 - 1
    return np.ldexp((1 + random.random(shape)) * signs, exponents).astype(np.float32)


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray[Any, Any]]] = {
    "uniform": lambda random, shape: random.uniform(-1, 1, shape).astype(np.float32),
    "normal": lambda random, shape: random.standard_normal(shape, np.float32),
    "wide": _wide,
    "positive": lambda random, shape: random.random(shape, np.float32),
}


def _error(
    got: np.ndarray[Any, Any], exact: np.ndarray[Any, Any], magnitude: np.ndarray[Any, Any]
) -> float:
    with np.errstate(invalid="ignore"):
        errors = np.abs(got - exact) / (np.finfo(np.float32).eps * magnitude)
    return float(np.nan_to_num(errors, nan=np.inf).max(initial=0.0))


def _measured(
    names: Sequence[str], kind: str, side: int, k: int, backend: str, random: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Yield the record of each variant for one kind of numbers and one length of the sums."""
    a, b = KINDS[kind](random, (side, k)), KINDS[kind](random, (k, side))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    factors = [_core.to_device(x, backend=backend) for x in (a, b)]
    for name in names:
        got = sgemm(*factors, variant=name).to_host()
        error = _error(got, exact, magnitude)
        where = {"variant": name, "backend": backend, "numbers": kind, "m": side, "n": side, "k": k}
        yield where | {"error": error}


def accuracy(
    names: Sequence[str] | None = None,
    depths: Iterable[int] | None = None,
    side: int | None = None,
    *,
    backend: str | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Measure the largest error of each available variant of ``sgemm`` against float64.

    Parameters
    ----------
    names : sequence of str, optional
        The variants; by default, all that are available.
    depths : iterable of int, optional
        The lengths of the sums, k; by default 16 to 65536, on the simulator 16 to 4096.
    side : int, optional
        Rows and columns of the product; by default 512, and 32 on the simulator.
    backend : {"cuda", "sim"}, optional
        By default, what :func:`gpumem.backend` returns.
    seed : int
        Of the random numbers, which are the same for all variants.
    progress : callable, optional
        Called with the steps done, the number of steps, and the next step in words.

    Returns
    -------
    list of dict
        One ``{"variant", "backend", "numbers", "m", "n", "k", "error"}`` per variant, kind of
        numbers and k, the error in units of eps times the magnitudes; for an unavailable variant,
        one with ``reason``.

    Raises
    ------
    ValueError
        If a variant is unknown, or a depth or the side is less than 1.
    UnavailableError
        If the backend is unavailable.
    """
    backend = _core.backend(backend)
    rungs = {v.name: v for v in variants("sgemm")}
    names = list(rungs) if names is None else list(dict.fromkeys(names))
    for name in names:
        if name not in rungs:
            raise ValueError(unknown("sgemm has no variant", name, rungs, "; it has"))
    side = _SIDES[backend] if side is None else side
    if depths is None:
        depths = [k for k in DEPTHS if k <= _DEEPEST.get(backend, k)]
    depths = list(depths)
    if side < 1 or not depths or min(depths) < 1:
        raise ValueError(f"side is {side} and depths are {depths}, expected at least 1 each")
    records: list[dict[str, Any]] = []
    available = []
    for name in names:
        reason = rungs[name].reason_on(backend)
        if reason is None:
            available.append(name)
        else:
            records.append({"variant": name, "backend": backend, "reason": reason})
    steps = [(kind, k) for kind in KINDS for k in depths]
    for i, (kind, k) in enumerate(steps):
        if progress is not None:
            progress(i, len(steps), f"{kind}, k = {k}")
        records += _measured(available, kind, side, k, backend, np.random.default_rng([seed, i]))
    if progress is not None:
        progress(len(steps), len(steps), "done")
    return records


def table(records: list[dict[str, Any]]) -> str:
    """Return records as text: a row per variant and a column per length of the sums."""
    measured = [record for record in records if "error" in record]
    lines = []
    if measured:
        first = measured[0]
        lines.append(
            f"sgemm, {first['m']} x {first['n']}, {first['backend']}: largest error over "
            "eps |A||B|, against float64, by k"
        )
    for kind in dict.fromkeys(record["numbers"] for record in measured):
        rows: dict[str, dict[int, str]] = {}
        for record in measured:
            if record["numbers"] == kind:
                rows.setdefault(record["variant"], {})[record["k"]] = f"{record['error']:.3g}"
        depths = list(dict.fromkeys(k for row in rows.values() for k in row))
        cells = [[name, *(row[k] for k in depths)] for name, row in rows.items()]
        lines += ["", format_table([kind, *map(str, depths)], cells)]
    reasons = [record for record in records if "reason" in record]
    lines += ["", *(f"sgemm-{r['variant']}: {r['reason']}" for r in reasons)] if reasons else []
    return "\n".join(lines)
