"""Variants where a grid has few blocks: its blocks do the rest as well, or the call is refused.

A GPU's grids end at 2^31 - 1 blocks. Prints how many calls were right, and how many refused.
"""

import math
import os
import re

import fake_device as fake  # first

import gpumem as gm
from gpumem.families import oracle

SMALL = 40_000  # elements
DEEP = [(7, 700), (5, 1)]  # rows and columns; threads find several steps in a row
SETTINGS = [
    {"distance": distance, "threads": 32, "sync": sync}
    for distance in (1, 3, 4)
    for sync in (False, True)
]
REFUSED = re.compile("more than a grid has blocks|a has too many|takes at most|a grid .* blocks")
fake.set_most_blocks(int(os.environ["MOST_BLOCKS"]))


def cases(family):
    """Return the oracle's of few elements, and for prefetch_sum those where blocks go on long."""
    small = [one for one in oracle.cases(family) if math.prod(one.shape) <= SMALL]
    if family == "prefetch_sum":
        small += [oracle.Case(shape, "float64", how) for shape in DEEP for how in SETTINGS]
    return small


def is_right(variant, case, arrays):
    """Whether the result is right; False if the call is refused."""
    there = [gm.to_device(a, backend="cuda") for a in arrays]
    try:
        got = variant(*there, **case.parameters)
    except ValueError as error:
        assert REFUSED.search(str(error)), (variant, error)
        return False
    oracle.check(variant.family, got.to_host(), *arrays, variant=variant.name, **case.parameters)
    return True


right = refused = 0
for family in os.environ["FAMILIES"].split():
    for case in cases(family):
        arrays = oracle.arguments(family, case.shape, case.dtype, **case.parameters)
        for variant in gm.variants(family):
            runs = "cuBLAS" not in variant.requires and not variant.reason_on("sim")
            if runs and oracle.takes(variant, case.shape, case.dtype):
                done = is_right(variant, case, arrays)
                right, refused = right + done, refused + (not done)
    fake.check()
print(right, refused)
