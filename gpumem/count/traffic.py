"""What a kernel asks of memory: the simulator's counts as a report."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, ClassVar

from .. import _core
from ..base import sizes
from ..base.messages import quoted
from ..base.presentation import Presentation
from ..families import oracle, table
from ..families.table import Variant, resolve

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, DTypeLike

__all__ = ["Access", "ConstantAccess", "SharedAccess", "Traffic", "traffic"]

SECTOR = 32  # bytes


def source_line(site: dict[str, Any]) -> str:
    """A source line as it is written in tables and titles: "tile.cu:39"."""
    return f"{site['file'].rsplit('/', 1)[-1]}:{site['line']}" if site["file"] else "?"


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _bank_ways(site: dict[str, Any]) -> float | None:
    """Passes over the fewest possible; None for what does not go through the banks."""
    return _ratio(site.get("passes", 0), site.get("fewest_passes", 0))


class Access:
    """The requests to one space, loads or stores, over the whole run.

    A request is one memory instruction executed by one warp.

    Attributes
    ----------
    requests : int
        How many there were.
    sectors, lines : int
        Aligned pieces of 32 and of 128 bytes that they touched, counted once per request;
        0 for shared memory, which has none.
    bytes_asked : int
        What the requests asked for, in bytes; lanes at one address ask for it once.
    sectors_per_request, lines_per_request : float or None
        None where there were no requests, and for shared memory.
    efficiency : float or None
        Bytes asked over bytes moved, sectors times 32; 1 is best. None where there were no
        requests, and for shared memory.
    width : int or None
        Bits of the widest access of a thread; None where there was none.
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
        return _ratio(self.sectors, self.requests) if self.sectors else None

    @property
    def lines_per_request(self) -> float | None:
        return _ratio(self.lines, self.requests) if self.lines else None

    @property
    def efficiency(self) -> float | None:
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


class SharedAccess(Access):
    """The requests to shared memory; `loads` and `stores` are the two parts of it.

    Attributes
    ----------
    loads, stores : Access
        What is said of an :class:`Access`, for each direction.
    bank_ways : float or None
        Passes through the banks over the fewest possible, of the worst source line; 1 is free
        of conflicts. None where no warp asked shared memory for anything.
    """

    __slots__ = ("bank_ways", "loads", "stores")

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        super().__init__(sites)
        self.loads = Access([site for site in sites if site["kind"] == "load"])
        self.stores = Access([site for site in sites if site["kind"] == "store"])
        ways = [way for way in map(_bank_ways, sites) if way is not None]
        self.bank_ways: float | None = max(ways, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        parts: dict[str, Any] = {"loads": self.loads.to_dict(), "stores": self.stores.to_dict()}
        return super().to_dict() | {"bank_ways": self.bank_ways} | parts


class ConstantAccess(Access):
    """The requests to constant memory, which has neither sectors nor banks.

    Attributes
    ----------
    ways : float or None
        Passes per request, of the worst source line: as many as its lanes have different
        addresses; 1 is a broadcast. None where no warp asked constant memory for anything.
    """

    __slots__ = ("ways",)

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        super().__init__(sites)
        ways = [way for way in map(_bank_ways, sites) if way is not None]
        self.ways: float | None = max(ways, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold."""
        return super().to_dict() | {"ways": self.ways}


class Traffic:
    """What one run of one kernel did to memory, as the simulator counted it.

    It knows no times, no cache hits and no occupancy.

    Attributes
    ----------
    family, variant : str
        What ran; `variant` is never "auto".
    grid, block : tuple of int
        Blocks, and threads per block, in x, y and z, of the variant's own kernel.
    shared_bytes : int
        Its shared memory per block: the dynamic part, and what was used of ``__shared__``
        variables.
    threads, warps : int
        Of all kernels, see `kernels`.
    barriers : int
        Block-wide barriers passed, over all blocks of all kernels.
    kernels : list of dict
        What the call launched, in order: the variant's own kernel, and others where it needs their
        help, whose requests are counted as well. Of each ``name doc grid block shared_bytes
        threads warps barriers``.
    loads, stores : Access
        Global memory.
    shared : SharedAccess
        Shared memory.
    constant : ConstantAccess
        Constant memory.
    sites : list of dict
        Each source line, space, kind and width: ``file line space kind by width requests lanes
        bytes sectors lines sectors_per_request lines_per_request efficiency passes
        fewest_passes bank_ways uncertain samples``. ``by`` says who asks: "thread", "engine" (a
        bulk or tensor copy) or "pipeline" (an asynchronous copy of a thread's). ``uncertain`` are
        accesses in requests of lanes that came to the line unequally often, by different ways: a
        GPU may put them together otherwise. ``lanes`` is the active threads of all requests,
        ``bytes`` what the requests asked for. ``passes`` are those through the banks of shared
        memory, or one per different address of constant memory. ``samples`` are the first 32
        requests, each a dict: ``block`` (x, y, z), ``warp``, and with one number per active lane
        ``lanes``, ``addresses`` (bytes from the start of the allocation, of shared or of constant
        memory) and ``bytes``.
    requests : int
        Instructions of warps that touched memory, in any space.
    bytes_asked, bytes_moved : int
        Bytes of global memory that the requests asked for, and those of the sectors touched.
    result : ndarray or DeviceArray
        What the kernel computed.
    """

    # Set by gpumem/__init__.py.
    presentation: ClassVar[Presentation[Any]]

    def __init__(self, counted: dict[str, Any]) -> None:
        self.family: str = counted["family"]
        self.variant: str = counted["variant"]
        self.grid: tuple[int, int, int] = tuple(counted["grid"])
        self.block: tuple[int, int, int] = tuple(counted["block"])
        self.shared_bytes: int = counted["shared_bytes"]
        self.threads: int = counted["threads"]
        self.warps: int = counted["warps"]
        self.barriers: int = counted["barriers"]
        self.kernels: list[dict[str, Any]] = counted.get("kernels", [])
        self.result: np.ndarray[Any, Any] = counted["result"]
        self.sites: list[dict[str, Any]] = []
        for site in counted["sites"]:
            one = Access([site])
            self.sites.append(
                {
                    **site,
                    "sectors_per_request": one.sectors_per_request,
                    "lines_per_request": one.lines_per_request,
                    "efficiency": one.efficiency,
                    "bank_ways": _bank_ways(site),
                }
            )
        spaces: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for site in self.sites:
            spaces.setdefault((site["space"], site["kind"]), []).append(site)
        self.loads = Access(spaces.get(("global", "load"), []))
        self.stores = Access(spaces.get(("global", "store"), []))
        self.shared = SharedAccess([site for site in self.sites if site["space"] == "shared"])
        self.constant = ConstantAccess(spaces.get(("constant", "load"), []))

    @property
    def requests(self) -> int:
        return sum(site["requests"] for site in self.sites)

    @property
    def bytes_asked(self) -> int:
        return self.loads.bytes_asked + self.stores.bytes_asked

    @property
    def bytes_moved(self) -> int:
        return (self.loads.sectors + self.stores.sectors) * SECTOR

    def helpers(self) -> list[dict[str, Any]]:
        """Return those of `kernels` that stand beside the variant's own, each once."""
        found = {one["name"]: one for one in self.kernels}
        own = f"{self.family}_{self.variant}"
        # A variant may be another family's kernel.
        found.pop(own if own in found else next(reversed(found), None), None)
        return list(found.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything but `result` and the samples as a dict that JSON can hold."""
        return {
            "family": self.family,
            "variant": self.variant,
            "grid": list(self.grid),
            "block": list(self.block),
            "shared_bytes": self.shared_bytes,
            "threads": self.threads,
            "warps": self.warps,
            "barriers": self.barriers,
            "kernels": [
                one | {"grid": list(one["grid"]), "block": list(one["block"])}
                for one in self.kernels
            ],
            "requests": self.requests,
            "bytes_asked": self.bytes_asked,
            "bytes_moved": self.bytes_moved,
            "loads": self.loads.to_dict(),
            "stores": self.stores.to_dict(),
            "shared": self.shared.to_dict(),
            "constant": self.constant.to_dict(),
            "sites": [
                {name: value for name, value in site.items() if name != "samples"}
                for site in self.sites
            ],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text."""
        import json

        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def draw(
        self,
        site: int | str | None = None,
        request: int = 0,
        ax: Axes | None = None,
        *,
        space: str | None = None,
    ) -> Axes:
        """Draw one request of a source line: lanes and banks, sectors, or constants.

        For shared memory a cell is coloured where a lane asks a bank for a word, and told by
        the pass that serves it among the lanes served together (the order of the passes is
        made up); below stands how many different words each bank is asked for. For global
        memory the columns are the sectors touched, pale where a lane touches one and dark
        where its bytes lie; below stands how many bytes of the sector are asked for. For
        constant memory the columns are addresses, each of which takes a pass; below stands how
        many lanes it serves. Grey rows are lanes that take no part.

        Parameters
        ----------
        site : int or str, optional
            Its place in `sites`, or the source line as "tile.cu:39"; where that has several
            sites, "tile.cu:39 shared load" says which. By default the most telling one: the
            line of shared or constant memory with the most ways, else the line with the lowest
            efficiency.
        request : int, optional
            Which of the requests kept in the site's ``samples``; the first by default.
        space : {"global", "shared", "constant"}, optional
            Only lines that use this memory.
        ax : matplotlib.axes.Axes, optional
            Where to draw, so that several reports can stand side by side; by default, a new
            figure of its own.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If there is no such site or no such request; the message names the range.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> import gpumem as gm
        >>> ax = gm.traffic("transpose", variant="tile", shape=(64, 64)).draw()
        """
        return self.presentation.draw(self, site=site, request=request, ax=ax, space=space)

    def __repr__(self) -> str:
        return f"<gpumem traffic of {self.family}-{self.variant}: {self.requests} requests>"

    def __str__(self) -> str:
        grid = " x ".join(map(str, self.grid))
        block = " x ".join(map(str, self.block))
        lines = [
            f"{self.family}-{self.variant}: grid {grid}, block {block}: "
            f"{self.threads} threads, {self.warps} warps",
            *(f"with {one['name']}: {one['doc']}" for one in self.helpers()),
            "",
        ]
        if self.sites:
            head = ("source line", "space", "kind", "bits", "requests", "sectors", *_RATIOS)
            rows = [
                (
                    source_line(site),
                    site["space"],
                    site["kind"],
                    str(site["width"]),
                    str(site["requests"]),
                    str(site["sectors"] or "-"),
                    *_ratios(site),
                )
                for site in self.sites
            ]
            lines += [sizes.format_table(head, rows, left=3), ""]
        sums = (
            f"{self.bytes_asked} bytes of global memory asked for, {self.bytes_moved} moved; "
            f"{self.requests} instructions of warps that touch memory, {self.barriers} barriers, "
            f"{self.shared_bytes} bytes of shared memory per block."
        )
        lines += [
            *textwrap.wrap(sums, sizes.text_width()),
            "Counted on the simulator, which knows no times, cache hits or occupancy.",
        ]
        return "\n".join(lines)


_RATIOS = ("sectors/req", "lines/req", "efficiency", "ways")


def _ratios(figures: dict[str, Any]) -> tuple[str, ...]:
    """The cells under ``_RATIOS``."""

    def cell(value: float | None, form: str) -> str:
        return "-" if value is None else form.format(value)

    return (
        cell(figures["sectors_per_request"], "{:.2f}"),
        cell(figures["lines_per_request"], "{:.2f}"),
        cell(figures["efficiency"], "{:.1%}"),
        cell(figures.get("bank_ways"), "{:.2f}"),
    )


def summary(reports: list[Traffic]) -> str:
    """Return one table with two rows per report: its global loads and its global stores.

    The bank ways beside the loads are those of the worst line that uses shared memory.
    """
    head = ("variant", "kind", "bits", "requests", *_RATIOS, "barriers")
    rows = []
    idle = []
    for report in reports:
        if not report.requests:
            idle.append(f"{report.family}-{report.variant}")
            continue
        ways = report.shared.bank_ways
        for kind, access in (("load", report.loads), ("store", report.stores)):
            first = kind == "load"
            rows.append(
                (
                    f"{report.family}-{report.variant}" if first else "",
                    kind,
                    str(access.width or "-"),
                    str(access.requests),
                    *_ratios(access.to_dict() | {"bank_ways": ways if first else None}),
                    str(report.barriers) if first else "",
                )
            )
    table = sizes.format_table(head, rows, left=2)
    if idle:
        words = f"Nothing to count: {', '.join(idle)}."
        table += "\n" + textwrap.fill(words, sizes.text_width(), break_on_hyphens=False)
    return table


def traffic(
    family: str,
    *arrays: ArrayLike,
    variant: str | Variant = "auto",
    shape: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    **parameters: Any,
) -> Traffic:
    """Run a kernel on the simulator under observation, and report its use of memory.

    Parameters
    ----------
    family : str
        Which family, such as "copy".
    *arrays : array_like or DeviceArray
        The inputs of the family's function. What is on the host and not contiguous is made so
        on its way into simulated memory, as for any call; a DeviceArray on the simulator is
        observed in the layout that it has.
    variant : str or Variant
        Which kernel.
    shape : int or tuple of int
        Instead of arrays: the shape of random ones.
    dtype : dtype, optional
        Of the random arrays: by default float32, or what the family takes instead.
    **parameters
        Further keywords of the family's function, such as ``max_blocks=8``.

    Returns
    -------
    Traffic
        Requests, sectors, lines, efficiency and bank ways, in sum and per source line;
        :meth:`Traffic.draw` shows one request as a picture.

    Raises
    ------
    ValueError
        If the family or the variant is unknown, if `shape` is no shape or too large for the
        memory here, or if the variant cannot take these arrays.
    TypeError
        If both or neither of arrays and `shape` are given, or a parameter is unknown.
    UnavailableError
        If the simulator cannot run the variant.
    SimulationError
        If the kernel does something illegal: the message says where.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.traffic("copy", variant="vec4", shape=2**20).loads.sectors_per_request
    16.0
    """
    name = resolve(family, variant)
    values = table.parameters(family, parameters)
    if shape is not None and arrays:
        raise TypeError("traffic takes arrays or shape=, not both")
    if shape is not None:
        itemsize = oracle.dtype_for(family, dtype).itemsize
        nbytes, _ = oracle.work(family, shape, dtype, **parameters)
        # Once as NumPy arrays, once in simulated memory.
        if 2 * nbytes > sizes.host_memory():
            raise ValueError(
                f"shape is too large: {quoted(shape)} with {itemsize} bytes per element needs "
                f"{sizes.format_bytes(2 * nbytes)} of memory here"
            )
        arrays = oracle.arguments(family, shape, dtype, seed=0, **parameters)
    elif not arrays:
        raise TypeError("traffic needs arrays or shape=")
    return Traffic(_core.traffic(family, name, table.as_taken(family, arrays), values))
