"""How large a cluster may be is asked once for each kernel, and a call does without an answer.

FAKE_CLUSTERS in the environment is 1. Prints in how many calls the question failed.
"""

import os
from functools import partial

import fake_device as fake  # first
import numpy as np

import gpumem as gm

QUESTIONS = "cudaFuncSetAttribute", "cudaOccupancyMaxPotentialClusterSize"
NOT_SUPPORTED = 801
assert os.environ["FAKE_CLUSTERS"] == "1"
there = gm.to_device(np.arange(25_000, dtype="i4"), backend="cuda")  # more than one block's
gm.copy(there)


def failing(run, wanted):
    """Fail each call of the runtime in turn; return how often that was the question."""
    failed = 0
    for number in range(1, 100):
        fake.fail(number, 0, NOT_SUPPORTED, 0)
        try:
            result = run()
        except gm.CudaError:
            result = None
        name = fake.failed_call()
        fake.fail(0, 0, 0, 0)
        if name is None:
            return failed
        assert name not in QUESTIONS or np.array_equal(result.to_host(), wanted), name
        failed += name in QUESTIONS
        fake.check()
    raise AssertionError("a call takes a hundred calls of the runtime")


failed = 0
for family, reference in ((gm.reduce, np.sum), (gm.scan, np.cumsum)):
    run = partial(family, there, variant="cluster")
    wanted = reference(there.to_host(), dtype="i4")
    failed += failing(run, wanted)
    assert np.array_equal(run().to_host(), wanted)
    assert failing(run, wanted) == 0, "asked again"
fake.check()
print(failed)
