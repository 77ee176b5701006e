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


def _up_to_twice_the_passes(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return ours == theirs and passes <= counted <= 2 * passes


# Figures that say nothing about the simulator: a run has others each time. They are not compared.
BY_CHANCE = (
    Rule(
        "scan-(look_back|all_sums|pipelined:.*), .*",
        "load_.*",
        _always,
        "a tile asks for the sums of others until they are there: how often depends on time",
    ),
    Rule(
        "scan-pipelined:.*, .*",
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
    Rule(
        "scatter_add-shared, random, int32",
        "shared_load_(passes_per_request|conflicts)",
        _up_to_twice_the_passes,
        "consecutive words need one pass, the counters read more, and not the same for blocks with "
        "the same work: it seems to depend on time, and why is not established",
    ),
)


def _masked(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return ours < theirs and abs(counted - passes) <= 0.03 * passes + sides.uncertain()


def _three_a_block(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    apart = ours - theirs
    return apart > 0 and apart % 3 == 0 and passes <= counted <= 1.15 * passes


def _met_otherwise(sides: Sides) -> bool:
    """Whether uncertain accesses explain it: each changes one request and sector, or one pass."""
    if not sides.uncertain():
        return False
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


def _up_to_an_eighth_more_passes(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return ours <= theirs and passes <= counted <= 9 / 8 * passes


def _masked_and_about_the_passes(sides: Sides) -> bool:
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return ours < theirs and 0.85 * passes <= counted <= 1.15 * passes


def _joined(sides: Sides) -> bool:
    """Whether up to four words are one request, which takes no more passes than they do."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs < ours <= 4 * theirs and counted <= 1.03 * passes


def _dropped(sides: Sides) -> bool:
    """Whether there are fewer requests and passes."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs <= ours and 0.7 * passes <= counted <= passes


def _dropped_and_masked(sides: Sides) -> bool:
    """Whether there are fewer passes, in up to a quarter more requests."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs <= 1.25 * ours and 0.6 * passes <= counted <= passes


def _joined_and_masked(sides: Sides) -> bool:
    """Whether there are fewer passes, by up to a tenth, in more instructions."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs > ours and 0.9 * passes <= counted <= passes


def _one_by_one(sides: Sides) -> bool:
    """Whether some vectors are stored as four numbers, each of which touches all the sectors."""
    ours, theirs = sides.both("requests")
    sectors, counted = sides.both("sectors")
    return ours < theirs <= 4 * ours and counted * ours == sectors * theirs


def _without_some_warps(sides: Sides) -> bool:
    """Whether a few warps, of a block at most, load none of 16 coefficients."""
    ours, theirs = sides.both("requests")
    sectors, counted = sides.both("sectors")
    return ours - theirs == sectors - counted in range(16, 8 * 16, 16)


def _in_other_steps(sides: Sides) -> bool:
    """Whether there are up to a fifth more requests, with as many sectors within a fifth."""
    (ours, theirs), (sectors, counted) = sides.both("requests"), sides.both("sectors")
    return ours <= theirs <= 1.2 * ours and 0.8 * sectors <= counted <= 1.2 * sectors


def _pieces(sides: Sides) -> bool:
    """Whether there are up to a sixth more sectors in the same requests."""
    ours, theirs = sides.both("sectors")
    requests, counted = sides.both("requests")
    return requests == counted and ours < theirs <= 7 / 6 * ours


def _dropped_and_more_masked(sides: Sides) -> bool:
    """Whether there are fewer passes, by up to three fifths, in up to a sixth more requests."""
    ours, theirs = sides.both("requests")
    passes, counted = sides.passes()
    return theirs <= 7 / 6 * ours and 0.4 * passes <= counted <= passes


def _of_fewer_lanes(sides: Sides) -> bool:
    """Whether there are fewer conflicts, or more in up to a quarter of the requests."""
    ours, theirs = sides.both("conflicts")
    return theirs < ours or 0 < theirs - ours <= sides.both("requests")[1] / 4


def _by_rounds(sides: Sides) -> bool:
    """Whether the same sectors are stored in up to three times as many requests."""
    ours, theirs = sides.both("requests")
    sectors, counted = sides.both("sectors")
    return ours < theirs <= 3 * ours and sectors == counted


def _slightly_fewer_passes(sides: Sides) -> bool:
    ours, theirs = sides.passes()
    return 0.98 * ours <= theirs < ours


def _one_lane_after_another(sides: Sides) -> bool:
    """Whether additions that are one pass each take up to one for each of the lanes, or half."""
    ours, theirs = sides.passes()
    requests = sides.both("requests")[1]
    return ours == requests < theirs <= 33 / 2 * requests


def _one_after_another(sides: Sides) -> bool:
    """Whether the hardware counts no more sectors than lanes."""
    ours, theirs = sides.both("sectors")
    return ours < theirs <= sides.simulated[f"{sides.group}_lanes"]


RULES = (
    Rule(
        ".*",
        "shared_.*_passes_per_request",
        _slightly_more_passes,
        "the wavefront counter reads up to 3 % above the passes; why is not established",
    ),
    Rule(
        "scatter_add-shared, .*random.*",
        "shared_atomic_passes_per_request",
        _slightly_fewer_passes,
        "the wavefront counter reads up to 2 % below the passes of random additions, of which a "
        "thread has two at a time; why is not established",
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
        "scan-(blelloch|shuffles|look_back|all_sums), .*|permute-(shifted|packed:.*), .*",
        "shared_(load|store)_.*",
        _joined,
        "the compiler joins accesses to neighbouring words (LDS.64, LDS.128, STS.64, STS.128); the "
        "simulator counts those of the source",
    ),
    Rule(
        "(reduce|scan)-cluster, .*",
        "shared_(load|store)_.*",
        _always,
        "a cluster has 16 blocks on the device, which exchange their sums and share the tiles, and "
        "one on the simulator",
    ),
    Rule(
        "scan-blelloch, .*",
        "shared_(load|store)_.*",
        _joined_and_masked,
        "in the steps between neighbours the compiler joins both accesses, which then have no "
        "conflicts; in the others the hardware also counts instructions without active lanes",
    ),
    Rule(
        "scan-shuffles, .*",
        "shared_load_.*",
        lambda sides: sides.passes()[1] <= 16 / 7 * sides.passes()[0],
        "the compiler loads the sums of all eight warps, in vectors (LDS.128) of two passes, and "
        "selects; in the source a warp loads those of the warps before it, 3.5 on average",
    ),
    Rule(
        "permute-joined:.*",
        "shared_atomic_passes_per_request",
        _one_lane_after_another,
        "columns are counted twice: additions whose old value is used take a pass for each lane of "
        "one place; those without, which the simulator assumes, are joined first (ATOMS.POPC.INC)",
    ),
    Rule(
        "permute-channels:.*",
        "shared_store_(passes_per_request|conflicts)",
        lambda sides: 0 <= sides.passes()[1] - sides.passes()[0] <= 1,
        "one lane stores byte by byte what the array has of its last vector; the hardware counts "
        "one pass more for the four bytes of halves, and why is not established",
    ),
    Rule(
        "permute-packed:.*",
        "shared_store_(requests|passes_per_request)",
        _masked_and_about_the_passes,
        "four entries of a table are written at a time: the hardware counts instructions without "
        "active lanes; its passes are up to 15 % fewer or more, and why is not established",
    ),
    Rule(
        "permute-packed:.*",
        "shared_store_.*",
        _three_a_block,
        "each block stores a struct of 48 bytes per axis, as compiled in vectors of 16 bytes: 3 "
        "requests less than on the simulator, with up to 15 % more passes in all",
    ),
    Rule(
        "permute-packed:small, .*",
        "store_(requests|sectors_per_request)",
        _by_rounds,
        "the hardware counts instructions without active lanes; the sectors are the same",
    ),
    Rule(
        "permute-tiles, .*",
        "shared_(load|store)_(requests|passes_per_request)",
        _up_to_an_eighth_more_passes,
        "the wavefront counter reads up to an eighth above the passes, more for larger arrays, "
        "and why is not established; the hardware counts instructions without active lanes",
    ),
    Rule(
        "permute-packed:small, .*",
        "shared_load_(requests|passes_per_request)",
        lambda sides: 0.7 * sides.passes()[0] <= sides.passes()[1] <= sides.passes()[0],
        "the simulator counts a copy of a struct of 24 bytes and then loads of its members; the "
        "compiled kernel loads the members, and the hardware counts instructions without active "
        "lanes",
    ),
    Rule(
        "sgemm-warp_tile_tma, .*|matmul-tma, .*",
        "shared_load_(requests|passes_per_request)",
        _dropped,
        "the compiler drops loads of what the thread has just stored or loaded (its quads of sums "
        "and zeros); the others take as many passes as on the simulator",
    ),
    Rule(
        "sgemm-warp_tile, .*|matmul-warp_tiles:.*",
        "shared_load_(requests|passes_per_request)",
        _dropped_and_masked,
        "the compiler drops loads of the zeros that sums begin with; before asynchronous copies it "
        "puts loads without active lanes (@!PT LDS), which the hardware counts",
    ),
    Rule(
        "matmul-whole:16, plain",
        "shared_store_(requests|passes_per_request)",
        lambda sides: 0.95 * sides.passes()[1] <= sides.passes()[0] <= sides.passes()[1],
        "the hardware counts instructions without active lanes, as aligned matrices have no "
        "numbers at either end, and up to 4 % more passes; there are few others",
    ),
    Rule(
        "(sgemm|matmul)-.*, plain",
        "store_(requests|sectors)",
        _one_by_one,
        "the compiler stores some vectors as four numbers (STG.E), in the code for results that "
        "are not aligned; each store touches all the sectors",
    ),
    Rule(
        "sgemm-warp_tile, plain|matmul-((warp_)?tiles|narrow):.*, plain|permute-packed:small, .*",
        "load_sectors(_per_request)?",
        _pieces,
        "of vectors that are copied asynchronously (LDGSTS.128) the counter reads, for each eight "
        "lanes, the pieces of 32 bytes of shared memory that they fill: where a row of them begins "
        "in the middle of one, one more than sectors",
    ),
    Rule(
        "permute-(matrices:gathered_.*|joined:.*), .*",
        "load_(requests|sectors)(_per_request)?",
        _in_other_steps,
        "lanes leave out vectors beyond the end of their rows: the hardware has a request for each "
        "step of the loop, the simulator joins the lanes' nth copies, which may be of other steps",
    ),
    Rule(
        "matmul-narrow:.*",
        "shared_load_(requests|passes_per_request)",
        _dropped_and_more_masked,
        "the compiler drops loads of the zeros that sums begin with, of sums of columns that do "
        "not exist and, where the loop is unrolled, those that read numbers once more; before "
        "asynchronous copies it puts loads without active lanes (@!PT LDS), which the hardware "
        "counts",
    ),
    Rule(
        "matmul-narrow:.*",
        "shared_load_conflicts",
        _of_fewer_lanes,
        "of columns that do not exist the compiled kernel reads no sums, so that fewer lanes meet; "
        "why some do where the addresses of all would not is not established",
    ),
    Rule(
        "matmul-narrow:24, plain",
        "store_(requests|sectors_per_request)",
        _by_rounds,
        "lanes whose columns do not exist skip the store, in other rounds of the loop each; the "
        "simulator joins the n-th stores of all lanes, the hardware counts a request per round",
    ),
    Rule(
        "polynomial-register(_bounded)?, plain",
        "load_.*",
        _without_some_warps,
        "the compiler moves the loads of the coefficients to where a warp has points; in the "
        "source all warps load them",
    ),
    Rule(
        "sample-global, .*",
        "load_.*",
        lambda sides: (
            sides.both("requests")[1] < sides.both("requests")[0]
            and sides.both("sectors")[1] > sides.both("sectors")[0]
        ),
        "the host's compiler skips the load of a neighbour with a share of 0, the device's "
        "compiler loads it: fewer requests, of more lanes",
    ),
    Rule(
        ".*",
        "atomic_sectors",
        _one_after_another,
        "of lanes with one address the hardware counts a sector each, and a few of lanes that "
        "share a sector; the simulator counts the sectors that a request touches",
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
