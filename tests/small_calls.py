"""One small call of every family's function, all arrays by name."""

from typing import NamedTuple

import numpy as np

import gpumem as gm


class Call(NamedTuple):
    arrays: dict  # of the host, in the order of the family's inputs
    keywords: dict
    result: np.ndarray  # an array like it: out fits

    def run(self, family, **more):
        """Call the function with some of the arguments replaced."""
        arrays = {name: more.pop(name, a) for name, a in self.arrays.items()}
        return getattr(gm, family)(*arrays.values(), **self.keywords, **more)


def floats(*shape, dtype="f4"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def make(family, variant="auto"):
    """A call that the variant takes, if it is here, its arrays fresh."""
    points = (2, 32) if variant.startswith("soa") else (32, 2)
    return {
        "copy": lambda: Call({"a": floats(8, 8)}, {}, floats(8, 8)),
        "strided_read": lambda: Call({"a": floats(64)}, {}, floats(32)),
        "strided_write": lambda: Call({"out": floats(64), "a": floats(32)}, {}, floats(64)),
        "gather": lambda: Call(
            {"a": floats(64), "index": np.arange(32)[::-1].copy()}, {}, floats(32)
        ),
        "shift_points": lambda: Call({"p": floats(*points)}, {"dx": 1, "dy": 2}, floats(*points)),
        "polynomial": lambda: Call(
            {"x": floats(8, 8), "coefficients": floats(5)}, {}, floats(8, 8)
        ),
        "sample": lambda: Call({"image": floats(8, 8), "xy": floats(16, 2)}, {}, floats(16)),
        "static_value": lambda: Call({"x": floats(1)}, {}, floats(1)),
        "prefetch_sum": lambda: Call({"a": floats(8, 64, dtype="f8")}, {}, floats(8, dtype="f8")),
        "transpose": lambda: Call({"a": floats(8, 8)}, {}, floats(8, 8)),
        "add": lambda: Call({"a": floats(8, 8), "b": floats(8, 8)}, {}, floats(8, 8)),
        "sgemm": lambda: Call(
            {"a": floats(8, 8), "b": floats(8, 8), "c": floats(8, 8)}, {"beta": 1}, floats(8, 8)
        ),
    }[family]()
