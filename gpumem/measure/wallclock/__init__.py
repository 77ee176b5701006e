"""What a caller waits for: transfers by kind of host memory, and whole round trips.

It is the host's clock that counts, around enough calls for two milliseconds. The figures of
:mod:`gpumem.bench`, which are a kernel's on the device, stand in other tables.
"""

from ._known import KNOWN
from ._measure import measure
from ._records import check, is_ours, label, peers, strain, tables

__all__ = ["FAMILIES", "check", "is_ours", "label", "measure", "peers", "strain", "tables"]

FAMILIES = tuple(KNOWN)
