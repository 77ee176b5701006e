"""The families that the wall clock times, and what the parameters of their records mean.

"transfer" and "roundtrip" measure what a caller waits for; all other families are kernels, timed
by events of the device. Records of wall-clock families have no state of the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .messages import quoted

BUS = "bus"  # a round trip's lower bound: both of its transfers at once and nothing else


@dataclass(frozen=True)
class WallClockFamily:
    """How to read the records of a wall-clock family."""

    # The parameters that every record has, with their types.
    parameters: Mapping[str, type]
    # The parameter that says who did the work, and its values that stand for gpumem's own code.
    worker: str
    ours: tuple[str, ...]
    # Other libraries that can be measured beside it.
    peers: tuple[str, ...] = ()
    # What loads the host, by kind of memory: times with the same load share their noise.
    loads: Mapping[str, str] = field(default_factory=dict)
    # Why a variant counts each of its bytes twice.
    counted_twice: Mapping[str, str] = field(default_factory=dict)


FAMILIES: Mapping[str, WallClockFamily] = {
    "transfer": WallClockFamily(
        parameters={"kind": str, "pieces": int},
        worker="kind",
        ours=("pageable", "mapped", "kernel"),
        # Threads copy pageable memory, pages of managed memory migrate; the rest is the bus alone.
        loads={
            "pageable": "pageable memory",
            "pageable_driver": "pageable memory",
            "pinned": "pinned memory",
            "write_combined": "pinned memory",
            "mapped": "pinned memory",
            "managed": "managed memory",
        },
        counted_twice={"both": "both directions together", "within": "bytes read and written"},
    ),
    "roundtrip": WallClockFamily(
        parameters={"kind": str, "by": str},
        worker="by",
        ours=("gpumem", "one_piece"),
        peers=("numpy", "cupy", "torch"),
        loads={"pageable": "pageable memory", "pinned": "pinned memory"},
    ),
}


def check(family: str, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError, which names the parameter, unless they say what a record measured."""
    for name, kind in FAMILIES[family].parameters.items():
        if not isinstance(parameters.get(name), kind):
            raise ValueError(f"{name} of {family} is {quoted(parameters.get(name))}")


def is_ours(family: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether gpumem's code did the work, and not the driver or another library."""
    known = FAMILIES[family]
    return parameters.get(known.worker) in known.ours


def noise_group(family: str, parameters: Mapping[str, Any]) -> str:
    """Return what loads the host, in words: times of the same group share their noise."""
    load = FAMILIES[family].loads.get(str(parameters.get("kind")), "no host memory")
    return f"{family} of {load}"
