"""Every variant beside a kernel whose bank conflicts keep shared memory busy.

What a kernel reads from shared memory comes hundreds of cycles late then: whoever writes there
again has to wait for it, not to rely on being slower.
"""

import numpy as np
import pytest
from small_calls import IN_PLACE, keywords_of
from support import here

import gpumem as gm
from gpumem.families import oracle, table

pytestmark = pytest.mark.gpu

ROUNDS, CALLS, CROWD = 10, 10, 10
NBYTES = 4 << 20
VARIANTS = [v for family in table.FAMILIES for v in gm.variants(family)]


@pytest.fixture(scope="module")
def crowd():
    """Begin work on a stream of its own: each warp keeps two banks busy for 512 cycles on end."""
    a = gm.to_device(np.zeros((512, 8192)))  # in the L2
    out, stream = gm.DeviceArray(a.shape[:1], a.dtype), gm.Stream()
    how = {"variant": "smem_batch", "distance": 16, "padding": 0, "work": 0}

    def begin():
        for _ in range(CROWD):
            gm.prefetch_sum(a, **how, out=out, stream=stream)

    yield begin
    stream.synchronize()


def arguments(variant):
    """Return arrays of the first dtype that it takes, and their keywords."""
    family = variant.family
    keywords = keywords_of(family)
    shapes = [
        (oracle.shape_for(family, NBYTES, dtype, variant.name), dtype)
        for dtype in table.FAMILIES[family].oracle.dtypes
    ]
    taken = [asked for asked in shapes if oracle.takes(variant, *asked)]
    assert taken, "the oracle has no array of this size that it takes"
    return oracle.arguments(family, *taken[0], seed=1, **keywords), keywords


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_results_are_the_same(variant, crowd):
    here(variant, "cuda")
    if variant.memory:
        pytest.skip(f"its arrays are in {variant.memory} memory")
    arrays, keywords = arguments(variant)
    with np.errstate(all="ignore"):
        wanted = oracle.expected(variant.family, *arrays, variant=variant.name, **keywords)
        within = oracle.bound(variant.family, *arrays, variant=variant.name, **keywords)
    there = [gm.to_device(a) for a in arrays]
    stream = gm.Stream()
    for _ in range(ROUNDS):
        results = CALLS if variant.family in IN_PLACE else 0  # which are the first inputs there
        firsts = [gm.to_device(arrays[0]) for _ in range(results)]
        gm.synchronize()
        crowd()
        found = [
            variant(*[*firsts[i : i + 1], *there[len(firsts[:1]) :]], stream=stream, **keywords)
            for i in range(CALLS)
        ]
        for result in found:
            oracle.compare(variant.family, result.to_host(stream=stream), wanted, within)
