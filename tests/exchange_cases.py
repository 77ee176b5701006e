"""What the tests of exchange share."""

import gc

import dlpack
import numpy as np

import gpumem as gm

ARRAYS = dlpack.awkward_arrays()


SIX = np.arange(6, dtype="f4").reshape(2, 3)


def used():
    gc.collect()  # also what earlier tests left in cycles
    return gm.pool_info(backend="sim")["device"]["used"]
