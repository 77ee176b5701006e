"""What crosscheck_ncu.py compares: groups of figures, known differences, and the verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

GLOBAL = ("requests", "sectors", "sectors_per_request")
SHARED = ("requests", "passes_per_request", "conflicts")
GROUPS = {
    "load": GLOBAL,
    "store": GLOBAL,
    "atomic": ("requests", "sectors"),
    "shared_load": SHARED,
    "shared_store": SHARED,
    "shared_atomic": ("requests", "passes_per_request"),
}

ENGINE = "a copy engine's, or an asynchronous copy's stores, not counted by these counters"

Figures = dict[str, Any]


class Sides(NamedTuple):
    """One kind of access of a call, as simulator and hardware count it, and the figure to judge."""

    figure: str
    group: str
    simulated: Figures
    counted: Figures

    def both(self, name: str) -> tuple[float, float]:
        """Return a figure of the group, the simulator's and the hardware's."""
        name = f"{self.group}_{name}"
        return self.simulated[name] or 0, self.counted[name] or 0

    def passes(self) -> tuple[float, float]:
        """Return the passes through the banks, of all requests."""
        (a, b), (c, d) = self.both("requests"), self.both("passes_per_request")
        return a * c, b * d

    def uncertain(self) -> int:
        """Return how many accesses the hardware may group differently."""
        return int(self.simulated[f"{self.group}_uncertain"])


class Rule(NamedTuple):
    """A known difference: its calls and figures (patterns), the condition, and the reason."""

    calls: str  # "family-variant, case"
    figures: str
    holds: Callable[[Sides], bool]
    why: str


def _always(_: Sides) -> bool:
    return True


# Figures that say nothing about the simulator: a run has others each time. They are not compared.
BY_CHANCE = (
    Rule(
        "scan-(look_back|pipelined), .*",
        "load_.*",
        _always,
        "a tile asks for the sums of others until they are there: how often depends on time",
    ),
    Rule(
        "scan-pipelined, .*",
        "shared_load_.*",
        _always,
        "which tiles a block takes depends on time, and with it how many sums lie between them",
    ),
    Rule(
        "scatter_add-shared, .*, float32",
        "shared_(load|atomic)_.*",
        _always,
        "floats are added in shared memory by a loop that loads, compares and swaps until no other "
        "thread came between: how often depends on time, and the simulator counts one addition",
    ),
)


def _masked(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return ours < theirs and abs(counted - passes) <= 0.03 * passes + sides.uncertain()


def _met_otherwise(sides: Sides) -> bool:
    """Whether uncertain accesses explain it: each changes one request and sector, or one pass."""
    names = ("requests", "sectors") if "sectors" in GROUPS[sides.group] else ("requests",)
    apart = [abs(b - a) for a, b in map(sides.both, names)]
    if not names[1:]:
        passes, counted = sides.passes()
        apart.append(abs(counted - passes))
    return max(apart) <= sides.uncertain()


def _a_few_passes_more(sides: Sides) -> bool:
    ours, theirs = sides.both("conflicts")
    return -1e-4 * ours <= theirs - ours <= 0.2 * sides.both("requests")[1]


def _slightly_more_passes(sides: Sides) -> bool:
    ours, theirs = sides.both("passes_per_request")
    return ours < theirs <= 1.03 * ours


def _joined(sides: Sides) -> bool:
    """Whether up to four words are one request, which takes no more passes than they do."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs < ours <= 4 * theirs and counted <= 1.03 * passes


RULES = (
    Rule(
        ".*",
        "shared_.*_passes_per_request",
        _slightly_more_passes,
        "the wavefront counter reads up to 3 % above the passes; why is not established",
    ),
    Rule(
        ".*",
        "shared_.*_conflicts",
        _a_few_passes_more,
        "the conflict counter reads some passes more than the addresses need, also in kernels "
        "without conflicts; it seems to count other waits for the banks too, and misses one in "
        "ten thousand at most",
    ),
    Rule(
        ".*",
        "shared_.*_(requests|passes_per_request)",
        _masked,
        "the hardware counts instructions without active lanes, the simulator only lanes that "
        "access memory; the passes are the same",
    ),
    Rule(
        ".*",
        ".*",
        _met_otherwise,
        "lanes reached a line on different paths and not equally often: how their accesses are "
        "grouped is uncertain, and the difference is no larger than their number",
    ),
    Rule(
        "copy-bulk, ragged",
        "(load|store)_(requests|sectors)",
        lambda sides: all(b == a + 1 for a, b in (sides.both("requests"), sides.both("sectors"))),
        "the first thread of a block reaches the last bytes through a loop that the others skip, "
        "and copies its byte in a request of its own",
    ),
    Rule(
        "scan-(blelloch|shuffles|look_back), .*",
        "shared_(load|store)_.*",
        _joined,
        "the compiler joins accesses to neighbouring words (LDS.64, LDS.128, STS.64, STS.128); the "
        "simulator counts those of the source",
    ),
)


def _reason(rules: Sequence[Rule], call: str, sides: Sides) -> str | None:
    """Return the reason of the first rule that holds."""
    for rule in rules:
        if (
            re.fullmatch(rule.calls, call)
            and re.fullmatch(rule.figures, sides.figure)
            and rule.holds(sides)
        ):
            return rule.why
    return None


def judge(
    call: str, simulated: Figures, counted: Figures, engines: Sequence[str]
) -> dict[str, Any]:
    """Return ``{"agrees": {figure: True | False | None}, "why": {figure: text}}`` of a call.

    Figures without requests on either side are left out. None is a figure that cannot be compared,
    for the reason given. If threads and an engine move data, only what threads move is compared.
    """
    agrees: dict[str, bool | None] = {}
    why: dict[str, str] = {}
    for group, names in GROUPS.items():
        engine = group in engines and not simulated[f"{group}_requests"]
        if not engine and not any(
            figures[f"{group}_{name}"] for figures in (simulated, counted) for name in names
        ):
            continue
        for figure, name in ((f"{group}_{name}", name) for name in names):
            ours, theirs = simulated[figure], counted[figure]
            sides = Sides(figure, group, simulated, counted)
            if engine:
                agrees[figure], why[figure] = None, ENGINE
            elif theirs is None:
                agrees[figure], why[figure] = None, "no such counter here, or nothing counted"
            elif reason := _reason(BY_CHANCE, call, sides):
                agrees[figure], why[figure] = None, reason
            else:
                within = 1e-4 * theirs if "_per_" in name else 0  # ncu rounds its ratios
                agrees[figure] = ours is not None and abs(ours - theirs) <= within
                if not agrees[figure] and (reason := _reason(RULES, call, sides)):
                    why[figure] = reason
    return {"agrees": agrees, "why": why}
