"""Families and variants: the table of the extension module as Python objects."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..base.messages import unknown
from . import functions

_families: dict[str, tuple[Variant, ...]] = {}


class Variant:
    """One way of doing a family's job: one kernel in one file.

    There is one object for each row of the table, which :func:`variants` returns; copying
    and pickling keep to that. ``str(v)`` is ``"family-name"``.

    Attributes
    ----------
    family, name : str
        "copy", "vec4".
    doc : str
        The idea, in one line.
    source : str
        The kernel's file, from the root of the repository.
    follows : str or None
        The rung of the ladder below this one.
    requires : str
        What the device or the machine must have, in words; "" if nothing special.
    block : tuple of int
        Threads per block in x, y and z.
    elements : int
        Elements per thread and step.
    alignment : int
        Bytes that every array's address must be a multiple of; 0 for any address.
    itemsizes : tuple of int
        Bytes per element that it takes; empty for any.
    in_place : bool
        Whether the family changes its first array and returns it.
    kinds : str or None
        The ``dtype.kind`` letters that it takes, as numbers and not as bits: a NaN may come
        back as another NaN. None for any dtype.
    layout : {"contiguous", "rows", "strided"}
        The layouts of its inputs that it takes: without gaps; with contiguous rows; any.
    memory : {"mapped", "managed"} or None
        The kind of host memory that all its arrays have to be in (see `gpumem.empty`); None
        where they may be anywhere.
    claims : dict
        What its traffic should be for aligned full tiles: ``load_sectors`` and
        ``store_sectors`` per request, ``bank_ways``, ``width`` in bits; None for no claim.
    """

    __slots__ = (
        "alignment",
        "block",
        "claims",
        "doc",
        "elements",
        "family",
        "follows",
        "in_place",
        "itemsizes",
        "kinds",
        "layout",
        "memory",
        "name",
        "requires",
        "source",
    )

    def __init__(self, family: dict[str, Any], row: dict[str, Any]) -> None:
        self.family: str = family["name"]
        self.in_place: bool = family["in_place"]
        self.name: str = row["name"]
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
        self.claims: dict[str, Any] = row["claims"]
        needs = []
        if row["capability"]:
            needs.append("compute capability {}.{}".format(*divmod(row["capability"], 10)))
        if row["library"]:
            needs.append({"cublas": "cuBLAS"}[row["library"]])
        self.requires: str = ", ".join(needs)

    @property
    def available(self) -> bool:
        """Whether the variant runs on the current default backend."""
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Why the variant does not run on the current default backend; None if it does."""
        return self.reason_on(None)

    def reason_on(self, backend: str | None) -> str | None:
        """Return why the variant does not run on a backend, or None if it does.

        Parameters
        ----------
        backend : {"cuda", "sim"} or None
            None is the current default.
        """
        try:
            return _core.available(self.family, self.name, backend)
        except _core.UnavailableError as error:
            return str(error)

    def __call__(self, *arrays: Any, **parameters: Any) -> Any:
        """Run this very variant; the arguments are those of the family's function."""
        return getattr(functions, self.family)(*arrays, variant=self.name, **parameters)

    def attributes(self, backend: str | None = None) -> dict[str, Any]:
        """Return what the compiled kernel needs on the CUDA device.

        Returns
        -------
        dict
            ``registers`` per thread, ``local_bytes`` per thread, ``shared_bytes`` and
            ``constant_bytes`` per block, ``max_threads`` per block, ``blocks`` resident per
            multiprocessor and ``occupancy`` (0 to 1) at the variant's block size,
            ``binary_version`` of the machine code.

        Raises
        ------
        UnavailableError
            On the simulator, and for variants without a kernel.
        """
        return _core.attributes(self.family, self.name, backend)

    def __str__(self) -> str:
        return f"{self.family}-{self.name}"

    def __repr__(self) -> str:
        return f"<gpumem variant {self}: {self.doc}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.family, self.name)


def _load() -> dict[str, tuple[Variant, ...]]:
    if not _families:
        for family in _core.families():
            rows = family["variants"]
            _families[family["name"]] = tuple(Variant(family, row) for row in rows)
    return _families


def families() -> tuple[str, ...]:
    """Return the names of all families in the order of the table.

    Each is also the name of a function of this package.
    """
    return tuple(_load())


def variants(family: str | None = None) -> list[Variant]:
    """Return the variants of a family in ladder order.

    Parameters
    ----------
    family : str, optional
        By default, the variants of all families.

    Raises
    ------
    ValueError
        If there is no such family; the message lists those there are.
    """
    table = _load()
    if family is None:
        return [variant for rungs in table.values() for variant in rungs]
    if not isinstance(family, str) or family not in table:
        raise ValueError(unknown("there is no family", family, table, "; the families are"))
    return list(table[family])


def find(family: str, name: str) -> Variant:
    """Return one variant by name; ValueError lists those there are."""
    rungs = variants(family)
    for variant in rungs:
        if variant.name == name:
            return variant
    known = [variant.name for variant in rungs]
    raise ValueError(unknown(f"{family} has no variant", name, known, "; it has"))


def resolve(family: str, variant: str | Variant) -> str:
    """Return the name of a variant of this family, or "auto"; ValueError if it is neither."""
    if isinstance(variant, Variant):
        if variant.family != family:
            raise ValueError(f"{variant} is not a variant of {family}")
        return variant.name
    if variant == "auto":
        variants(family)
        return variant
    return find(family, variant).name
