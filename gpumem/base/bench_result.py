"""The figures of a benchmark: records, where they come from, and their form as JSON.

As written by ``bench`` a result has schema 1: ``records`` is a list of objects that a person can
read. Those that are shipped are packed, schema 2: what all records share stands once in ``common``,
each other record is a list in the order of ``fields``, and in the fields that ``levels`` has, a
number is a place in its list there. Both are read alike.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..families import oracle
from .files import write
from .messages import quoted, unknown
from .presentation import Presentation
from .record import FIELDS, Record
from .record_check import whole_provenance, whole_record
from .sizes import format_bytes, format_table

if TYPE_CHECKING:
    import pandas

    from ..report.comparison import Comparison

__all__ = ["BenchResult"]

SCHEMA, PACKED = 1, 2
_MOST_ROWS = 32
NO_TIMES = "the simulator counts traffic and has no clock"


class BenchResult:
    """Figures of one benchmark, and where they come from.

    Attributes
    ----------
    records : list of dict
        One per variant, size, parameters and state of the cache: ``family variant ran backend
        shape dtype parameters bytes flops cache median_ms min_ms p20_ms p80_ms samples gbps tflops
        fraction_of_peak fraction_of_reference clock_mhz power_w temperature_c throttled
        reason``. Times are milliseconds per launch;
        ``bytes`` are those read and those written; ``gbps`` is 10**9 of them per second of
        the median, ``tflops`` 10**12 operations. ``fraction_of_peak`` is of the theoretical
        bandwidth, or of the FP32 rate where there are ``flops``; ``fraction_of_reference``
        of the reference measured in the same run. ``ran`` is the variant that "auto" chose.
        ``clock_mhz`` is the lowest of the multiprocessors that was seen, ``power_w`` and
        ``temperature_c`` the highest, and ``throttled`` a list of what held the clocks down.
        What does not apply or is not known is None; ``reason`` says why there is no time. Of the
        families "transfer" and "roundtrip" ``cache`` is None, and the reference is that which
        :func:`gpumem.bench` names.
    provenance : dict
        Device, driver, clocks, versions, commit, date, and the settings of the run.

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.results.load("copy-h200")
    >>> result
    <gpumem benchmark of copy: ... records>
    >>> record = result.filter(variant="auto", cache="cold").records[0]
    >>> record["variant"], record["dtype"], record["gbps"] > 0
    ('auto', 'float32', True)
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
        """
        return [Record.from_dict(record) for record in self.records]

    def to_json(self, path: str | os.PathLike[str] | None = None, *, packed: bool = False) -> str:
        """Return the result as JSON text, and write it to a file if `path` is given.

        Parameters
        ----------
        path : str or path, optional
            The file.
        packed : bool
            In the form in which results are shipped: a small part of the size, and not for people
            to read.

        Examples
        --------
        >>> import gpumem as gm
        >>> result = gm.results.load("copy-h200")
        >>> text = result.to_json("copy.json")
        >>> gm.results.load("copy.json").records == result.records
        True
        """
        import json

        content = {"schema": PACKED if packed else SCHEMA, "provenance": self.provenance}
        records: Iterable[Any]
        if packed:
            form, records = _pack(self.records)
            content |= form
        else:
            records = ({key: rounded(value) for key, value in r.items()} for r in self.records)
        compact = (",", ":") if packed else None
        lines = ",\n".join(
            ("" if packed else "  ") + json.dumps(record, allow_nan=False, separators=compact)
            for record in records
        )
        # One line per record.
        head = json.dumps(content, indent=None if packed else 1, allow_nan=False)
        text = head.removesuffix("}").rstrip() + f',\n "records": [\n{lines}\n ]\n}}\n'
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

        Raises
        ------
        ValueError
            If it is not a result, or of a later schema than this gpumem knows.

        Examples
        --------
        >>> import gpumem as gm
        >>> text = gm.results.load("copy-h200").to_json()
        >>> gm.BenchResult.from_json(text)
        <gpumem benchmark of copy: ... records>
        """

        if isinstance(source, str) and source.lstrip().startswith("{"):
            name, text = "the text", source
        else:
            name = os.fsdecode(source)
            with open(source, "rb") as file:
                text = file.read()
        content = _parse(name, text)
        if not isinstance(content, dict) or not {"schema", "provenance", "records"} <= set(content):
            raise ValueError(f"{name} is not a benchmark result of gpumem")
        if content["schema"] not in (SCHEMA, PACKED):
            schema = quoted(content["schema"])
            raise ValueError(
                f"{name} has schema {schema}; this gpumem reads schemas {SCHEMA} and {PACKED}"
            )
        try:
            records = _unpack(content) if content["schema"] == PACKED else content["records"]
            records = [whole_record(record) for record in records]
            provenance = whole_provenance(content["provenance"])
            _check_families(records, provenance.get("sources"))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"{name} is a damaged benchmark result of gpumem: {error}") from None
        return cls(records, provenance)

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> BenchResult:
        """Return a result that is shipped, by its name, or one from a file.

        The same as ``gpumem.results.load(name)``.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.BenchResult.load("copy-h200")
        <gpumem benchmark of copy: ... records>
        """
        from .. import results

        return results.load(name)

    @classmethod
    def merge(cls, parts: Mapping[str, BenchResult]) -> BenchResult:
        """Return several results as one.

        Parameters
        ----------
        parts : mapping of str to BenchResult
            The results by name. One alone is returned as it is.

        Returns
        -------
        BenchResult
            Its records have one more key, ``source``, the name. Its provenance is what those of
            the parts have in common, and ``sources``, each of them by name.

        Examples
        --------
        >>> import gpumem as gm
        >>> names = "copy-h200", "transpose-h200"
        >>> gm.BenchResult.merge({name: gm.results.load(name) for name in names})
        <gpumem benchmark of copy, transpose: ... records>
        """
        if len(parts) == 1:
            return next(iter(parts.values()))
        records = [one | {"source": name} for name, part in parts.items() for one in part.records]
        told = [part.provenance for part in parts.values()]
        common = {
            key: value
            for key, value in (told[0] if told else {}).items()
            if all(key in other and other[key] == value for other in told)
        }
        sources = {name: part.provenance for name, part in parts.items()}
        return cls(records, common | {"sources": sources})

    def split(self) -> dict[str, BenchResult]:
        """Return the results that :meth:`merge` made one of, by name.

        Returns
        -------
        dict of str to BenchResult
            Of a result that was not merged, that alone, by its first family.

        Examples
        --------
        >>> import gpumem as gm
        >>> list(gm.results.load("copy-h200").split())
        ['copy']
        """
        sources = self.provenance.get("sources")
        if sources is None:
            return {record["family"]: self for record in self.records[:1]}
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
        for record in self.records:
            told = {key: value for key, value in record.items() if key != "source"}
            parts[record["source"]].append(told)
        return {name: BenchResult(parts[name], sources[name]) for name in sources}

    def filter(self, **conditions: Any) -> BenchResult:
        """Return a result of those records that meet all conditions.

        Parameters
        ----------
        **conditions
            A field of the records, or a parameter, and what it should be: a value; a list, set or
            range of values; or a function of the value that says whether. A shape is a tuple.
            Records that do not have the parameter are not meant by it.

        Raises
        ------
        TypeError
            If no record has such a field or parameter; the message lists those there are.

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

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a table; needs pandas (``pip install gpumem[pandas]``).

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
                "to_pandas needs pandas, which is not installed: pip install gpumem[pandas]"
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

    def compare(self, after: BenchResult, threshold: float = 0.03) -> Comparison:
        """Hold a later result against this one; see :func:`gpumem.compare`.

        Examples
        --------
        >>> import gpumem as gm
        >>> result = gm.results.load("copy-h200")
        >>> result.compare(result)
        <gpumem comparison: 0 faster, 0 slower, ... same, 0 drift, 0 only before, 0 only after>
        """
        from ..report.comparison import compare

        return compare(self, after, threshold)

    def plot(self, kind: str, **options: Any) -> Any:
        """Draw the result; needs matplotlib (``pip install gpumem[plot]``).

        Parameters
        ----------
        kind : {"size", "ladder", "roofline", "sweep", "transfer", "roundtrip", "distance", "map"}
            "size": bytes per second, or operations, against size, a line per variant, with the
            theoretical peak and the size of the L2. "ladder": a bar per variant at one size, and
            the reference. "roofline": operations per second against operations per byte that
            requests move, as the simulator counts them, under the device's two ceilings.
            "sweep": the same rates as "size" against a parameter that was swept, such as a stride.
            "transfer": bytes per second over the bus, a line per kind of host memory, a panel
            per direction. "roundtrip": milliseconds of the largest round trips, a bar for each of
            those that did them, a panel per job and kind of memory.

            Of a sweep of ``prefetch_sum``, "distance": speed-up over the baseline against the
            distance, a line per variant, a panel per amount of work and number of warps; "map":
            the best speed-up by distance and warps, a panel per amount of work; where it is
            below 1, prefetching loses.
        **options
            ``variants``, names, of all but "transfer" and "map"; ``cache``, "cold" or "warm", for
            "size", "ladder", "roofline" and "sweep"; ``shape`` for the last three, by default the
            one where most have a time. For "sweep" ``parameter``, its name, where several were
            swept. For "transfer" and "roundtrip" ``memory``, kinds of it; for the first
            ``direction``, for the other ``by``, names. For "distance" and "map"
            ``work``, an int or a list of them: the panels; for "distance" ``warps``, warps per
            multiprocessor, likewise. For "map" ``variant``, a name: its own map, with
            ``padding`` "auto" or 0, instead of the best of all.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there is no such kind, or the result has not what it shows.

        Examples
        --------
        >>> import gpumem as gm
        >>> figure = gm.results.load("copy-h200").plot("size")
        >>> figure.savefig("copy.png")
        """
        from ..report import plots

        return plots.draw_result(self, kind, **options)

    def __repr__(self) -> str:
        families = ", ".join(dict.fromkeys(record["family"] for record in self.records))
        return f"<gpumem benchmark of {families}: {len(self.records)} records>"

    def __str__(self) -> str:
        from ..measure import wallclock as hostclock

        device = self.provenance.get("device") or {}
        version, date = self.provenance.get("gpumem"), self.provenance.get("date")
        lines = [f"{device.get('name', 'no device')}, gpumem {version}, {date}"]
        # Of several results, one that is a long sweep should not hide the others.
        most = _MOST_ROWS if "sources" in self.provenance else None
        for cache in dict.fromkeys(record["cache"] for record in self.records):
            records = [record for record in self.records if record["cache"] == cache]
            for group in _by_family(records):
                if any(record["median_ms"] is not None for record in group):
                    tables = _tables(cache, group, most) if cache else hostclock.tables(group)
                    lines += ["", *tables]
        lines += _doubts(self)
        reasons: dict[tuple[str, str], list[str]] = {}
        everywhere: dict[str, set[str]] = {}
        for record in self.records:
            name = _name(record) if record["cache"] else hostclock.label(record)
            everywhere.setdefault(name, set()).add(size_label(record))
            if record["reason"]:
                reasons.setdefault((name, record["reason"]), []).append(size_label(record))
        if any(reason == NO_TIMES for _, reason in reasons):
            lines += ["", f"No times: {NO_TIMES}."]
            reasons = {key: where for key, where in reasons.items() if key[1] != NO_TIMES}
        elif reasons:
            lines.append("")
        for (name, reason), where in reasons.items():
            at = "" if set(where) == everywhere[name] else f" at {', '.join(dict.fromkeys(where))}"
            lines.append(f"{name}{at}: {reason}")
        return "\n".join(lines)


# ---- JSON ---------------------------------------------------------------------------------


def _parse(name: str, text: str | bytes) -> Any:
    """The content of JSON text; ValueError with its name and one line of why not."""
    import json

    def refuse(word: str) -> Any:
        raise ValueError(f"it has {word}, which is no number")

    try:
        return json.loads(text, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not JSON: no UTF-8 at byte {error.start}") from None
    except ValueError as error:
        why = str(error) if text.strip() else "it is empty"
        raise ValueError(f"{name} is not JSON: {why}") from None
    except RecursionError:
        raise ValueError(f"{name} is no benchmark result: it is nested too deeply") from None


def _check_families(records: list[dict[str, Any]], sources: Mapping[str, Any] | None) -> None:
    """Raise ValueError if a record of the host's clock, or of a merged result, says too little."""
    from ..measure import wallclock as hostclock

    for record in records:
        if record["family"] in hostclock.FAMILIES:
            hostclock.check(record["family"], record["parameters"])
        if sources is not None and record.get("source") not in sources:
            raise ValueError(f"source is {quoted(record.get('source'))}, of which it has none")


def _pack(records: list[dict[str, Any]]) -> tuple[dict[str, Any], list[list[Any]]]:
    """What records share, the fields in which they differ, and a list of those of each."""
    import json

    fields = list(dict.fromkeys(key for record in records for key in record))
    columns = {key: [rounded(record.get(key)) for record in records] for key in fields}
    common: dict[str, Any] = {}
    levels: dict[str, list[Any]] = {}
    for key, column in list(columns.items()):
        distinct = {json.dumps(value): value for value in column}
        if len(distinct) == 1:
            common[key] = column[0]
            del columns[key]
        elif 4 * len(distinct) <= len(column):
            levels[key] = list(distinct.values())
            place = {text: i for i, text in enumerate(distinct)}
            columns[key] = [place[json.dumps(value)] for value in column]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    # All alike: they are still so many.
    rows = rows or [[] for _ in records]
    return {"common": common, "levels": levels, "fields": list(columns)}, rows


def _unpack(content: dict[str, Any]) -> list[dict[str, Any]]:
    common, levels, fields = (content[key] for key in ("common", "levels", "fields"))
    records = []
    for row in content["records"]:
        record = dict(common)
        for key, cell in zip(fields, row, strict=True):
            if key in levels and cell < 0:
                raise ValueError(f"{key} has no level {cell}")
            record[key] = levels[key][cell] if key in levels else cell
        # What several share they do not share when one of them is changed.
        record = {
            key: value.copy() if isinstance(value, list | dict) else value
            for key, value in record.items()
        }
        records.append(record)
    return records


# ---- words --------------------------------------------------------------------------------


def _meets(record: dict[str, Any], name: str, wanted: Any) -> bool:
    parameters = record["parameters"] or {}
    if name not in record and name not in parameters:
        return False
    value = record[name] if name in record else parameters[name]
    value = tuple(value) if isinstance(value, list) else value
    if callable(wanted):
        return bool(wanted(value))
    if isinstance(wanted, list | set | frozenset | range):
        return any(value == (tuple(one) if isinstance(one, list) else one) for one in wanted)
    return bool(value == wanted)


def origin(provenance: dict[str, Any]) -> str:
    """Where figures come from, in words: device, date, commit."""
    sources = provenance.get("sources") or {}
    told = list(sources.values()) or [provenance]
    words = []
    for key, most in (("device", None), ("date", 10), ("commit", 10)):
        values = [one.get(key) or "" for one in told]
        names = [value.get("name", "") if isinstance(value, dict) else value for value in values]
        found = [name[:most] for name in dict.fromkeys(str(name)[:most] for name in names) if name]
        if found:
            plural = "commits" if len(found) > 1 else "commit"
            words.append(f"{plural} {', '.join(found)}" if key == "commit" else " and ".join(found))
    if not any(one.get("device") for one in told):
        words.insert(0, "no device")
    return ", ".join(words)


def provenance_of(result: BenchResult, record: dict[str, Any]) -> dict[str, Any]:
    """The provenance of one of its records: of that result, where it is a merged one."""
    sources = result.provenance.get("sources") or {}
    found: dict[str, Any] = sources.get(record.get("source"), result.provenance)
    return found


def spread(record: dict[str, Any]) -> float | None:
    """The distance from the 20th to the 80th percentile as a share of the median."""
    low, middle, high = (record.get(key) for key in ("p20_ms", "median_ms", "p80_ms"))
    return (high - low) / middle if middle and None not in (low, high) else None


def rounded(value: Any) -> Any:
    """Figures as exact as they are: six digits."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _doubts(result: BenchResult) -> list[str]:
    """What a reader of the figures should know: what was noisy, throttled, or left out."""
    timed = [record for record in result.records if record["median_ms"] is not None]
    lines = []
    settings = [provenance_of(result, one).get("settings") or {} for one in timed]
    limits = [math.inf if one.get("within") is None else one["within"] for one in settings]
    noisy = [one for one, within in zip(timed, limits, strict=True) if (spread(one) or 0) > within]
    if noisy:
        within = " or ".join(f"{one:.1%}" for one in sorted({*limits} - {math.inf}))
        most = max(spread(one) or 0 for one in noisy)
        lines.append(
            f"{len(noisy)} of {len(timed)} did not settle within {within}; the noisiest "
            f"is {_name(max(noisy, key=lambda one: spread(one) or 0))} with {most:.1%}."
        )
    slowed = [one for one in timed if one.get("throttled")]
    if slowed:
        why = ", ".join(dict.fromkeys(word for one in slowed for word in one["throttled"]))
        least = [one["clock_mhz"] for one in slowed if one.get("clock_mhz")]
        at = f", down to {min(least)} MHz" if least else ""
        lines.append(f"The clocks were held down in {len(slowed)} of {len(timed)}{at}: {why}.")
    if result.provenance.get("interrupted"):
        lines.append("The benchmark was interrupted; what came later was not measured.")
    return ["", *lines] if lines else []


def is_launch(record: dict[str, Any]) -> bool:
    """Return whether what was measured is the launch: one number is nothing to move."""
    return not record["shape"]


def size_label(record: dict[str, Any]) -> str:
    """A size as the table shows it: bytes of a row or a number, else the shape."""
    import numpy as np

    if len(record["shape"]) <= 1:
        try:
            return format_bytes(math.prod(record["shape"]) * np.dtype(record["dtype"]).itemsize)
        except (TypeError, ValueError, SyntaxError):  # a dtype that NumPy does not know
            pass
    return "x".join(map(str, record["shape"]))


def _varied(records: list[dict[str, Any]]) -> list[str]:
    """The parameters of which there is more than one value."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for name, value in (record.get("parameters") or {}).items():
            seen.setdefault(name, set()).add(repr(value))
    return [name for name, values in seen.items() if len(values) > 1]


def _rows(records: list[dict[str, Any]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Records by size and by the parameters that vary.

    One that a parameter means nothing to is in the rows of all its values.
    """
    varied = _varied(records)

    def key(record: dict[str, Any]) -> tuple[str | None, ...]:
        values = record.get("parameters") or {}
        told = (str(values[name]) if name in values else None for name in varied)
        return (size_label(record), *told)

    keys = list(map(key, records))
    whole = [one for one in dict.fromkeys(keys) if None not in one] or list(dict.fromkeys(keys))
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = {tuple(map(str, one)): [] for one in whole}
    for record, mine in zip(records, keys, strict=True):
        for one in whole:
            if all(value in (None, other) for value, other in zip(mine, one, strict=True)):
                rows[tuple(map(str, one))].append(record)
    return rows


def _by_family(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Records of one family after the other, each with its reference of another one."""
    groups: list[list[dict[str, Any]]] = []
    for record in records:
        if groups:
            main = groups[-1][0]["family"]
            try:
                beside = oracle.reference(main)
            except ValueError:  # of a gpumem that had other families
                beside = ("", "")
            if record["family"] == main or (record["family"], record["variant"]) == beside:
                groups[-1].append(record)
                continue
        groups.append([record])
    return groups


def _tables(cache: str, records: list[dict[str, Any]], most: int | None = None) -> list[str]:
    """GB/s or TFLOP/s against size, a column per variant; of so many rows at most."""
    key, unit, scale = "gbps", "GB/s, bytes read and written", 1.0
    if any(record["tflops"] is not None for record in records):
        key, unit = "tflops", "TFLOP/s"
    if all(is_launch(record) for record in records):
        key, unit, scale = "median_ms", "us per launch", 1e3
    main = records[0]["family"]  # the reference, which may be of another, comes last
    columns: dict[str, dict[tuple[str, ...], str]] = {}
    ratio: dict[tuple[str, ...], str] = {}
    rows = _rows(records)
    left = len(rows) - (most or len(rows))
    if left > 0:
        rows = dict(list(rows.items())[:most])
    for label, members in rows.items():
        for record in members:
            # The reference may be of another family: only then its column says which.
            name = record["variant"] if record["family"] == main else _name(record)
            value = record[key]
            if value is not None:
                columns.setdefault(name, {})[label] = f"{scale * value:.4g}"
            if record["variant"] == "auto" and record["fraction_of_reference"] is not None:
                ratio[label] = f"{record['fraction_of_reference']:.3f}"
    lines = [f"{main}, {cache} L2, {unit}"]
    if ratio:
        columns["ratio"] = ratio
        lines[0] += "; ratio: auto over {}-{}".format(*oracle.reference(main))
    head = ["size", *_varied(records)]
    lines.append(block(head, list(columns), columns, rows))
    return [*lines, "", f"and {left} more rows, in the records"] if left > 0 else lines


def _name(record: dict[str, Any]) -> str:
    return f"{record['family']}-{record['variant']}"


def block(
    head: list[str],
    names: list[str],
    columns: dict[str, dict[tuple[str, ...], str]],
    labels: Iterable[tuple[str, ...]],
) -> str:
    """Return a table of some columns, each with its cells by row."""
    rows = [[*label, *(columns[name].get(label, "-") for name in names)] for label in labels]
    return format_table([*head, *names], rows, keys=len(head))
