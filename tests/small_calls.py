"""One small call of the function of every family, with its arrays by name; and small shapes.

Arguments come from the family's oracle. Only families that need other ones have an entry here.
"""

from typing import NamedTuple

import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

INPUTS = {row["name"]: row["inputs"] for row in _core.families()}
# Whose first input, out, is the result as well.
IN_PLACE = tuple(row["name"] for row in _core.families() if row["in_place"])
# Two dimensions for families that take any number, several rows where the oracle gives one.
SHAPES = {"copy": (8, 8), "polynomial": (8, 8), "add": (8, 8), "prefetch_sum": (8, 64)}
SHAPES |= {"reduce": (8, 8), "histogram": (8, 8), "scan": (8, 8)}
SHAPES |= {"static_value": (1,), "permute": (8, 8), ("permute", "contiguous"): (1, 64)}
KEYWORDS = {"sgemm": {"beta": 1}}  # with beta = 0, c would not be an input


class Call(NamedTuple):
    """Arguments of a call."""

    arrays: dict  # name: host array, in the order of the family's inputs
    keywords: dict
    result: np.ndarray  # same shape and dtype as the result

    def run(self, family, **more):
        """Call the function with some of the arguments replaced, and a copy of what it changes."""
        fresh = {name: a.copy() if name == "out" else a for name, a in self.arrays.items()}
        arrays = {name: more.pop(name, a) for name, a in fresh.items()}
        return getattr(gm, family)(*arrays.values(), **self.keywords, **more)


def count_up(a):
    """Return 0, 1, 2 … in the shape and dtype of a float array; return index arrays unchanged."""
    return np.arange(a.size, dtype=a.dtype).reshape(a.shape) if a.dtype.kind == "f" else a


def shape_of(family, variant="auto"):
    """Return a shape that the variant accepts, of about 64 elements."""
    known = SHAPES.get((family, variant)) or SHAPES.get(family)
    return known or oracle.shape_for(family, 256, "float32", variant)


def keywords_of(family):
    """Return the entry in KEYWORDS, otherwise the first keywords of the oracle's cases."""
    return KEYWORDS.get(family) or next(oracle.cases(family)).parameters


def make(family, variant="auto"):
    """Return a call, with new arrays, that the variant accepts where it is available."""
    keywords = keywords_of(family)
    arrays = oracle.arguments(family, shape_of(family, variant), seed=0, **keywords)
    arrays = [count_up(a) for a in arrays]
    with np.errstate(all="ignore"):
        result = oracle.expected(family, *arrays, variant=variant, **keywords)
    named = dict(zip(INPUTS[family], arrays, strict=False))
    return Call(named, keywords, count_up(result))
