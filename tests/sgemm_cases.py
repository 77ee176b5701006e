"""What the tests of sgemm share."""

import itertools

import gpumem as gm
from gpumem.families import oracle

SGEMM = gm.variants("sgemm")


NAMES = [v.name for v in SGEMM]


KERNELS = [v for v in SGEMM if v.source.endswith(".cu") and v.reason_on("sim") is None]


EDGES = [(1, 1, 1), (5, 3, 2), (33, 31, 17), (129, 127, 33), (130, 260, 50), (8, 300, 129)]


TRANSPOSITIONS = list(itertools.product([False, True], repeat=2))


def available(backend):
    return [v for v in SGEMM if v.reason_on(backend) is None]


def factors(rng, m, n, k, trans_a=False, trans_b=False, draw=None):
    """Random a and b. By default small integers, whose sums are exact in any order."""
    draw = draw or (lambda shape: rng.integers(-8, 9, shape).astype("f4"))
    return draw((k, m) if trans_a else (m, k)), draw((n, k) if trans_b else (k, n))


def transpose_if(x, trans):
    return x.T if trans else x


def check(got, *arrays, **parameters):
    oracle.check("sgemm", got, *arrays, **parameters)
