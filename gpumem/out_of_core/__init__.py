"""Files and host arrays larger than any memory: transposed, permuted, copied, multiplied.

The functions read, compute and write one piece at a time, and `limit` bounds the memory that they
take. The families of :mod:`gpumem` compute the pieces, on the GPU or the simulator.

    import gpumem.out_of_core as gmo

    gmo.transpose("a.npy", "turned.npy", limit="8G")
    gmo.matmul("a.npy", "b.npy", "product.npy")
    gmo.permute(memmap, (2, 0, 1), other_memmap)

A result that is named by a path is written beside it and renamed when it is complete. A memmap
that is written to has a marker beside its file until it is complete.
"""

from __future__ import annotations

from .errors import IncompleteError
from .moves import copy, permute, transpose
from .products import matmul

__all__ = ["IncompleteError", "copy", "matmul", "permute", "transpose"]
