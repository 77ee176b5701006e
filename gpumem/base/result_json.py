"""A result as JSON text, and back; both are checked when they are read.

Schema 1 is for people: ``records`` is a list of objects, one per line. Schema 2 is packed, for
shipping: fields that all records share stand once in ``common``, each record is a list in the order
of ``fields``, and numbers in a field that ``levels`` has are indices into its list there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import wall_clock
from .messages import quoted
from .record_check import whole_provenance, whole_record

__all__ = ["decode", "encode", "rounded"]

_PLAIN, _PACKED = 1, 2  # schemas

Records = list[dict[str, Any]]


def rounded(value: Any) -> Any:
    """Return a float with six significant digits, which is as exact as times are."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


# ---- writing ------------------------------------------------------------------------------


def encode(records: Records, provenance: dict[str, Any], packed: bool) -> str:
    """Return a result as JSON text, with a line per record.

    Parameters
    ----------
    records, provenance
        Of the result.
    packed : bool
        Whether in schema 2.
    """
    import json  # not needed to import gpumem

    head: dict[str, Any] = {"schema": _PACKED if packed else _PLAIN, "provenance": provenance}
    rows: Iterable[Any]
    if packed:
        form, rows = _pack(records)
        head |= form
    else:
        rows = ({key: rounded(value) for key, value in one.items()} for one in records)
    separators = (",", ":") if packed else None
    lines = ",\n".join(
        ("" if packed else "  ") + json.dumps(row, allow_nan=False, separators=separators)
        for row in rows
    )
    opening = json.dumps(head, indent=None if packed else 1, allow_nan=False)
    return opening.removesuffix("}").rstrip() + f',\n "records": [\n{lines}\n ]\n}}\n'


def _pack(records: Records) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return what records share and the fields in which they differ; and their values in each."""
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
            index = {text: i for i, text in enumerate(distinct)}
            columns[key] = [index[json.dumps(value)] for value in column]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    # If all records are alike there is no column; their number still counts.
    rows = rows or [[] for _ in records]
    return {"common": common, "levels": levels, "fields": list(columns)}, rows


# ---- reading ------------------------------------------------------------------------------


def decode(name: str, text: str | bytes) -> tuple[Records, dict[str, Any]]:
    """Return the records and the provenance that JSON text holds.

    Parameters
    ----------
    name : str
        How messages call the text.
    text : str or bytes
        What :func:`encode` returned.

    Raises
    ------
    ValueError
        If it is not a result, or damaged, or of a schema that this gpumem does not know.
    """
    content = _parse(name, text)
    if not isinstance(content, dict) or not {"schema", "provenance", "records"} <= set(content):
        raise ValueError(f"{name} is not a benchmark result of gpumem")
    schema = content["schema"]
    if schema not in (_PLAIN, _PACKED):
        raise ValueError(
            f"{name} has schema {quoted(schema)}; this gpumem reads schemas {_PLAIN} and {_PACKED}"
        )
    try:
        records = _unpack(content) if schema == _PACKED else content["records"]
        records = [whole_record(record) for record in records]
        provenance = whole_provenance(content["provenance"])
        _check_families(records, provenance.get("sources"))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"{name} is a damaged benchmark result of gpumem: {error}") from None
    return records, provenance


def _parse(name: str, text: str | bytes) -> Any:
    """Return the content of JSON text; ValueError, in one line, says why it is none."""
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


def _unpack(content: dict[str, Any]) -> Records:
    common, levels, fields = (content[key] for key in ("common", "levels", "fields"))
    records = []
    for row in content["records"]:
        record = dict(common)
        for key, cell in zip(fields, row, strict=True):
            if key in levels and cell < 0:
                raise ValueError(f"{key} has no level {cell}")
            record[key] = levels[key][cell] if key in levels else cell
        # Copies, so that changing one record does not change the others.
        record = {
            key: value.copy() if isinstance(value, list | dict) else value
            for key, value in record.items()
        }
        records.append(record)
    return records


def _check_families(records: Records, sources: Mapping[str, Any] | None) -> None:
    """Raise ValueError if a wall-clock record, or one of a merged result, lacks what it needs."""
    for record in records:
        if record["family"] in wall_clock.FAMILIES:
            wall_clock.check(record["family"], record["parameters"])
        if sources is not None and record.get("source") not in sources:
            raise ValueError(f"source is {quoted(record.get('source'))}, of which it has none")
