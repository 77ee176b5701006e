"""What a kernel asks of memory: the simulator's counts as a report."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from .. import _core
from ..base import sizes
from ..base.messages import quoted
from ..base.presentation import Presentation
from ..base.tables import format_table, text_width
from ..families import oracle, table
from ..families.table import Variant, resolve
from ..machine.host import host_memory
from ..modules.kernel import refuse_kernel
from ..modules.launch import Launch
from ..modules.textures import TextureObject
from .access import (
    KINDS,
    RATIOS,
    SECTOR,
    Access,
    ConstantAccess,
    SharedAccess,
    bank_ways,
    ratios,
    source_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib is optional, and hints are looked up at run time too

__all__ = ["Traffic", "traffic"]

COUNTS_ONLY = "Counted on the simulator, which knows no times, cache hits or occupancy."
_NO_TEXTURES = (
    "What goes through texture and surface objects is not counted: the layout of textures and the "
    "contents of their cache are not known."
)


class Traffic:
    """What one run of one kernel asked of memory, as the simulator counted it.

    There are no times, no cache hits and no occupancy.

    Attributes
    ----------
    family, variant : str
        What ran; `variant` is never "auto". Of a user's kernel, the name of the module and of the
        kernel.
    name : str
        Both in one: "copy-vec4", or "saxpy of mine.cu".
    grid, block : tuple of int
        Blocks, and threads per block, in x, y and z, of the variant's own kernel.
    shared_bytes : int
        Its shared memory per block: the dynamic part, and the ``__shared__`` variables that were
        used.
    threads, warps : int
        Summed over all kernels; see `kernels`.
    barriers : int
        Block-wide barriers passed, summed over all blocks of all kernels.
    kernels : list of dict
        What the call launched, in order: the variant's own kernel and its helpers, whose requests
        are counted as well. Each has ``name doc grid block shared_bytes threads warps barriers``.
    loads, stores, atomics : Access
        Global memory. An atomic operation that reads and writes counts once, whether or not the
        kernel uses what it returns (Nsight Compute tells "atom" from "red"); lanes that update one
        address do so in one request, and touch its sector once. Atomic loads and stores are loads
        and stores.
    shared : SharedAccess
        Shared memory.
    constant : ConstantAccess
        Constant memory.
    sites : list of dict
        One for each source line, space, kind ("load", "store" or "atomic") and width: ``file line
        space kind by width turn requests lanes bytes sectors lines sectors_per_request
        lines_per_request efficiency passes fewest_passes bank_ways uncertain samples``. ``by`` says
        who makes the requests: "thread", "engine" (a bulk or tensor copy) or "pipeline" (a thread's
        asynchronous copy). ``uncertain`` counts accesses of lanes that reached the line on
        different paths and not equally often: a GPU may group them into other requests. ``lanes``
        are the active threads summed over all requests, ``bytes`` what the requests asked for.
        ``passes`` go through the banks of shared memory, or serve one address of constant memory
        each. ``turn`` are the passes of a turn, where lanes that update one word of shared memory
        take turns; 0 where such lanes are served together. ``samples`` are the first 32 requests,
        each a dict: ``block`` (x, y, z), ``warp``, and with one number per active lane ``lanes``,
        ``addresses`` (byte offsets from the start of the allocation, of shared or of constant
        memory) and ``bytes``.
    requests : int
        Memory instructions executed by warps, in any space.
    bytes_asked, bytes_moved : int
        Bytes of global memory that requests asked for, and bytes of the sectors that they touched.
    notes : list of str
        What the counts leave out; empty if that is nothing.
    result : ndarray, DeviceArray or None
        What the kernel computed; None of a user's kernel, which writes to its arguments.

    Examples
    --------
    >>> import gpumem as gm
    >>> report = gm.traffic("transpose", variant="naive_row", shape=(256, 256))
    >>> report.loads.sectors_per_request, report.stores.sectors_per_request
    (4.0, 32.0)
    """

    # Set by gpumem/__init__.py.
    presentation: ClassVar[Presentation[Any]]

    def __init__(self, counted: dict[str, Any]) -> None:
        self.family: str = counted["family"]
        self.variant: str = counted["variant"]
        self.name: str = counted.get("name", f"{self.family}-{self.variant}")
        self.grid: tuple[int, int, int] = tuple(counted["grid"])
        self.block: tuple[int, int, int] = tuple(counted["block"])
        self.shared_bytes: int = counted["shared_bytes"]
        self.threads: int = counted["threads"]
        self.warps: int = counted["warps"]
        self.barriers: int = counted["barriers"]
        self.kernels: list[dict[str, Any]] = counted.get("kernels", [])
        self.notes: list[str] = counted.get("notes", [])
        self.result: np.ndarray[Any, Any] | None = counted["result"]
        self.sites: list[dict[str, Any]] = []
        for site in counted["sites"]:
            one = Access([site])
            self.sites.append(
                {
                    **site,
                    "sectors_per_request": one.sectors_per_request,
                    "lines_per_request": one.lines_per_request,
                    "efficiency": one.efficiency,
                    "bank_ways": bank_ways(site),
                }
            )
        spaces: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for site in self.sites:
            spaces.setdefault((site["space"], site["kind"]), []).append(site)
        self.loads, self.stores, self.atomics = (
            Access(spaces.get(("global", kind), [])) for kind in KINDS
        )
        self.shared = SharedAccess([site for site in self.sites if site["space"] == "shared"])
        self.constant = ConstantAccess(spaces.get(("constant", "load"), []))

    @property
    def requests(self) -> int:
        """Memory instructions executed by warps."""
        return sum(site["requests"] for site in self.sites)

    @property
    def bytes_asked(self) -> int:
        """Bytes of global memory that requests asked for."""
        return sum(one.bytes_asked for one in (self.loads, self.stores, self.atomics))

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors that requests touched."""
        return sum(one.sectors for one in (self.loads, self.stores, self.atomics)) * SECTOR

    def helpers(self) -> list[dict[str, Any]]:
        """Return those of `kernels` that help the variant's own, each once.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.traffic("copy", variant="vec4", shape=1024).helpers()
        []
        """
        found = {one["name"]: one for one in self.kernels}
        own = f"{self.family}_{self.variant}"
        # A variant may run another family's kernel.
        found.pop(own if own in found else next(reversed(found), None), None)
        return list(found.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything except `result` and the samples as a dict that JSON can hold.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.traffic("copy", variant="vec4", shape=1024).to_dict()["threads"]
        256
        """
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
            "atomics": self.atomics.to_dict(),
            "shared": self.shared.to_dict(),
            "constant": self.constant.to_dict(),
            "sites": [
                {name: value for name, value in site.items() if name != "samples"}
                for site in self.sites
            ],
            "notes": self.notes,
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text.

        Examples
        --------
        >>> import gpumem as gm
        >>> import json
        >>> text = gm.traffic("copy", variant="vec4", shape=1024).to_json()
        >>> json.loads(text)["variant"]
        'vec4'
        """
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
        """Draw one request of a source line: lanes against banks, sectors or addresses.

        For shared memory the columns are banks. A cell is coloured where a lane asks a bank for a
        word, by the pass that serves it (the order of the passes is arbitrary); the bottom row says
        how many different words each bank is asked for. For global memory the columns are sectors:
        pale where a lane touches one, dark where the bytes are that it asks for; the bottom row
        says how many bytes of each sector are asked for. For constant memory the columns are
        addresses, each of which takes a pass; the bottom row says how many lanes it serves. Lanes
        that are inactive are grey.

        Parameters
        ----------
        site : int or str, optional
            Its index in `sites`, or the source line as "tile.cu:39"; if a line has several
            sites, "tile.cu:39 shared load" chooses one. By default the worst one: the line of
            shared or constant memory with the most ways, if that is more than one; else the line
            that moves most sectors beyond those that its bytes would fill.
        request : int, optional
            Which of the requests kept in the site's ``samples``; by default, the first.
        ax : matplotlib.axes.Axes, optional
            Where to draw, for several reports side by side; by default, a new figure.
        space : {"global", "shared", "constant"}, optional
            Only lines that use this memory.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If there is no such site or request; the message names the range.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> import gpumem as gm
        >>> ax = gm.traffic("transpose", variant="tile", shape=(64, 64)).draw()
        """
        return self.presentation.draw(self, site=site, request=request, ax=ax, space=space)

    def __repr__(self) -> str:
        return f"<gpumem traffic of {self.name}: {self.requests} requests>"

    def __str__(self) -> str:
        grid, block = (" x ".join(map(str, sides)) for sides in (self.grid, self.block))
        lines = [
            f"{self.name}: grid {grid}, block {block}: {self.threads} threads, {self.warps} warps",
            *(f"with {one['name']}: {one['doc']}" for one in self.helpers()),
            "",
        ]
        if self.sites:
            head = ("source line", "space", "kind", "bits", "requests", "sectors", *RATIOS)
            rows = [
                (
                    source_line(site),
                    site["space"],
                    site["kind"],
                    str(site["width"]),
                    str(site["requests"]),
                    str(site["sectors"] or "-"),
                    *ratios(site),
                )
                for site in self.sites
            ]
            lines += [format_table(head, rows, left=3), ""]
        sums = (
            f"{self.bytes_asked} bytes of global memory asked for, {self.bytes_moved} moved; "
            f"{self.requests} memory instructions of warps, {self.barriers} barriers, "
            f"{self.shared_bytes} bytes of shared memory per block."
        )
        for text in (sums, *self.notes, COUNTS_ONLY):
            lines += textwrap.wrap(text, text_width())
        return "\n".join(lines)


def traffic(
    family: str | Launch,
    *arrays: Any,
    variant: str | Variant = "auto",
    shape: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    **parameters: Any,
) -> Traffic:
    """Run a kernel on the simulator, and report what it asks of memory.

    Parameters
    ----------
    family : str or Launch
        Which family, such as "copy"; or a user's kernel with its grid, ``kernel[grid, block]``.
    *arrays : array_like or DeviceArray
        The inputs of the family's function, or the arguments of the kernel, which writes to its
        arrays as in any call. Host arrays are made contiguous when they are copied
        to simulated memory, as for any call; a DeviceArray on the simulator is observed in the
        layout that it has.
    variant : str or Variant
        Which kernel.
    shape : int or tuple of int
        The shape of random arrays, instead of `arrays`.
    dtype : dtype, optional
        Of the random arrays: by default float32, or another one if the family does not take it.
    **parameters
        More keyword arguments of the family's function, such as ``max_blocks=8``.

    Returns
    -------
    Traffic
        Requests, sectors, lines, efficiency and bank ways, in total and per source line;
        :meth:`Traffic.draw` shows one request as a picture.

    Raises
    ------
    ValueError
        If the family or the variant is unknown, if `shape` is invalid or too large for the host's
        memory, or if the variant does not take these arrays.
    TypeError
        If both or neither of `arrays` and `shape` are given, `dtype` is given with `arrays`, or a
        parameter is unknown.
    UnavailableError
        If the simulator cannot run the variant.
    SimulationError
        If the kernel breaks a rule of the memory model; the message says where.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.traffic("copy", variant="vec4", shape=2**20).loads.sectors_per_request
    16.0
    >>> m = gm.load(source="__global__ void evens(float *x) { x[2 * threadIdx.x] = 1; }")
    >>> gm.traffic(m["evens"][1, 32], gm.empty(64, backend="sim")).stores.efficiency
    0.5
    """
    refuse_kernel(family)
    if isinstance(family, Launch):
        _refuse_keywords(variant=variant != "auto", shape=shape, dtype=dtype, **parameters)
        return Traffic(_of_launch(family, arrays))
    name = resolve(family, variant)
    values = table.parameters(family, parameters)
    if shape is not None and arrays:
        raise TypeError("traffic takes arrays or shape=, not both")
    if dtype is not None and arrays:
        raise TypeError("traffic takes dtype= with shape= alone: arrays have their own")
    if shape is not None:
        itemsize = oracle.dtype_for(family, dtype).itemsize
        nbytes, _ = oracle.work(family, shape, dtype, **parameters)
        # Once as NumPy arrays, once in simulated memory.
        if 2 * nbytes > host_memory():
            raise ValueError(
                f"shape is too large: {quoted(shape)} with {itemsize} bytes per element needs "
                f"{sizes.format_bytes(2 * nbytes)} of memory here"
            )
        arrays = oracle.arguments(family, shape, dtype, seed=0, **parameters)
    elif not arrays:
        raise TypeError("traffic needs arrays or shape=")
    return Traffic(_core.traffic(family, name, table.as_taken(family, arrays), values))


def _refuse_keywords(**given: Any) -> None:
    """Raise for a keyword that only kernels of a family take."""
    for name, value in given.items():
        if value not in (None, False):
            raise TypeError(f"traffic of a loaded kernel takes its arguments alone, and no {name}=")


def _of_launch(launch: Launch, args: tuple[Any, ...]) -> dict[str, Any]:
    """Run a user's kernel under observation, and say what Traffic is made of."""
    counted = launch.observe(args)
    kernel = launch.kernel
    sums = {
        name: sum(one[name] for one in counted["kernels"])
        for name in ("threads", "warps", "barriers")
    }
    return {
        **counted,
        **sums,
        "family": kernel.module.name,
        "variant": kernel.name,
        "name": kernel.title,
        "grid": launch.grid,
        "block": launch.block,
        "shared_bytes": counted["kernels"][-1]["shared_bytes"],
        "notes": [_NO_TEXTURES] if any(isinstance(a, TextureObject) for a in args) else [],
        "result": None,
    }
