"""``gpumem.check``: runs a user's kernel under observation, and reports what is wrong with it."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..base.messages import quoted
from ..modules.launch import Launch
from .finding import Finding
from .findings import Report
from .limits import beyond, check_limits
from .rules import RULES
from .sources import Sources

__all__ = ["check"]


def check(
    launch: Launch,
    *args: Any,
    max_sectors: float | None = None,
    max_bank_ways: float | None = None,
    min_efficiency: float | None = None,
) -> Report:
    """Run a user's kernel on the simulator, and report what is wrong with it.

    Parameters
    ----------
    launch : Launch
        The kernel with its grid: ``kernel[grid, block]``.
    *args
        The arguments of the kernel, which writes to its arrays as in any call.
    max_sectors : float, optional
        The most sectors that the requests of a source line to global memory may touch on average.
        32 lanes that load neighbouring words touch 4.
    max_bank_ways : float, optional
        The most passes through the banks of shared memory, over the fewest possible, on average
        over the requests of a source line; 1 is free of conflicts.
    min_efficiency : float, optional
        The least share of the bytes moved from or to global memory that a source line asked for.

    Returns
    -------
    Report
        Whether it is ``ok``, and its findings: printed, or as JSON or SARIF.

    Raises
    ------
    TypeError, ValueError
        If the arguments do not fit the kernel, or a limit makes no sense.
    CompileError
        If the module does not compile for a run under observation.

    Notes
    -----
    A kernel is checked for the arguments and the grid that it is given. A race is found if nothing
    orders two accesses, in whichever order they happened. After a finding the kernel goes on where
    it can, else its block ends. Nothing that a kernel does ends the process.

    Examples
    --------
    >>> import numpy as np
    >>> import gpumem as gm
    >>> m = gm.load(source='''
    ... __global__ void reverse(float *x)
    ... {
    ...     __shared__ float tile[64];
    ...     tile[threadIdx.x] = x[threadIdx.x];
    ...     x[threadIdx.x] = tile[63 - threadIdx.x];
    ... }''')
    >>> report = gm.check(m["reverse"][1, 64], np.ones(64, "float32"))
    >>> report.ok, report.findings[0].rule, report.findings[0].line, report.findings[0].other
    (False, 'race-shared', 5, ('source.cu', 6))
    """
    if not isinstance(launch, Launch):
        raise TypeError(f"check takes kernel[grid, block] and its arguments, not {quoted(launch)}")
    limits = {
        "max_sectors": max_sectors,
        "max_bank_ways": max_bank_ways,
        "min_efficiency": min_efficiency,
    }
    check_limits(limits)
    kernel, sources = launch.kernel.name, Sources(launch.kernel.module.source)
    sites: list[dict[str, Any]] = []
    cut = False
    try:
        counted = launch.observe(args, all_findings=True)
    except _core.SimulationError as error:  # nothing has run
        found = [vars(error) | {"message": str(error), "count": 1}]
    else:
        found, sites, cut = counted["findings"], counted["sites"], counted["cut"]
    findings = [_finding(one, kernel, sources) for one in found]
    for rule, site, said in beyond(sites, limits):
        place = {"file": site["file"], "line": site["line"], "count": 1}
        findings.append(_finding(place | {"rule": rule, "message": said}, kernel, sources))
    accesses = len({(site["file"], site["line"]) for site in sites})
    return Report(launch, sources, findings, accesses, cut)


def _finding(found: dict[str, Any], kernel: str, sources: Sources) -> Finding:
    """Return what the simulator has found, with the files named as their user names them."""
    file = None if found["file"] is None else sources.name(found["file"])
    said = found["message"].removeprefix("a race: ")
    other = found.get("other")
    if other is not None:
        place = sources.name(other[0]), other[1]
        where = f"line {other[1]}" if place[0] == file else f"{place[0]}:{other[1]}"
        said = said.replace(f"at {other[0]}:{other[1]}", f"at {where}", 1)
        other = place
    return Finding(
        found["rule"],
        said,
        found.get("kernel") or kernel,
        file,
        found["line"],
        found.get("block"),
        found.get("thread"),
        found["count"],
        other,
        RULES[found["rule"]].hint,
    )
