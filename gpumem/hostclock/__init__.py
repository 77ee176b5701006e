"""What a caller waits for: transfers by kind of host memory, and whole round trips.

It is the host's clock that counts, around enough calls for two milliseconds. The figures of
:mod:`gpumem.bench`, which are a kernel's on the device, stand in other tables.
"""

from ._known import KNOWN
from ._measure import measure
from ._records import is_ours, label, strain, tables

__all__ = ["FAMILIES", "is_ours", "label", "measure", "strain", "tables"]

FAMILIES = tuple(KNOWN)
