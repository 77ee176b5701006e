"""One small call of every family's function, all arrays by name; and small shapes.

Families are not listed here: what is special about one has an entry, others go by their oracle.
"""

from typing import NamedTuple

import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

INPUTS = {row["name"]: row["inputs"] for row in _core.families()}
# Two dimensions if a family takes any number, and rows if it would get one row.
SHAPES = {"copy": (8, 8), "polynomial": (8, 8), "add": (8, 8), "prefetch_sum": (8, 64)}
SHAPES |= {"static_value": (1,)}
KEYWORDS = {"sgemm": {"beta": 1}}  # so that c is an input


class Call(NamedTuple):
    """Arguments of a call."""

    arrays: dict  # of the host, in the order of the family's inputs
    keywords: dict
    result: np.ndarray  # an array like it: out fits

    def run(self, family, **more):
        """Call the function with some of the arguments replaced."""
        arrays = {name: more.pop(name, a) for name, a in self.arrays.items()}
        return getattr(gm, family)(*arrays.values(), **self.keywords, **more)


def count_up(a):
    """An array like it with the elements 0, 1, 2 ...; indices stay as they are."""
    return np.arange(a.size, dtype=a.dtype).reshape(a.shape) if a.dtype.kind == "f" else a


def shape_of(family, variant="auto"):
    """A shape of 64 elements or so that the variant takes."""
    return SHAPES.get(family) or oracle.shape_for(family, 256, "float32", variant)


def keywords_of(family):
    """The first keywords that the oracle tries, if no others are needed."""
    return KEYWORDS.get(family) or next(oracle.cases(family)).parameters


def make(family, variant="auto"):
    """A call that the variant takes, if it is available here, its arrays fresh."""
    keywords = keywords_of(family)
    arrays = oracle.arguments(family, shape_of(family, variant), seed=0, **keywords)
    arrays = [count_up(a) for a in arrays]
    with np.errstate(all="ignore"):
        result = oracle.expected(family, *arrays, variant=variant, **keywords)
    named = dict(zip(INPUTS[family], arrays, strict=False))
    return Call(named, keywords, count_up(result))
