"""Limits that a check sets to a kernel's traffic, and the findings where they are not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..base.messages import quoted

__all__ = ["LIMITS", "Limit", "beyond", "check_limits"]

_SECTOR = 32  # bytes

Site = Mapping[str, Any]


class Limit(NamedTuple):
    """A limit, and what it limits.

    Attributes
    ----------
    keyword : str
        Its name as an argument of :func:`gpumem.check`.
    rule : str
        Of the finding where it is not kept.
    figure : callable
        The figure of a site; None for a site that has none.
    least : bool
        Whether it is the least that a figure may be, and not the most.
    words : str
        A format of the figure and the limit.
    help : str
        What the command line says about it.
    """

    keyword: str
    rule: str
    figure: Callable[[Site], float | None]
    least: bool
    words: str
    help: str

    def broken(self, site: Site, limit: float) -> bool:
        """Whether a site does not keep the limit."""
        figure = self.figure(site)
        return figure is not None and (figure < limit if self.least else figure > limit)


def _sectors(site: Site) -> float | None:
    used = site["space"] == "global" and site["sectors"]
    return site["sectors"] / site["requests"] if used else None


def _ways(site: Site) -> float | None:
    used = site["space"] == "shared" and site["fewest_passes"]
    return site["passes"] / site["fewest_passes"] if used else None


def _efficiency(site: Site) -> float | None:
    used = site["space"] == "global" and site["sectors"]
    return site["bytes"] / (site["sectors"] * _SECTOR) if used else None


LIMITS = (
    Limit(
        "max_sectors",
        "sectors",
        _sectors,
        False,
        "{:.4g} sectors per request, at most {:g}",
        "a finding if a line touches more sectors per request of global memory",
    ),
    Limit(
        "max_bank_ways",
        "bank-conflicts",
        _ways,
        False,
        "{:.4g} ways, at most {:g}",
        "a finding if a line has more bank ways: 1 is free of conflicts",
    ),
    Limit(
        "min_efficiency",
        "efficiency",
        _efficiency,
        True,
        "{:.1%} are asked for, at least {:.1%}",
        "a finding if less of the bytes moved is asked for: 0.9",
    ),
)


def check_limits(values: Mapping[str, float | None]) -> None:
    """Raise for a limit that makes no sense."""
    for limit in LIMITS:
        value = values[limit.keyword]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{limit.keyword} must be a number, not {quoted(value)}")
        if not value > 0 or (limit.least and value > 1):
            wanted = "more than 0 and at most 1" if limit.least else "more than 0"
            raise ValueError(f"{limit.keyword} must be {wanted}, not {quoted(value)}")


def beyond(
    sites: list[dict[str, Any]], values: Mapping[str, float | None]
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield of each limit that is not kept the rule, the worst site, and what it does."""
    for limit in LIMITS:
        value = values[limit.keyword]
        broken = [one for one in sites if value is not None and limit.broken(one, value)]
        if not broken:
            continue
        worst = (min if limit.least else max)(broken, key=lambda one: limit.figure(one) or 0)
        said = f"{worst['kind']} of {worst['width']} bits per thread, "
        said += limit.words.format(limit.figure(worst), value) + " wanted"
        if more := len({(one["file"], one["line"], one["kind"]) for one in broken}) - 1:
            said += f"; {more} more access{'es' * (more > 1)} beyond it"
        yield limit.rule, worst, said
