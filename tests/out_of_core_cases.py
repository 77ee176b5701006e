"""What the tests of gpumem.out_of_core share."""

import numpy as np

from gpumem.families.raw_bytes import opaque, patterns
from gpumem.out_of_core import moves, products
from gpumem.out_of_core.products import Blocks


def make_simulator(monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")


def make_small(monkeypatch, backend):
    """Split small arrays too, on each backend."""
    monkeypatch.setenv("GPUMEM_BACKEND", backend)
    monkeypatch.setattr(moves, "_SMALL", 1)


def make_blocks(monkeypatch, backend):
    """Split small products too, on each backend."""
    monkeypatch.setenv("GPUMEM_BACKEND", backend)
    monkeypatch.setattr(products, "blocks", lambda m, n, k, *_: Blocks(m, n, k, 7, 11, 5))


def in_file(path, a, order="C"):
    """Return a memmap with these elements."""
    made = np.memmap(path, a.dtype, "w+", shape=a.shape, order=order)
    if a.dtype.itemsize:
        opaque(made)[...] = opaque(a)
    return made


def same(one, other):
    return one.shape == other.shape and (patterns(np.asarray(one)) == patterns(other)).all()
