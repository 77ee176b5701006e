"""Findings as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..base.version import __version__
from .finding import Finding, Index
from .rules import RULES, Rule

__all__ = ["sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[Finding], otherwise: str, grid: Index, block: Index) -> dict[str, Any]:
    """Return the findings of a launch as a SARIF log.

    Parameters
    ----------
    findings : sequence of Finding
        In the order of the log.
    otherwise : str
        The file of findings that name none.
    grid, block : tuple of int
        Of the launch.
    """
    rules = list(dict.fromkeys(one.rule for one in findings))
    driver = {
        "name": "gpumem",
        "version": __version__,
        "rules": [_rule(RULES[name]) for name in rules],
    }
    launch = {"grid": list(grid), "threads": list(block)}
    results = [
        _result(one, otherwise, launch) | {"ruleIndex": rules.index(one.rule)} for one in findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.hint},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(one: Finding, otherwise: str, launch: dict[str, Any]) -> dict[str, Any]:
    rule = RULES[one.rule]
    text = f"{rule.title}: {one.message}. What usually helps: {one.hint}."
    place = _location(one.file or otherwise, one.line)
    place["logicalLocations"] = [{"name": one.kernel, "kind": "function"}]
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "level": rule.level,
        "message": {"text": text.replace("{", "{{").replace("}", "}}")},  # {0} is a placeholder
        "locations": [place],
        "occurrenceCount": one.count,
        "properties": dict(launch),
    }
    if one.block is not None and one.thread is not None:
        result["properties"] |= {"block": list(one.block), "thread": list(one.thread)}
    if one.other is not None:
        other = _location(*one.other)
        result["relatedLocations"] = [
            {"id": 1, **other, "message": {"text": "the other access"}},
        ]
    return result


def _location(file: str, line: int | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _uri(file: str) -> str:
    """Return a path relative to the current folder if it is below it; else a file: URI."""
    path, here = Path(os.path.abspath(file)), Path.cwd()
    return quote(path.relative_to(here).as_posix()) if path.is_relative_to(here) else path.as_uri()
