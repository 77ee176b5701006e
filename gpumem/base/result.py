"""The result of a benchmark: records, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .files import check_path, write
from .messages import quoted, unknown
from .presentation import Presentation
from .record import FIELDS, Record
from .result_json import decode, encode
from .version import pip_install

if TYPE_CHECKING:
    from pandas import DataFrame
else:
    DataFrame = Any  # pandas is optional, and hints are looked up at run time too

__all__ = ["BenchResult"]


class BenchResult:
    """Records of a benchmark, and where they come from.

    Attributes
    ----------
    records : list of dict
        One per variant, size, parameters, state of the cache and order, with the keys ``family
        variant ran backend shape dtype parameters bytes flops cache order median_ms min_ms p20_ms
        p80_ms samples gbps tflops fraction_of_peak fraction_of_reference clock_mhz power_w
        temperature_c throttled reason``. What does not apply or is not known is None.

        Times are milliseconds per launch. ``bytes`` counts bytes read and bytes written; ``gbps``
        is 10**9 of them per second of the median, ``tflops`` 10**12 operations.
        ``fraction_of_peak`` is the share of the theoretical bandwidth, or of the FP32 rate if there
        are ``flops``; ``fraction_of_reference`` the share of the reference that was measured in
        the same run. ``ran`` is the variant that "auto" chose. ``clock_mhz`` is the lowest clock of
        the multiprocessors while measuring, ``power_w`` and ``temperature_c`` the highest, and
        ``throttled`` lists what lowered the clocks. ``reason`` says why there is no time.

        In the families "transfer" and "roundtrip" ``cache`` and ``order`` are None, and the
        reference is the one that :func:`gpumem.bench` names.
    provenance : dict
        Device, driver, clocks, versions, commit, date, and the settings of the run.

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.results["copy-h200"]
    >>> result.provenance["device"]["name"]
    'NVIDIA H200'
    >>> result.records[0]["family"]
    'copy'
    """

    # Set by gpumem/__init__.py.
    presentation: ClassVar[Presentation[BenchResult]]

    def __init__(self, records: list[dict[str, Any]], provenance: dict[str, Any]) -> None:
        self.records = records
        self.provenance = provenance

    @property
    def rows(self) -> list[Record]:
        """The records with typed fields, which other modules of gpumem work with.

        A row is made from its dict at each access: to change a result, change its `records`.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.results["copy-h200"].rows[0].name
        'copy-scalar'
        """
        return [Record.from_dict(record) for record in self.records]

    def to_json(self, path: str | os.PathLike[str] | None = None, *, packed: bool = False) -> str:
        """Return the result as JSON text, and write it to a file if `path` is given.

        Parameters
        ----------
        path : str or path, optional
            The file.
        packed : bool
            Whether in the compact form in which results are shipped, which is not for people to
            read.

        Returns
        -------
        str
            The text. A file has the old content or the new one, never a part.

        Raises
        ------
        OSError
            If the file cannot be written; it is as it was.

        Examples
        --------
        >>> import gpumem as gm
        >>> text = gm.results["copy-h200"].to_json()
        >>> gm.BenchResult.from_json(text)
        <gpumem benchmark of copy: 380 records>
        """
        if path is not None:
            check_path("path", path)
        text = encode(self.records, self.provenance, packed)
        if path is not None:
            write(path, text)
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> BenchResult:
        """Return the result that :meth:`to_json` wrote.

        Parameters
        ----------
        source : str or path
            A file, or the JSON text itself.

        Returns
        -------
        BenchResult
            Its records have all fields; those that the text does not have are None.

        Raises
        ------
        ValueError
            If it is not a result, or of a later schema than this gpumem knows.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.BenchResult.from_json('{"schema": 1, "provenance": {}, "records": []}').records
        []
        """
        if isinstance(source, str) and source.lstrip().startswith("{"):
            return cls(*decode("the text", source))
        check_path("source", source)
        with open(source, "rb") as file:
            return cls(*decode(os.fsdecode(source), file.read()))

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> BenchResult:
        """Return a shipped result by its name, or one from a file.

        Parameters
        ----------
        name : str or path
            As for ``gpumem.results.load``.

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
        >>> gm.BenchResult.load("copy-h200")
        <gpumem benchmark of copy: 380 records>
        """
        return cls.presentation.shipped(name)

    @classmethod
    def merge(cls, parts: Mapping[str, BenchResult]) -> BenchResult:
        """Return several results as one.

        Parameters
        ----------
        parts : mapping of str to BenchResult
            The results by name. A single one is returned as it is.

        Returns
        -------
        BenchResult
            Its records have one more key, ``source``, the name. Its provenance is what those of
            the parts have in common, and ``sources``, each of them by name.

        Examples
        --------
        >>> import gpumem as gm
        >>> names = ["copy-h200", "add-h200"]
        >>> both = gm.BenchResult.merge({name: gm.results[name] for name in names})
        >>> both.records[0]["source"]
        'copy-h200'
        """
        if not isinstance(parts, Mapping):
            raise TypeError(f"parts must be a mapping of names to results, not {quoted(parts)}")
        for name, part in parts.items():
            check_result(f"parts[{name!r}]", part)
        if len(parts) == 1:
            return next(iter(parts.values()))
        records = [one | {"source": name} for name, part in parts.items() for one in part.records]
        sources = {name: part.provenance for name, part in parts.items()}
        common = {
            key: value
            for key, value in next(iter(sources.values()), {}).items()
            if all(key in other and other[key] == value for other in sources.values())
        }
        return cls(records, common | {"sources": sources})

    def split(self) -> dict[str, BenchResult]:
        """Return the results that :meth:`merge` was given, by name.

        Returns
        -------
        dict of str to BenchResult
            For a result that was not merged, only itself, by its first family.

        Examples
        --------
        >>> import gpumem as gm
        >>> names = ["copy-h200", "add-h200"]
        >>> both = gm.BenchResult.merge({name: gm.results[name] for name in names})
        >>> list(both.split())
        ['copy-h200', 'add-h200']
        """
        sources = self.provenance.get("sources")
        if sources is None:
            return {record["family"]: self for record in self.records[:1]}
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
        for record in self.records:
            own = {key: value for key, value in record.items() if key != "source"}
            parts[record["source"]].append(own)
        return {name: BenchResult(parts[name], sources[name]) for name in sources}

    def filter(self, **conditions: Any) -> BenchResult:
        """Return a result with the records that meet all conditions.

        Parameters
        ----------
        **conditions
            A field of the records, or a parameter, and what it should be: a value; a list, set or
            range of values; or a function that takes the value and returns whether it meets the
            condition. A shape is a tuple. Records without the parameter are left out.

        Returns
        -------
        BenchResult
            With the same provenance.

        Raises
        ------
        TypeError
            If no record has such a field or parameter; the message lists those that records have.

        Examples
        --------
        >>> import gpumem as gm
        >>> r = gm.results.load("copy-h200")
        >>> large = r.filter(variant=["vec4", "memcpy"], shape=lambda s: s[0] >= 2**20)
        >>> sorted({one["variant"] for one in large.records})
        ['memcpy', 'vec4']
        >>> all(one["bytes"] >= 2**23 for one in large.records)
        True
        """
        known = dict.fromkeys(FIELDS)
        for record in self.records:
            known |= dict.fromkeys(record) | dict.fromkeys(record["parameters"] or {})
        for name in conditions:
            if name not in known:
                raise TypeError(unknown("no record has", name, known, "; they have"))
        chosen = [
            record
            for record in self.records
            if all(_meets(record, name, wanted) for name, wanted in conditions.items())
        ]
        return BenchResult(chosen, self.provenance)

    def to_pandas(self) -> DataFrame:
        """Return the records as a table; needs pandas (``pip install 'gpumem-lab[pandas]'``).

        Returns
        -------
        pandas.DataFrame
            A row per record, a column per field and one per parameter; its ``attrs`` hold the
            provenance.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import gpumem as gm
        >>> records = gm.results.load("copy-h200").to_pandas()  # doctest: +SKIP
        >>> records.groupby("variant")["gbps"].max()  # doctest: +SKIP
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                f"to_pandas needs pandas, which is not installed: {pip_install('pandas')}"
            ) from None
        fields = dict.fromkeys(FIELDS)
        fields |= dict.fromkeys(key for record in self.records for key in record)
        del fields["parameters"]
        rows = [
            {key: record.get(key) for key in fields}
            | {
                f"{name}_parameter" if name in fields else name: value
                for name, value in (record["parameters"] or {}).items()
            }
            | {"shape": tuple(record["shape"])}
            for record in self.records
        ]
        table = pandas.DataFrame(rows, columns=None if rows else list(fields))
        table.attrs["provenance"] = self.provenance
        return table

    def compare(self, after: BenchResult, threshold: float = 0.03) -> Any:
        """Compare a later result with this one.

        Parameters
        ----------
        after : BenchResult
            The later result.
        threshold : float
            The least change of the median time, as a share, that counts.

        Returns
        -------
        Comparison
            As of :func:`gpumem.compare`.

        Examples
        --------
        >>> import gpumem as gm
        >>> r = gm.results.load("copy-h200")
        >>> len(r.compare(r).regressions)
        0
        """
        return self.presentation.compare(self, after, threshold)

    def plot(self, kind: str, **options: Any) -> Any:
        """Draw the result; needs matplotlib (``pip install 'gpumem-lab[plot]'``).

        Parameters
        ----------
        kind : {"size", "ladder", "roofline", "sweep", "transfer", "roundtrip", "distance", "map"}
            "size": bytes per second, or operations, against size, a line per variant, with the
            theoretical peak and the size of the L2. "ladder": a bar per variant at one size, and
            the reference. "roofline": operations per second against operations per byte that
            requests move, as the simulator counts them, under the device's two ceilings.
            "sweep": the same rates as "size" against a parameter that was swept, such as a stride.
            "transfer": bytes per second over the bus, a line per kind of host memory, a panel
            per direction. "roundtrip": milliseconds of the largest round trips, a bar for each
            library, a panel per job and kind of memory.

            For a sweep of ``prefetch_sum``, "distance": speed-up over the baseline against the
            distance, a line per variant, a panel per amount of work and number of warps; "map":
            the best speed-up by distance and warps, a panel per amount of work; below 1,
            prefetching loses.
        **options
            Which records to draw, by kind:

            - all but "transfer" and "map": ``variants``, names.
            - "size", "ladder", "roofline", "sweep": ``cache``, "cold" or "warm", and ``order``,
              "stream" or "single".
            - "ladder", "roofline", "sweep": ``shape``, by default the one where most variants have
              a time.
            - "sweep": ``parameter``, its name, if several were swept.
            - "transfer": ``memory``, kinds of it; ``direction``, names.
            - "roundtrip": ``memory``, kinds of it; ``by``, names.
            - "distance", "map": ``work``, an int or a list of them, one per panel.
            - "distance": ``warps``, warps per multiprocessor, an int or a list of them.
            - "map": ``variant``, the name of one to draw instead of the best of all, with
              ``padding`` "auto" or 0.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such kind, or the result lacks the records that it shows.

        Examples
        --------
        >>> import gpumem as gm
        >>> figure = gm.results["copy-h200"].plot("size", variants=["vec4", "memcpy"])
        >>> figure.savefig("copy.png")
        """
        return self.presentation.plot(self, kind, **options)

    def __repr__(self) -> str:
        families = ", ".join(dict.fromkeys(record["family"] for record in self.records))
        return f"<gpumem benchmark of {families}: {len(self.records)} records>"

    def __str__(self) -> str:
        return self.presentation.text(self)


def check_result(name: str, value: object) -> None:
    """Raise TypeError unless an argument is a BenchResult."""
    if not isinstance(value, BenchResult):
        raise TypeError(f"{name} must be a BenchResult, not {quoted(value)}")


def load_result(name: str, value: BenchResult | str | os.PathLike[str]) -> BenchResult:
    """Return an argument that is a result, or the name of one, or a file."""
    if isinstance(value, BenchResult):
        return value
    if not isinstance(value, str | bytes | os.PathLike):
        raise TypeError(f"{name} must be a BenchResult, a name or a path, not {quoted(value)}")
    return BenchResult.load(value)


def _meets(record: dict[str, Any], name: str, wanted: Any) -> bool:
    parameters = record["parameters"] or {}
    if name not in record and name not in parameters:
        return False
    value = record[name] if name in record else parameters[name]
    value = tuple(value) if isinstance(value, list) else value
    if callable(wanted):
        return bool(wanted(value))
    several = isinstance(wanted, list | set | frozenset | range)
    try:
        return any(
            bool(value == (tuple(one) if isinstance(one, list) else one))
            for one in (wanted if several else [wanted])
        )
    except (TypeError, ValueError):  # such as that an array has no single truth value
        raise TypeError(
            f"{name} must be a value, a list, set or range of values, or a function, not "
            f"{quoted(wanted)}"
        ) from None
