"""The results in this folder, as a mapping from their names."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..base.files import check_path
from ..base.messages import unknown
from ..base.result import BenchResult
from ..families import table

__all__ = ["RESULTS", "Shipped"]


class Shipped(Mapping[str, BenchResult]):
    """Results of benchmarks by name, each with its provenance.

    Parameters
    ----------
    folder : Path
        Where their JSON files are.

    Examples
    --------
    >>> import gpumem as gm
    >>> "copy-h200" in gm.results
    True
    >>> print(gm.results["copy-h200"])  # doctest: +ELLIPSIS
    NVIDIA H200, gpumem ...
    >>> figure = gm.results.for_family("copy").filter(variant="auto").plot("size")
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of the shipped results.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.results.names()[:2]
        ['add-h200', 'copy-h200']
        """
        return sorted(file.stem for file in self._folder.glob("*.json"))

    def load(self, name: str | os.PathLike[str]) -> BenchResult:
        """Return a result.

        Parameters
        ----------
        name : str or path
            One of :meth:`names`, or a file that :meth:`BenchResult.to_json` wrote.

        Returns
        -------
        BenchResult
            The result.

        Raises
        ------
        ValueError
            If there is no such result, with those there are; or the file holds none.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.results.load("copy-h200")
        <gpumem benchmark of copy: 380 records>
        """
        check_path("name", name)
        if isinstance(name, str) and name in self.names():
            return BenchResult.from_json(self._folder / f"{name}.json")
        if not os.path.exists(name):
            raise ValueError(
                self._unknown(os.fsdecode(name), ", neither a file nor a shipped one; shipped are")
            )
        return BenchResult.from_json(os.fspath(name))

    def families(self) -> tuple[str, ...]:
        """Return the families with shipped results.

        Examples
        --------
        >>> import gpumem as gm
        >>> "copy" in gm.results.families()
        True
        """
        return tuple(self._by_family)

    def for_family(self, family: str) -> BenchResult:
        """Return all shipped records of a family, with those of the reference, as one result.

        Parameters
        ----------
        family : str
            Such as "copy".

        Returns
        -------
        BenchResult
            Without records if nothing was measured. See :meth:`BenchResult.merge` for a family
            with several results.

        Raises
        ------
        ValueError
            If there is no such family.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.results.for_family("add")
        <gpumem benchmark of add, copy: 12 records>
        """
        table.variants(family)
        return BenchResult.merge(
            {name: self.load(name) for name in self._by_family.get(family, ())}
        )

    @functools.cached_property
    def _by_family(self) -> dict[str, list[str]]:
        """The names of the results by family; a family that is only a reference does not count."""
        found: dict[str, list[str]] = {}
        known = table.families()
        for name in self.names():
            rows = self.load(name).rows
            measured = {row.family for row in rows if row.variant == "auto"}
            # A sweep may go without "auto"; the reference of another family comes last.
            measured = measured or {row.family for row in rows[:1]}
            for family in measured & set(known):
                found.setdefault(family, []).append(name)
        return found

    def _unknown(self, name: object, between: str = "; shipped are") -> str:
        return unknown("there is no result", name, self.names(), between)

    def __getitem__(self, name: str) -> BenchResult:
        if name not in self.names():
            raise KeyError(self._unknown(name))
        return self.load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __repr__(self) -> str:
        return f"<gpumem results: {', '.join(self.names())}>"


RESULTS = Shipped(Path(__file__).parent)
