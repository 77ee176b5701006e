"""``gpumem bench distributed``: transposes and products on the ranks of mpiexec or torchrun."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _core
from ..base.files import check_target
from ..base.messages import quoted
from ..base.record import NO_TIMES, ORDERS, SINGLE, STREAM
from ..base.sizes import parse_sizes
from ..base.tables import format_table
from ..distributed.contenders import VARIANTS
from ..distributed.engine import Engine
from ..distributed.engines import find_engine
from ..distributed.timing import Timed, measure, result_of
from .common import UsageError
from .kernels import refuse_options

NAME = "distributed"
_SIZES = "64M:4G:x4"
_SIZES_OF_SIMULATOR = "64K,1M"
_MEASURES = "bench distributed measures transposes and products on all ranks"
_OTHERS = (
    "all",
    "shapes",
    "peers",
    "set",
    "bytes",
    "flops",
    "max_noise",
    "timeout",
)


@contextmanager
def _ranks(backend: str) -> Iterator[Engine]:
    """Start what mpiexec or torchrun has prepared; yield the engine."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        yield find_engine()
        return
    import torch
    import torch.distributed as dist

    if backend == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if backend == "cuda" else "gloo")
    try:
        yield find_engine(dist.group.WORLD)
    finally:
        dist.destroy_process_group()


def _table(results: list[Timed], has_clock: bool) -> str:
    rows = []
    for one in results:
        size = f"{one.rows} x {one.columns} {one.dtype}{', in a row' * (one.order == STREAM)}"
        row = [one.name, size, f"{one.out_bytes / 1e6:.1f}"]
        if has_clock:
            row += [f"{one.milliseconds:.3f}", f"{one.least:.3f}", f"{one.gbps:.1f}"]
        rows.append(row)
    head = ["way", "matrix", "MB out of a rank"]
    return format_table([*head, *(["ms", "least", "GB/s"] if has_clock else [])], rows, 2)


def _variants(text: str | None) -> list[str] | None:
    """Return the contenders that --variants names."""
    names = None if text is None else text.split(",")
    for name in names or ():
        if name not in VARIANTS:
            raise UsageError(
                f"bench: --variants: there is no {quoted(name)}, expected {', '.join(VARIANTS)}"
            )
    return names


def _speed_ups(results: list[Timed]) -> list[str]:
    """Return by how much all ranks multiply faster than one."""
    alike = [one for one in results if one.order == results[0].order]
    times = {(one.rows, one.variant): one.milliseconds for one in alike}
    return [
        f"{side} x {side}: matmul is {ms / times[side, 'matmul']:.2f} times as fast as on one rank."
        for (side, variant), ms in times.items()
        if variant == "matmul_of_one" and (side, "matmul") in times
    ]


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    refuse_options("bench", options, _OTHERS, _MEASURES)
    if options.min_samples is not None and options.min_samples < 1:
        raise UsageError(f"bench: --min-samples must be 1 or more, not {options.min_samples}")
    variants = _variants(options.variants)
    files = [one for one in (options.output, options.json) if isinstance(one, str)]
    for file in files:
        check_target(file)  # on all ranks, and before anything is measured
    backend = _core.backend(options.backend)
    has_clock = backend == "cuda"
    orders = tuple(reversed(ORDERS)) if options.order == "both" else (options.order or SINGLE,)
    dtype = np.dtype(options.dtype or "float32")
    sizes = parse_sizes(options.sizes or (_SIZES if has_clock else _SIZES_OF_SIMULATOR))
    count = options.min_samples or (15 if has_clock else 1)
    found: list[Timed] = []
    with _ranks(backend) as engine:
        for nbytes in sizes:
            side = max(1, math.isqrt(nbytes // dtype.itemsize))
            found += measure(engine, backend, side, dtype.name, count, variants, orders)
        if engine.rank != 0:
            return 0
        result = result_of(found, engine, backend, count)
        for file in files:
            result.to_json(file)
        if options.json is True:
            _say(result.to_json().rstrip())
        else:
            _say(_heading(engine, backend, count), _table(found, has_clock))
            if has_clock:
                _say(*_speed_ups(found))
            else:
                _say(f"No times: {NO_TIMES}.")
    return 0


def _heading(engine: Engine, backend: str, count: int) -> str:
    peers = ", which reach each other's memory" if engine.peers else ""
    device: Any = _core.backend_info(backend)["devices"]
    name = f" ({device[0]['name']})" if device else ""
    samples = f"{count} sample{'s' if count > 1 else ''} each"
    return f"{engine.ranks} ranks on {backend}{name}{peers}, {engine.name}, {samples}"


def _say(*texts: str) -> None:
    for text in texts:
        sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
