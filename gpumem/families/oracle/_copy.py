"""`copy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._family import MOVED, Family, opaque, random_bytes


def copied(a: Any, **_: Any) -> np.ndarray[Any, Any]:
    a = np.asarray(a)
    return np.array(opaque(a), order="C").view(a.dtype) if a.dtype.itemsize else a.copy()


FAMILIES = {
    "copy": Family(
        arguments=lambda shape, dtype, random, **_: (random_bytes(shape, dtype, random),),
        expected=copied,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * int(np.prod(shape, dtype=object)) * itemsize, None),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,)),
        dtypes=MOVED,
        parameters=({}, {"max_blocks": 3}),
    ),
}
