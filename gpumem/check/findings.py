"""The findings of a check, and how they are printed and handed on."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..base.tables import text_width
from ..modules.launch import Launch
from .finding import Finding
from .rules import RULES
from .sarif import sarif
from .sources import Sources

__all__ = ["Report"]


class Report:
    """What a check of a kernel found; printed, it reads like a compiler's errors.

    It is true if there are no findings: ``assert report.ok, str(report)``.

    Attributes
    ----------
    kernel, file : str
        What was checked.
    grid, block : tuple of int
        Blocks, and threads per block, in x, y and z.
    findings : list of Finding
        One per rule and source line, or pair of lines, with how often it was found.
    lines : int
        How many source lines access memory.
    cut : bool
        Whether the run ended early, so that there may be more to find.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void set(int *x) { x[threadIdx.x] = 1; }")
    >>> print(gm.check(m["set"][1, 32], gm.empty(32, "int32", backend="sim")))
    set of source.cu: no findings (1 block of 32 threads, 1 source line with accesses)
    """

    def __init__(
        self,
        launch: Launch,
        sources: Sources,
        findings: Sequence[Finding],
        lines: int,
        cut: bool,
    ) -> None:
        self.kernel = launch.kernel.name
        self.file = sources.name()
        self.grid = launch.grid
        self.block = launch.block
        self.findings = _merged(findings)
        self.lines = lines
        self.cut = cut
        self._title = launch.kernel.title
        self._sources = sources

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict that JSON can hold.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> gm.check(m["nothing"][1, 32]).to_dict()["ok"]
        True
        """
        return {
            "kernel": self.kernel,
            "file": self.file,
            "grid": list(self.grid),
            "block": list(self.block),
            "ok": self.ok,
            "cut": self.cut,
            "findings": [one.to_dict() for one in self.findings],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text.

        Examples
        --------
        >>> import json
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> json.loads(gm.check(m["nothing"][1, 32]).to_json())["findings"]
        []
        """
        import json

        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_sarif(self) -> str:
        """Return the findings as SARIF 2.1.0, which code scanning reads.

        Paths are relative to the current folder if the files are below it.

        Examples
        --------
        >>> import json
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> json.loads(gm.check(m["nothing"][1, 32]).to_sarif())["version"]
        '2.1.0'
        """
        import json

        log = sarif(self.findings, self.file, self.grid, self.block)
        return json.dumps(log, indent=2, allow_nan=False)

    def __repr__(self) -> str:
        found = ", ".join(f"{place(one)} {one.rule}" for one in self.findings[:3])
        more = f" and {len(self.findings) - 3} more" if len(self.findings) > 3 else ""
        said = f"{_counted(len(self.findings), 'finding')}: {found}{more}" if found else "ok"
        return f"<gpumem check of {self.kernel}: {said}>"

    def __str__(self) -> str:
        blocks, threads = (math.prod(sides) for sides in (self.grid, self.block))
        what = f"{_counted(blocks, 'block')} of {_counted(threads, 'thread')}"
        if self.lines:
            what += f", {_counted(self.lines, 'source line')} with accesses"
        number = _counted(len(self.findings), "finding") if self.findings else "no findings"
        last = f"{self._title}: {number} ({what})"
        if self.cut:
            last += "\nThe run ended early: there may be more to find."
        return "\n\n".join([*(self._described(one) for one in self.findings), last])

    def _described(self, one: Finding) -> str:
        lines = [f"{place(one, self.file)}: {RULES[one.rule].title}: {one.message} [{one.rule}]"]
        if one.file is not None and one.line is not None:
            lines += self._shown(one.file, one.line)
        if one.block is not None and one.thread is not None:
            lines.append(f"  kernel {one.kernel}, block {one.block}, thread {one.thread}")
        if one.count > 1:
            lines.append(f"  found {one.count} times")
        if one.other is not None:
            file, line = one.other
            lines += [f"  the other access is at {file}:{line}:", *self._shown(file, line)]
        return "\n".join([*lines, *_wrapped(f"help: {one.hint}")])

    def _shown(self, file: str, line: int) -> list[str]:
        """Return a source line with a caret below; nothing if the file is not there."""
        text = self._sources.line(file, line)
        if text is None or not text.strip():
            return []
        text = text.expandtabs(4)
        indent = " " * (len(text) - len(text.lstrip()))
        return [f"{line:6} | {text.rstrip()}", f"{'':6} | {indent}^"]


def place(finding: Finding, otherwise: str = "") -> str:
    """Return where a finding is, such as "mine.cu:12"; `otherwise` if it belongs to no file."""
    if finding.file is None:
        return otherwise or "launch"
    return finding.file if finding.line is None else f"{finding.file}:{finding.line}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        text_width(100),
        initial_indent="  ",
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of the source; a race that was found from both sides is one."""
    merged: dict[Any, Finding] = {}
    for one in findings:
        sides = frozenset([(one.file, one.line), one.other])
        first = merged.get((one.rule, sides))
        merged[one.rule, sides] = (
            one if first is None else replace(first, count=first.count + one.count)
        )
    return sorted(merged.values(), key=lambda one: (one.file or "", one.line or 0))
