"""Measure copies of views, and into views, beside PyTorch and the driver's copy.

    python tools/measure_views.py [--bytes 200M] [--dtypes uint8 float16 float32 float64] [--json F]

Needs a GPU and PyTorch. A figure is the time of the driver's copy of as many bytes as the view and
its copy have in memory, between aligned addresses, as a fraction of a single call's: 1.00 is as
fast. Of a view with gaps of less than a sector memory moves the gaps, too; they count. PyTorch has
no negative strides: torch.flip for copies of those, and nothing into them; for rotated arrays, a
copy of what torch.flip returns, transposed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from single_calls import measure

import gpumem as gm
from gpumem.base import files, sizes

ROUNDS = 7


class View(NamedTuple):
    """A part of an array, and the share of the array's bytes that memory moves for it."""

    name: str
    shape: Callable[[int], tuple[int, ...]]  # of about so many elements
    cut: tuple[slice | int, ...]
    share: float
    flips: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()  # their order, if it is another one


def _flat(n: int) -> tuple[int, ...]:
    return (n,)


def _square(n: int) -> tuple[int, ...]:
    """Sides are odd: rows begin anywhere."""
    return (int(n**0.5) | 1,) * 2


def _image(n: int) -> tuple[int, ...]:
    return (max(n // 3000, 1), 1000, 3)


def _stack(n: int) -> tuple[int, ...]:
    return (n // 54 | 1, 9, 6)


def _cube(n: int) -> tuple[int, ...]:
    return (round(n ** (1 / 3)),) * 3


ALL, BACK = slice(None), slice(None, None, -1)
INSIDE, SECOND = slice(1, -1), slice(None, None, 2)
VIEWS = (
    View("[::-1]", _flat, (BACK,), 1, (0,)),
    View("matrix [:, ::-1]", _square, (ALL, BACK), 1, (1,)),
    View("matrix [::-1]", _square, (BACK, ALL), 1, (0,)),
    View("cube, all axes reversed", _cube, (BACK,) * 3, 1, (0, 1, 2)),
    View("image, channels reversed", _image, (ALL, ALL, BACK), 1, (2,)),
    View("image, mirrored", _image, (ALL, BACK), 1, (1,)),
    View("matrix rotated", _square, (BACK, ALL), 1, (0,), (1, 0)),
    View("matrix rotated back", _square, (ALL, BACK), 1, (1,), (1, 0)),
    View("image rotated", _image, (BACK,), 1, (0,), (1, 0, 2)),
    View("image rotated back", _image, (ALL, BACK), 1, (1,), (1, 0, 2)),
    View("channels reversed, to planes", _image, (ALL, ALL, BACK), 1, (2,), (2, 0, 1)),
    View("9 x 6 matrices transposed", _stack, (), 1, (), (0, 2, 1)),
    View("image, one channel", _image, (ALL, ALL, 1), 1),
    View("image, two channels", _image, (ALL, ALL, slice(2)), 1),
    View("[::2]", _flat, (SECOND,), 1),
    View("matrix [::2, ::2]", _square, (SECOND, SECOND), 0.5),
    View("matrix [1:-1, 1:-1]", _square, (INSIDE, INSIDE), 1),
    View("cube [1:-1, 1:-1, 1:-1]", _cube, (INSIDE,) * 3, 1),
)


def _memcpy(nbytes: int, stream: Any) -> Callable[[], object]:
    import torch

    half = max(nbytes // 2 // 512, 1) * 512  # so that the second one is aligned, too
    ends = torch.empty((2, half), dtype=torch.uint8, device="cuda")
    a, out = gm.from_dlpack(ends[0]), gm.from_dlpack(ends[1])
    return lambda: gm.copy(a, variant="memcpy", out=out, stream=stream)


def measured(view: View, dtype: str, nbytes: int, into: bool) -> dict[str, float]:
    """Return the times of the contenders, in ms."""
    import torch

    kind = getattr(torch, dtype)
    size = np.dtype(dtype).itemsize
    shape = view.shape(nbytes // size)
    whole = torch.randint(0, 100, shape, dtype=torch.uint8, device="cuda").to(kind)
    axes = view.axes or tuple(range(len(shape) - sum(isinstance(c, int) for c in view.cut)))
    part = gm.from_dlpack(whole)[view.cut].transpose(axes)
    other = torch.zeros(part.shape, dtype=kind, device="cuda")
    there, stream = gm.from_dlpack(other), torch.cuda.current_stream()
    moved = int(whole.numel() * size * view.share) + part.nbytes
    a, out = (there, part) if into else (part, there)
    contenders = {
        "memcpy": _memcpy(moved, stream),
        "gpumem": lambda: gm.copy(a, out=out, stream=stream),
    }
    if not view.flips:
        mine = whole[view.cut].permute(axes)
        contenders["torch"] = (lambda: mine.copy_(other)) if into else (lambda: other.copy_(mine))
    elif not into:
        contenders["torch"] = lambda: torch.flip(whole, view.flips).permute(axes).contiguous()
    return measure(contenders, ROUNDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", default="200M", help="of the array that has the view")
    parser.add_argument("--dtypes", nargs="+", default=["uint8", "float16", "float32", "float64"])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    (nbytes,) = sizes.parse_sizes(given.bytes)
    rows: list[dict[str, Any]] = []
    for view in VIEWS:
        for dtype in given.dtypes:
            for into in (False, True):
                ms = measured(view, dtype, nbytes, into)
                rows.append({"view": view.name, "dtype": dtype, "into": into, "ms": ms})
                fractions = {name: ms["memcpy"] / t for name, t in ms.items() if name != "memcpy"}
                print(
                    f"{dtype:8} {'into' if into else 'of':4} {view.name:28}",
                    *(f"{name} {value:.3f}" for name, value in fractions.items()),
                    flush=True,
                )
    if given.json:
        record = {"gpumem": gm.info(), "bytes": nbytes, "rows": rows}
        files.write(given.json, json.dumps(record, indent=1, default=str))


if __name__ == "__main__":
    main()
