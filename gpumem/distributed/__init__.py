"""Arrays that are shared out over several GPUs or machines.

The processes and their connections are those of mpi4py or torch.distributed; gpumem's kernels pack
and unpack what the engine moves. Every function here is collective: all ranks call it, in the same
order and with the same arguments.

    import gpumem.distributed as gmd

    x = gmd.scatter(a, comm)       # or gmd.Rows(local, comm) around what each rank has
    y = gmd.transpose(x)
    z = gmd.matmul(y, w)           # w: shared out, or whole on each rank
    whole = gmd.gather(z)
"""

from __future__ import annotations

from .errors import RankError
from .moves import copy, gather, permute, scatter, transpose
from .products import matmul
from .shared import Columns, Rows, Shared
from .sharing import Blocks, OnRank, Split, Whole

__all__ = [
    "Blocks",
    "Columns",
    "OnRank",
    "RankError",
    "Rows",
    "Shared",
    "Split",
    "Whole",
    "copy",
    "gather",
    "matmul",
    "permute",
    "scatter",
    "transpose",
]
