"""Which source line of a report is drawn, and which of its requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.messages import quoted, unknown
from ...count.access import extra_sectors, source_line
from ...families.keywords import integer

if TYPE_CHECKING:
    from ...count.traffic import Traffic

WIDEST = 128  # bits that one thread can access; only an engine moves more at once


def _telling(sites: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the worst site: by bank ways if any are in conflict, else by sectors moved in vain.

    Of equals banks come before sectors, and loads before stores.
    """
    sites = sorted(sites, key=lambda site: str(site["kind"]))
    banked = [site for site in sites if site.get("bank_ways") is not None]
    sectored = [site for site in sites if site.get("efficiency") is not None]
    wasteful = [site for site in sectored if extra_sectors(site)]
    if wasteful and all(site["bank_ways"] == 1 for site in banked):
        return max(wasteful, key=extra_sectors)
    if banked:
        return max(banked, key=lambda site: site["bank_ways"])
    return min(sectored or sites, key=lambda site: site.get("efficiency") or 0)


DRAWN = ("global", "shared", "constant")  # spaces of which there are pictures


def _of_space(report: Traffic, space: str) -> list[dict[str, Any]]:
    used = list(dict.fromkeys(one["space"] for one in report.sites))
    if not isinstance(space, str) or space not in used:
        raise ValueError(unknown("space is", space, used, f", but {report.name} uses"))
    return [one for one in report.sites if one["space"] == space]


def choose(report: Traffic, site: int | str | None, space: str | None = None) -> dict[str, Any]:
    """Return one of a report's sites.

    Parameters
    ----------
    report : Traffic
        Which report.
    site : int, str or None
        Its index in ``report.sites``, or a source line such as "tile.cu:39". If a line has several
        sites, "tile.cu:39 load" or "tile.cu:39 shared" chooses, else the worst is taken. None is
        the worst of all: by bank ways if there are conflicts, else by sectors moved in vain.
    space : str, optional
        Only sites of this memory.

    Raises
    ------
    ValueError
        If there is no such site; the message lists them.
    """
    sites = report.sites
    if not sites:
        raise ValueError(f"{report.name} touched no memory: nothing to draw")
    if space is not None:
        sites = _of_space(report, space)
    if site is None:
        drawable = [one for one in sites if one["space"] in DRAWN]
        return _telling(drawable or sites)
    if isinstance(site, str):
        place, *words = site.split() or [""]
        found = [
            one
            for one in sites
            if place in (source_line(one), f"{one['file']}:{one['line']}")
            and all(word in (one["space"], one["kind"]) for word in words)
        ]
        if not found:
            known = ", ".join(f"{source_line(one)} {one['space']} {one['kind']}" for one in sites)
            raise ValueError(f"site {quoted(site)} is not in this report; it has: {known}")
        return _telling(found)
    if isinstance(site, bool) or not hasattr(site, "__index__"):
        raise TypeError(f"site must be an index, 'file:line' or None, not {quoted(site)}")
    site = integer("site", site)
    if not 0 <= site < len(report.sites):
        raise ValueError(f"site must be 0 to {len(report.sites) - 1}, not {site}")
    if report.sites[site] not in sites:
        raise ValueError(f"site {site} is of {report.sites[site]['space']} memory, not of {space}")
    return report.sites[site]


def sample_of(site: dict[str, Any], request: int) -> dict[str, Any]:
    """Return one of the requests that a site keeps."""
    samples: Sequence[dict[str, Any]] = site.get("samples", ())
    if isinstance(request, bool) or not hasattr(request, "__index__"):
        raise TypeError(f"request must be an integer, not {quoted(request)}")
    request = integer("request", request)
    if not samples:
        raise ValueError(f"no request of {source_line(site)} was kept")
    if not 0 <= request < len(samples):
        raise ValueError(
            f"request must be 0 to {len(samples) - 1}, not {request}: of the "
            f"{site['requests']} requests of {source_line(site)} the first {len(samples)} are kept"
        )
    return samples[request]


def by_engine(site: dict[str, Any]) -> bool:
    """Whether a copy engine makes the requests of a site."""
    return bool(site["width"] > WIDEST)
