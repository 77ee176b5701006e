"""The table of families and variants, as Python objects.

The extension module lists them. Each family has a file in this folder with the same name, and
that is where its ``FAMILY`` is found; there is no other list.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from .. import _core
from ..base.messages import unknown
from . import shipped_code
from .keywords import flag
from .protocol import Family

_TABLE = _core.families()

FAMILIES: dict[str, Family] = {
    row["name"]: import_module(f"{__package__}.{row['name']}").FAMILY for row in _TABLE
}


class Variant:
    """One way of doing a family's job: a row of the table, whose kernel is in a file of its own.

    A row may have several kernels, which differ by element size or geometry: its *instances*. The
    row chooses the best one for a call. Each instance is a Variant of its own, named
    ``"row:instance"``.

    There is one object for each row and each instance of the table, and :func:`variants` returns
    it; copies and pickles of it are the same object. ``str(v)`` is ``"family-name"``.

    Attributes
    ----------
    family, name : str
        "copy", "vec4"; of an instance, "tile_vector:b32".
    instances : tuple of Variant
        The kernels of a row that has several; empty for all others.
    row : Variant or None
        The row that an instance belongs to.
    serves : bool
        Whether the variant only serves ``"auto"`` and is no lesson of the ladder.
    formerly : str or None
        The earlier name of an instance that was a row of its own. Calls still take it, with a
        DeprecationWarning; results measured under it keep it.
    doc : str
        The idea, in one line.
    source : str
        The kernel's file, from the root of the repository.
    follows : str or None
        The rung of the ladder below this one.
    requires : str
        What the device or the machine must have, in words; "" if nothing special.
    block : tuple of int
        Threads per block in x, y and z. For a row with instances, `block`, `elements` and `claims`
        are those of the first instance.
    elements : int
        Elements per thread and step.
    alignment : int
        Bytes that every array's address must be a multiple of; 0 for any address.
    itemsizes : tuple of int
        Element sizes that it takes, in bytes; empty for any size.
    in_place : bool
        Whether the family changes its first array and returns it.
    kinds : str or None
        The ``dtype.kind`` letters that it takes. It computes with them as numbers, so a NaN may
        come back as another NaN. None for any dtype.
    layout : {"contiguous", "rows", "strided"}
        The layouts of its inputs that it takes: contiguous arrays; matrices with contiguous
        rows; any.
    memory : {"mapped", "managed"} or None
        The kind of host memory that all its arrays have to be in (see `gpumem.empty`); None
        if they may be anywhere.
    shared_bytes : int
        Dynamic shared memory per block, where no argument changes it.
    claims : dict
        What its traffic should be for aligned full tiles: ``load_sectors`` and
        ``store_sectors`` per request, ``bank_ways``, ``width`` in bits; None for no claim.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> vec4 = gm.variants("copy")[2]
    >>> vec4
    <gpumem variant copy-vec4: 128 bits: a quarter of the instructions>
    >>> vec4.follows, vec4.alignment, vec4.claims["width"]
    ('vec2', 16, 128)
    >>> vec4(np.arange(3))
    array([0, 1, 2])
    """

    __slots__ = (
        "alignment",
        "block",
        "claims",
        "doc",
        "elements",
        "family",
        "follows",
        "formerly",
        "in_place",
        "instances",
        "itemsizes",
        "kinds",
        "layout",
        "memory",
        "name",
        "requires",
        "row",
        "serves",
        "shared_bytes",
        "source",
    )

    def __init__(self, family: dict[str, Any], row: dict[str, Any]) -> None:
        self.family: str = family["name"]
        self.in_place: bool = family["in_place"]
        self.name: str = row["name"]
        self.row: Variant | None = None
        self.instances: tuple[Variant, ...] = ()
        self.formerly: str | None = row["formerly"]
        self.serves: bool = row["serves"]
        self.doc: str = row["doc"]
        self.source: str = row["source"]
        self.follows: str | None = row["follows"]
        self.block: tuple[int, int, int] = row["block"]
        self.elements: int = row["elements"]
        self.alignment: int = row["alignment"]
        self.itemsizes: tuple[int, ...] = row["itemsizes"]
        self.kinds: str | None = row["kinds"]
        self.layout: str = row["layout"]
        self.memory: str | None = row["memory"]
        self.shared_bytes: int = row["shared_bytes"]
        self.claims: dict[str, Any] = row["claims"]
        needs = []
        if row["capability"]:
            needs.append("compute capability {}.{}".format(*divmod(row["capability"], 10)))
        if row["library"]:
            needs.append({"cublas": "cuBLAS"}[row["library"]])
        self.requires: str = ", ".join(needs)

    def _add(self, instance: Variant) -> None:
        if not self.instances:
            self.block, self.elements = instance.block, instance.elements
            self.claims = instance.claims
        self.instances += (instance,)
        instance.row, instance.follows, instance.serves = self, self.follows, self.serves

    @property
    def names(self) -> tuple[str, ...]:
        """All names that results may have for it: its own, the earlier one, its instances'.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.variants("copy")[0].names
        ('scalar',)
        """
        own = (self.name, self.formerly) if self.formerly else (self.name,)
        return own + tuple(name for one in self.instances for name in one.names)

    @property
    def available(self) -> bool:
        """Whether the variant runs on the current default backend.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.variants("copy")[0].available
        True
        """
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Why the variant does not run on the current default backend; None if it does.

        Examples
        --------
        >>> import gpumem as gm
        >>> print(gm.variants("copy")[0].reason)
        None
        """
        return self.reason_on(None)

    def reason_on(self, backend: str | None) -> str | None:
        """Return why the variant does not run on a backend, or None if it does.

        Parameters
        ----------
        backend : {"cuda", "sim"} or None
            None is the current default.

        Returns
        -------
        str or None

        Examples
        --------
        >>> import gpumem as gm
        >>> print(gm.variants("copy")[0].reason_on("sim"))
        None
        """
        try:
            return _core.available(self.family, self.name, backend)
        except _core.UnavailableError as error:
            return str(error)

    def __call__(self, *arrays: Any, **parameters: Any) -> Any:
        """Run this variant; the arguments are those of the family's function."""
        return FAMILIES[self.family].function(*arrays, variant=self.name, **parameters)

    def attributes(self, backend: str | None = None, arch: str | None = None) -> dict[str, Any]:
        """Return the resources that the compiled kernel uses on the CUDA device.

        Without a GPU they are those that gpumem ships, as nvcc compiled the kernel for `arch`.

        Parameters
        ----------
        backend : {"cuda", "sim"}, optional
            By default, the current default backend. On the simulator: what is shipped.
        arch : str, optional
            What is shipped for a target such as "80" or "sm_120", on either backend; by default
            "90a" on the simulator.

        Returns
        -------
        dict
            ``registers`` per thread, ``local_bytes`` per thread, ``shared_bytes`` per block,
            ``blocks`` resident per multiprocessor and ``occupancy`` (0 to 1) at the variant's
            block size. From a device also ``constant_bytes`` of the module, ``max_threads`` per
            block and the ``binary_version`` of the machine code. Shipped ones also have
            ``spill_store_bytes`` and ``spill_load_bytes`` per thread, ``dynamic_shared_bytes`` per
            block, ``arch``, and ``shipped``, a sentence that says what made them.

        Raises
        ------
        UnavailableError
            For variants without a kernel; with ``backend="cuda"`` and no `arch`, without a GPU.
        ValueError
            For a row with instances; the message names one. If nothing is shipped for `arch`.

        Examples
        --------
        >>> import gpumem as gm
        >>> found = gm.variants("copy")[2].attributes(arch="90a")
        >>> found["occupancy"], found["arch"]
        (1.0, '90a')
        """
        if arch is None and _core.backend(backend) == "cuda":
            return _core.attributes(self.family, self.name, backend)
        if self.instances:
            raise ValueError(
                f"variant {self.name} has several kernels; name one, such as "
                f'"{self.instances[0].name}"'
            )
        archs = shipped_code.of_kernel(self.family, self.name)
        told = shipped_code.of_arch(archs, shipped_code.MEASURED_ON if arch is None else arch)
        kept = {name: told[name] for name in told if name not in ("instructions", "memory")}
        return {**kept, "shipped": shipped_code.made_with(self.family)}

    def __str__(self) -> str:
        return f"{self.family}-{self.name}"

    def __repr__(self) -> str:
        return f"<gpumem variant {self}: {self.doc}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.family, self.name)


def _rows(family: dict[str, Any]) -> tuple[Variant, ...]:
    """Return the rows of a family; the table lists the instances of each after it."""
    rows: dict[str, Variant] = {}
    for row in family["variants"]:
        variant = Variant(family, row)
        if row["row"] is None:
            rows[variant.name] = variant
        else:
            rows[row["row"]]._add(variant)
    return tuple(rows.values())


_VARIANTS: dict[str, tuple[Variant, ...]] = {row["name"]: _rows(row) for row in _TABLE}


def families() -> tuple[str, ...]:
    """Return the names of all families in the order of the table.

    Each is also the name of a function of this package.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.families()[:3]
    ('copy', 'strided_read', 'strided_write')
    """
    return tuple(_VARIANTS)


def variants(family: str | None = None, *, instances: bool = False) -> list[Variant]:
    """Return the variants of a family in ladder order.

    Parameters
    ----------
    family : str, optional
        By default, the variants of all families.
    instances : bool
        Whether to list the instances of a row in place of the row.

    Returns
    -------
    list of Variant

    Raises
    ------
    ValueError
        If there is no such family; the message lists the families.

    Examples
    --------
    >>> import gpumem as gm
    >>> [v.name for v in gm.variants("copy")][:3]
    ['scalar', 'vec2', 'vec4']
    """
    if family is None:
        rows = [variant for rungs in _VARIANTS.values() for variant in rungs]
    else:
        rows = list(_ladder(family))
    wanted = flag("instances", instances)
    return [one for row in rows for one in row.instances or (row,)] if wanted else rows


def _ladder(family: str) -> tuple[Variant, ...]:
    if not isinstance(family, str) or family not in _VARIANTS:
        raise ValueError(unknown("there is no family", family, _VARIANTS, "; the families are"))
    return _VARIANTS[family]


def ladder_names(family: str) -> list[str]:
    """Return all names that results may have for the variants of a family, in ladder order."""
    return [name for row in variants(family) for name in row.names]


def find(family: str, name: str) -> Variant:
    """Return a row or an instance by its name or its earlier name.

    Raises
    ------
    ValueError
        If there is none; the message lists the names.
    """
    everything = [one for row in _ladder(family) for one in (row, *row.instances)]
    for variant in everything:
        if isinstance(name, str) and name in (variant.name, variant.formerly):
            return variant
    known = [variant.name for variant in everything]
    raise ValueError(unknown(f"{family} has no variant", name, known, "; it has"))


def resolve(family: str, variant: str | Variant) -> str:
    """Return the name of a variant of this family, or "auto"; ValueError if it is neither."""
    if isinstance(variant, Variant):
        if variant.family != family:
            raise ValueError(f"{variant} is not a variant of {family}")
        return variant.name
    if isinstance(variant, str) and variant == "auto":
        _ladder(family)
        return variant
    found = find(family, variant)
    if found.name != variant:
        text = f'variant "{variant}" of {family} is now "{found.name}"'
        warnings.warn(text, DeprecationWarning, stacklevel=3)
    return found.name


def parameters(family: str, keywords: dict[str, Any]) -> tuple[float, ...]:
    """Return the keywords of a family's function as the extension module takes them.

    Raises
    ------
    TypeError
        If a keyword is unknown; the message names those that the family takes.
    """
    convert = FAMILIES[family].parameters
    known = convert.__code__.co_varnames[: convert.__code__.co_argcount]
    for name in keywords:
        if name not in known:
            raise TypeError(unknown(f"{family} has no parameter", name, known, "; its parameters"))
    return convert(**keywords)


def as_taken(family: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the array arguments of a family's function as the extension module takes them."""
    convert = FAMILIES[family].as_taken
    return arrays if convert is None else tuple(map(convert, arrays))
