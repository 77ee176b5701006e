"""The families that there are, by name."""

from . import _roundtrip, _transfer
from ._family import Family

KNOWN: dict[str, Family] = {"transfer": _transfer.FAMILY, "roundtrip": _roundtrip.FAMILY}
