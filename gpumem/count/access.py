"""The requests of a kernel to one space of memory, summed up."""

from __future__ import annotations

from typing import Any

__all__ = [
    "KINDS",
    "RATIOS",
    "SECTOR",
    "Access",
    "BankedAccess",
    "ConstantAccess",
    "SharedAccess",
    "bank_ways",
    "extra_sectors",
    "ratios",
    "source_line",
]

SECTOR = 32  # bytes
KINDS = ("load", "store", "atomic")


def source_line(site: dict[str, Any]) -> str:
    """Return the source line of a site as tables and titles write it: "tile.cu:39"."""
    return f"{site['file'].rsplit('/', 1)[-1]}:{site['line']}" if site["file"] else "?"


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def bank_ways(site: dict[str, Any]) -> float | None:
    """Return passes over the fewest possible; None for a site that does not use the banks."""
    return _ratio(site.get("passes", 0), site.get("fewest_passes", 0))


def extra_sectors(site: dict[str, Any]) -> float:
    """Return the sectors beyond those that a site's bytes would fill, one per request at least."""
    return float(max(0.0, site["sectors"] - max(site["requests"], site["bytes"] / SECTOR)))


class Access:
    """The requests to one space, of one kind, over the whole run.

    A request is one memory instruction executed by one warp.

    Attributes
    ----------
    requests : int
        How many there were.
    sectors, lines : int
        Aligned blocks of 32 and of 128 bytes that they touched, counted once per request;
        0 for shared memory, which has neither.
    bytes_asked : int
        The bytes that requests asked for; lanes that share an address ask for it once.
    sectors_per_request, lines_per_request : float or None
        None without requests, and for shared memory.
    efficiency : float or None
        Bytes asked for over bytes moved, which are sectors times 32; 1 is best. None without
        requests, and for shared memory.
    width : int or None
        Bits of the widest access of a thread; None without requests.
    """

    __slots__ = ("bytes_asked", "lines", "requests", "sectors", "width")

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        self.requests: int = sum(site["requests"] for site in sites)
        self.sectors: int = sum(site["sectors"] for site in sites)
        self.lines: int = sum(site["lines"] for site in sites)
        self.bytes_asked: int = sum(site["bytes"] for site in sites)
        self.width: int | None = max((site["width"] for site in sites), default=None)

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors over requests."""
        return _ratio(self.sectors, self.requests) if self.sectors else None

    @property
    def lines_per_request(self) -> float | None:
        """Lines over requests."""
        return _ratio(self.lines, self.requests) if self.lines else None

    @property
    def efficiency(self) -> float | None:
        """Bytes asked for over bytes moved."""
        return _ratio(self.bytes_asked, self.sectors * SECTOR)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        return {
            "requests": self.requests,
            "sectors": self.sectors,
            "lines": self.lines,
            "bytes_asked": self.bytes_asked,
            "sectors_per_request": self.sectors_per_request,
            "lines_per_request": self.lines_per_request,
            "efficiency": self.efficiency,
            "width": self.width,
        }

    def __repr__(self) -> str:
        figures = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({figures})"


class BankedAccess(Access):
    """The requests to shared memory, of one kind or of all.

    Attributes
    ----------
    passes : int
        Passes through the banks, which Nsight Compute calls wavefronts; those of copy engines
        are not counted.
    """

    __slots__ = ("passes",)

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        super().__init__(sites)
        self.passes: int = sum(site["passes"] for site in sites)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        return super().to_dict() | {"passes": self.passes}


class SharedAccess(BankedAccess):
    """The requests to shared memory, and separately its `loads`, `stores` and `atomics`.

    Attributes
    ----------
    loads, stores, atomics : BankedAccess
        The kinds.
    bank_ways : float or None
        Passes through the banks over the fewest possible, of the worst source line; 1 is free
        of conflicts. None if no warp used shared memory.
    """

    __slots__ = ("atomics", "bank_ways", "loads", "stores")

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        super().__init__(sites)
        self.loads, self.stores, self.atomics = (
            BankedAccess([site for site in sites if site["kind"] == kind]) for kind in KINDS
        )
        ways = [way for way in map(bank_ways, sites) if way is not None]
        self.bank_ways: float | None = max(ways, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        kinds = {name: getattr(self, name).to_dict() for name in ("loads", "stores", "atomics")}
        return super().to_dict() | {"bank_ways": self.bank_ways} | kinds


class ConstantAccess(Access):
    """The requests to constant memory, which has neither sectors nor banks.

    Attributes
    ----------
    ways : float or None
        Passes per request, of the worst source line: one for each different address of its
        lanes; 1 is a broadcast. None if no warp used constant memory.
    """

    __slots__ = ("ways",)

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        super().__init__(sites)
        ways = [way for way in map(bank_ways, sites) if way is not None]
        self.ways: float | None = max(ways, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        return super().to_dict() | {"ways": self.ways}


# ---- as columns of tables ------------------------------------------------------------------

RATIOS = ("sectors/req", "lines/req", "efficiency", "ways")


def ratios(figures: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells under ``RATIOS``."""

    def cell(value: float | None, form: str) -> str:
        return "-" if value is None else form.format(value)

    return (
        cell(figures["sectors_per_request"], "{:.2f}"),
        cell(figures["lines_per_request"], "{:.2f}"),
        cell(figures["efficiency"], "{:.1%}"),
        cell(figures.get("bank_ways"), "{:.2f}"),
    )
