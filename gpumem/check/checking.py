"""``gpumem.check``: runs a user's kernel under observation, and reports what is wrong with it."""

from __future__ import annotations

import re
from typing import Any

from .. import _core
from ..base.messages import quoted
from ..modules.launch import Launch
from .finding import Finding
from .findings import Report
from .limits import beyond, check_limits
from .rules import RULES, rule_of
from .sources import Sources

__all__ = ["check"]

_HEAD = re.compile(r"^kernel .*?, block \([\d, ]+\), thread \([\d, ]+\): ", re.S)
_OTHER = re.compile(r" at ([^\s:]+):(\d+)")


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
        The arguments of the kernel, which writes to its arrays as in any call; if the run does not
        come to its end, host arrays are as they were.
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
    A kernel is checked for the arguments and the grid that it is given, and for all schedules that
    barriers, fences and atomic operations leave open. Nothing that it does ends the process.

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
    >>> report
    <gpumem check of reverse: 1 finding: source.cu:5 race-threads>
    """
    if not isinstance(launch, Launch):
        raise TypeError(f"check takes kernel[grid, block] and its arguments, not {quoted(launch)}")
    limits = {
        "max_sectors": max_sectors,
        "max_bank_ways": max_bank_ways,
        "min_efficiency": min_efficiency,
    }
    check_limits(limits)
    module, kernel = launch.kernel.module, launch.kernel.name
    sources = Sources(module.source)
    lines: int | None = None
    try:
        sites = launch.observe(args)["sites"]
    except _core.SimulationError as error:
        findings = [_of_error(error, kernel, sources)]
    else:
        lines = len({(site["file"], site["line"]) for site in sites})
        findings = [
            Finding(
                rule,
                said,
                kernel,
                None if site["file"] is None else sources.name(site["file"]),
                site["line"],
                hint=RULES[rule].hint,
            )
            for rule, site, said in beyond(sites, limits)
        ]
    return Report(kernel, sources, module.name, launch.grid, launch.block, findings, lines)


def _of_error(error: _core.SimulationError, kernel: str, sources: Sources) -> Finding:
    """Return the finding that the simulator stopped at."""
    said = _HEAD.sub("", str(error))
    rule = rule_of(said)
    file = None if error.file is None else sources.name(error.file)
    other = None
    if match := _OTHER.search(said):
        name, line = sources.name(match[1]), int(match[2])
        other = name, line
        where = f" at line {line}" if name == file else f" at {name}:{line}"
        said = said.replace(match[0], where, 1)
    return Finding(
        rule.id,
        said.removeprefix("a race: "),
        error.kernel or kernel,
        file,
        error.line,
        error.block,
        error.thread,
        other=other,
        hint=rule.hint,
    )
