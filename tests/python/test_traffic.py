"""Traffic reports: counts of known kernels, and their text."""

import json

import numpy as np
import pytest

import gpumem as gm
from gpumem.count.access import Access
from gpumem.count.summary import summary
from gpumem.count.traffic import Traffic
from gpumem.families import oracle

KERNELS = gm.variants(instances=True)  # instances instead of their rows
CLAIMING = [v for v in KERNELS if v.claims["width"] and v.reason_on("sim") is None]


def site(**changes):
    """A source line with made-up counts: a fully coalesced 32-bit load."""
    return {
        "file": "csrc/kernels/made/up.cu",
        "line": 7,
        "space": "global",
        "kind": "load",
        "width": 32,
        "requests": 10,
        "lanes": 320,
        "bytes": 1280,
        "sectors": 40,
        "lines": 10,
        "passes": 0,
        "fewest_passes": 0,
        "samples": [],
    } | changes


def report(*sites):
    return Traffic(
        {
            "family": "made",
            "variant": "up",
            "grid": (10, 1, 1),
            "block": (32, 1, 1),
            "shared_bytes": 4096,
            "threads": 320,
            "warps": 10,
            "barriers": 20,
            "result": np.arange(3),
            "sites": list(sites),
        }
    )


# ---- what the simulator counts ------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "width", "sectors", "lines"),
    [("scalar", 32, 4, 1), ("vec2", 64, 8, 2), ("vec4", 128, 16, 4), ("struct16", 128, 16, 4)],
)
def test_a_wider_access_needs_fewer_requests(variant, width, sectors, lines):
    words = 2**16
    t = gm.traffic("copy", variant=variant, shape=words)
    for access in (t.loads, t.stores):
        assert access.requests == words * 32 // width // 32
        assert access.width == width
        assert access.sectors_per_request == sectors
        assert access.lines_per_request == lines
        assert access.efficiency == 1
        assert access.bytes_asked == 4 * words
    assert t.requests == t.loads.requests + t.stores.requests
    assert t.bytes_asked == t.bytes_moved == 8 * words
    assert t.shared.requests == t.barriers == 0


@pytest.mark.parametrize("variant", CLAIMING, ids=str)
def test_the_claims_of_the_table_hold(variant):
    arguments = oracle.claimed_arguments(variant, 2**18)
    t = gm.traffic(variant.family, *arguments, variant=variant)
    seen = {
        "width": max(part.width or 0 for part in (t.loads, t.stores, t.atomics)),
        "load_sectors": t.loads.sectors_per_request,
        "store_sectors": t.stores.sectors_per_request,
        "bank_ways": t.shared.bank_ways,
    }
    claims = {name: value for name, value in variant.claims.items() if value is not None}
    assert {name: seen[name] for name in claims} == claims


def test_what_is_not_contiguous_is_made_so_first():
    a = np.arange(2**14, dtype=np.float32)[::-2]
    t = gm.traffic("copy", a, variant="vec4")
    assert t.loads.sectors_per_request == 16 and t.loads.efficiency == 1
    np.testing.assert_array_equal(t.result, a)


def test_each_site_is_a_line_of_the_kernel():
    t = gm.traffic("copy", variant="vec4", shape=2**12)
    assert {(s["space"], s["kind"]) for s in t.sites} == {("global", "load"), ("global", "store")}
    for s in t.sites:
        assert s["file"].endswith("csrc/kernels/copy/vec4.cu") and s["line"] > 0
        assert s["width"] == 128 and s["efficiency"] == 1 and s["sectors_per_request"] == 16
    assert sum(s["requests"] for s in t.sites) == t.requests


def test_the_result_is_right():
    (a,) = oracle.arguments("copy", 1000, "f8")
    oracle.check("copy", gm.traffic("copy", a, variant="scalar").result, a)


def test_the_counts_do_not_depend_on_the_run():
    first, second = (gm.traffic("copy", variant="scalar", shape=12345) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_parameters_reach_the_kernel():
    t = gm.traffic("copy", variant="vec4", shape=2**14, max_blocks=2)
    assert t.grid == (2, 1, 1) and t.threads == 512
    assert t.loads.requests == 128


def test_kernels_that_help_are_told_and_counted():
    """With few tiles, blocks share the depth of a tile, and another kernel adds up their sums."""
    t = gm.traffic("sgemm", variant="warp_tile_tma", shape=(128, 128, 128))
    own, adding = t.kernels
    assert (own["name"], adding["name"]) == ("sgemm_warp_tile_tma", "sgemm_add_shares")
    assert t.grid == own["grid"] and t.block == own["block"] == (128, 1, 1)
    shares = own["grid"][1]
    assert shares > 1 and t.barriers == own["barriers"] == 2 * shares and adding["barriers"] == 0
    assert t.shared_bytes == own["shared_bytes"] > 2**16 and adding["shared_bytes"] == 0
    assert t.threads == own["threads"] + adding["threads"] == 128 * shares + adding["threads"]
    assert t.helpers() == [adding] and f"with sgemm_add_shares: {adding['doc']}" in str(t)
    # The sums of each share are written and read once; then C is written.
    assert t.stores.bytes_asked == 4 * 128 * 128 * (shares + 1)
    (alone,) = gm.traffic("sgemm", variant="warp_tile_tma", shape=(128, 128, 16)).kernels
    assert alone["grid"] == (1, 1, 1)
    assert gm.traffic("transpose", variant="strided", shape=(8, 9)).helpers() == []


def test_auto_says_what_ran():
    t = gm.traffic("copy", shape=4096)
    assert t.variant in [v.name for v in gm.variants("copy")]


def test_nothing_to_do_is_no_requests():
    t = gm.traffic("copy", variant="scalar", shape=0)
    assert t.sites == [] and t.requests == 0
    for access in (t.loads, t.stores, t.shared):
        assert access.requests == 0 and access.width is None
        assert access.efficiency is access.sectors_per_request is None
    assert "0 memory instructions" in str(t)


# ---- sums and shared memory, from made-up counts ------------------------------------------


def test_sums_over_sites():
    t = report(
        site(),
        site(line=8, requests=30, bytes=3840, sectors=960, lines=960, width=64),
        site(kind="store", sectors=50, lines=20),
        site(space="constant", sectors=0, lines=0, requests=5),
    )
    assert t.loads.requests == 40 and t.loads.sectors == 1000 and t.loads.width == 64
    assert t.loads.sectors_per_request == 25
    assert t.loads.lines_per_request == 970 / 40
    assert t.loads.efficiency == 5120 / 32000
    assert t.stores.efficiency == 0.8
    assert t.requests == 55
    assert t.bytes_asked == 6400 and t.bytes_moved == 1050 * 32


def test_shared_memory_has_loads_and_stores_but_no_sectors():
    shared = {"space": "shared", "sectors": 0, "lines": 0}
    t = report(site(), site(**shared), site(**shared, kind="store", requests=4, width=128))
    assert t.shared.requests == 14 and t.shared.width == 128
    assert t.shared.loads.requests == 10 and t.shared.stores.requests == 4
    assert t.shared.sectors_per_request is t.shared.efficiency is None
    assert t.loads.requests == 10 and t.stores.requests == 0
    assert t.to_dict()["shared"]["stores"]["width"] == 128
    assert "shared" in str(t)


def test_bank_ways_are_those_of_the_worst_line():
    shared = {"space": "shared", "sectors": 0, "lines": 0}
    free = site(**shared, passes=10, fewest_passes=10)
    worst = site(**shared, line=8, kind="store", passes=90, fewest_passes=20)
    engine = site(**shared, line=9)
    t = report(site(), free, worst, engine)
    assert [s["bank_ways"] for s in t.sites] == [None, 1, 4.5, None]
    assert t.shared.bank_ways == t.to_dict()["shared"]["bank_ways"] == 4.5
    assert report(site(), engine).shared.bank_ways is None
    assert report(site()).to_dict()["shared"]["bank_ways"] is None


def test_samples_are_in_the_sites_but_not_in_the_json():
    t = gm.traffic("copy", variant="vec4", shape=2**16)
    for s in t.sites:
        assert len(s["samples"]) == min(32, s["requests"])
        first, second = s["samples"][:2]
        assert (first["block"], first["warp"], second["warp"]) == ((0, 0, 0), 0, 1)
        assert first["lanes"] == tuple(range(32)) and first["bytes"] == (16,) * 32
        assert first["addresses"] == tuple(range(0, 512, 16))
        assert second["addresses"] == tuple(range(512, 1024, 16))
    assert all("samples" not in s for s in t.to_dict()["sites"])


def test_a_report_is_clean_json():
    t = report(site(), site(space="shared", sectors=0, lines=0, kind="store"))
    assert json.loads(t.to_json()) == t.to_dict()
    found = json.loads(gm.traffic("copy", variant="vec2", shape=999).to_json())
    assert found["variant"] == "vec2" and found["loads"]["width"] == 64
    assert "result" not in found


def test_access_shows_its_figures():
    assert "requests=10" in repr(Access([site()])) and "efficiency=1.0" in repr(Access([site()]))


# ---- text ---------------------------------------------------------------------------------


def test_the_table_reads_well():
    shared = {"space": "shared", "sectors": 0, "lines": 0, "passes": 25, "fewest_passes": 10}
    t = report(site(), site(line=123, requests=123456789, **shared))
    text = str(t)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert "made-up" in lines[0] and "10 x 1 x 1" in lines[0]
    head, first, second = lines[2:5]
    assert first.split() == "up.cu:7 global load 32 10 40 4.00 1.00 100.0% -".split()
    assert second.split() == "up.cu:123 shared load 32 123456789 - - - - 2.50".split()
    assert head.index("space") == first.index("global") == second.index("shared")
    assert len(head) == len(first) == len(second)
    assert "times" in lines[-1] and "cache hits" in lines[-1] and "occupancy" in lines[-1]


def test_the_summary_has_two_rows_for_each_report():
    shared = site(space="shared", sectors=0, lines=0, passes=40, fewest_passes=10)
    lines = summary([report(site(), shared), report(site(kind="store"))]).splitlines()
    assert len(lines) == 5
    assert lines[1].split() == "made-up load 32 10 4.00 1.00 100.0% 4.00 20".split()
    assert lines[2].split() == "store - 0 - - - -".split()
    assert lines[3].split() == "made-up load - 0 - - - - 20".split()
    assert max(map(len, lines)) <= 100


# ---- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(2**62,), -1, (4, -4), 1.5, (2.0, 3), "1024", True, (2**31, 2**31), 2**45, (2**99,)]
)
def test_bad_shapes_are_refused_before_anything_is_made(shape):
    with pytest.raises(ValueError, match="shape"):
        gm.traffic("copy", shape=shape)


def test_refusals_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"nope.*copy"):
        gm.traffic("nope", shape=4)
    with pytest.raises(ValueError, match=r"vec3.*scalar.*vec4"):
        gm.traffic("copy", variant="vec3", shape=4)
    with pytest.raises(TypeError, match="shape"):
        gm.traffic("copy")
    with pytest.raises(TypeError, match="shape"):
        gm.traffic("copy", np.zeros(3), shape=3)
    with pytest.raises(TypeError, match="dtype= with shape= alone"):
        gm.traffic("copy", np.zeros(3), dtype="f4")
    with pytest.raises(TypeError, match=r"max_block'.*max_blocks"):
        gm.traffic("copy", shape=4, max_block=1)
    with pytest.raises(ValueError, match="max_blocks"):
        gm.traffic("copy", shape=4, max_blocks=0)
