"""sgemm: traffic, sizes beyond 32 bits, the oracle and accuracy."""

import itertools
import json

import numpy as np
import pytest
from sgemm_cases import (
    EDGES,
    KERNELS,
    NAMES,
    SGEMM,
    TRANSPOSITIONS,
    available,
    check,
    factors,
)
from support import here

import gpumem as gm
from gpumem import _core, cli
from gpumem.check import accuracy as accuracy_module
from gpumem.families import oracle, peers, table

TILED = [v for v in KERNELS if v.claims["bank_ways"]]


# The rungs before warp_tile, which copies asynchronously.
LADDER = [v for v in KERNELS if not v.name.startswith(("warp_tile", "stream_k"))]
ON_ENGINE = ("warp_tile_tma", "stream_k", "tf32x3", "fp16x3", "fp16x3_multicast")


# ---- traffic ------------------------------------------------------------------------


def test_requests_and_sectors_fall_along_the_ladder():
    """From rung to rung each request serves more products."""
    traffic = {v.name: gm.traffic("sgemm", variant=v, shape=(256, 256, 64)) for v in LADDER}
    column = traffic.pop("naive_col")
    requests = [t.loads.requests for t in traffic.values()]
    sectors = [t.loads.sectors for t in traffic.values()]
    products = 256 * 256 * 64
    assert requests[0] == column.loads.requests == 2 * products / 32
    assert (sectors[0], column.loads.sectors) == (5 * products / 32, 33 * products / 32)
    assert requests[1] == requests[0] / 16  # 8 loads for 64 products of each thread
    assert requests[2] == requests[1] / 2
    assert requests[3:] == [requests[2] / 16] * 4  # a tile is loaded once per block
    assert sectors == sorted(sectors, reverse=True)
    assert sectors[3] == 4 * (128 + 128) * 64 * 4 / 32  # both tiles of each of 2 x 2 blocks
    assert {t.stores.sectors for t in traffic.values()} == {256 * 256 * 4 / 32}
    assert {t.stores.efficiency for t in traffic.values()} == {1}
    assert (column.stores.sectors, column.stores.efficiency) == (256 * 256, 1 / 8)


def test_barriers_per_tile():
    blocks, tiles = 4, 4
    for v in TILED:
        barriers = gm.traffic("sgemm", variant=v, shape=(256, 256, 64)).barriers
        if v.name == "warp_tile":  # tiles of half the depth; before the first, and after the last
            assert barriers == blocks * (2 * tiles + 2)
        else:
            assert barriers == blocks * tiles * (1 if v.name == "hide_global_latency" else 2)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("variant", ["warp_tile", "stream_k"])
def test_how_warps_store_a_tile(variant, trans_a, rng):
    """Vectors from registers; neighbours, one by one, where rows begin anywhere or C is added."""
    rows, lines = 128, 128 * 128 // 32
    for columns, beta, requests, through_shared in (
        (128, 0, lines // 4, False),
        (128, 3, lines, True),
        (127, 0, lines, True),
    ):
        a, b = factors(rng, rows, columns, 64, trans_a)
        c = rng.integers(-8, 9, (rows, columns)).astype("f4")
        given = {"beta": float(beta), "trans_a": trans_a}
        counted = gm.traffic("sgemm", a, b, c, variant=variant, **given)
        check(counted.result, a, b, c, **given)
        sites = [s for s in counted.sites if s["file"].endswith(("/warp_store.h", "/sgemm.h"))]

        def asked(kind, space, sites=sites):
            return sum(s["requests"] for s in sites if (s["kind"], s["space"]) == (kind, space))

        assert asked("store", "global") == requests
        assert asked("load", "shared") == (lines if through_shared else 0)
        assert asked("load", "global") == (lines if beta else 0)
        assert counted.shared.bank_ways == 1


@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
def test_tiles_are_free_of_bank_conflicts(trans_a, trans_b, rng):
    """Transposed or not. The exception is smem: 2 ways, and 32 with a transposed A."""
    a, b = factors(rng, 128, 128, 32, trans_a, trans_b)
    for v in TILED:
        t = gm.traffic("sgemm", a, b, variant=v, trans_a=trans_a, trans_b=trans_b)
        assert t.loads.efficiency == 1
        if v.name != "warp_tile" or not trans_b:  # warp_tile transposes B element by element
            assert t.loads.sectors_per_request == 16
        ways = (32 if trans_a else 2) if v.name == "smem" else 1
        assert t.shared.bank_ways == ways


@pytest.mark.parametrize("variant", KERNELS, ids=str)
@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
def test_no_out_of_bounds_access_and_no_race(variant, trans_a, trans_b, rng):
    """Each array ends where its allocation ends, so the simulator sees any overrun."""
    for m, n, k in [*EDGES[:4], (128, 128, 32), (64, 129, 65)]:
        keywords = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        values = table.parameters("sgemm", keywords)
        counted = _core.traffic("sgemm", variant.name, arrays, values)
        check(counted["result"], *arrays, **keywords)


# ---- beyond 32 bits -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["naive_col", "naive"])
def test_more_tiles_than_the_grid_y_limit(name, backend, rng):
    """The grid continues in z beyond its limit in y; the last blocks have no work."""
    here(SGEMM[NAMES.index(name)], backend)
    m, n = (3, 65536 * 8 + 13) if name == "naive_col" else (65536 * 8 + 13, 3)
    a, b = factors(rng, m, n, 2)
    assert np.array_equal(gm.sgemm(a, b, variant=name, backend=backend), a @ b)


@pytest.mark.parametrize("name", ["smem"])
def test_more_block_tiles_than_the_grid_y_limit(name, backend):
    """One column of C, one product each: 65537 tiles of 128 rows."""
    a = np.arange(65536 * 128 + 3, dtype="f4")[:, None]
    got = gm.sgemm(a, np.full((1, 1), 2, "f4"), variant=name, backend=backend)
    assert np.array_equal(got, 2 * a)


@pytest.mark.usefixtures("gigabytes")
def test_sides_that_the_copy_engine_cannot_count(backend):
    """Refused before anything of 8 GiB is touched; empty products have no sides to count."""
    here(SGEMM[NAMES.index("warp_tile_tma")], backend)
    row = gm.DeviceArray((1, 2**31), "f4", backend=backend)
    column = row.reshape(-1, 1)
    message = r"warp_tile_tma takes sides of up to 2147483647 elements, not 1 x 1 x 2147483648"
    with pytest.raises(ValueError, match=message):
        gm.sgemm(row, column, variant="warp_tile_tma")
    assert gm.sgemm(row, column[:, :0], variant="warp_tile_tma").shape == (1, 0)


@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_row_offsets_beyond_32_bits(variant, trans_a, trans_b, backend, rng):
    """One array at a time has a pitch of 2**29 + 8 elements; most of it is never touched."""
    here(variant, backend)
    pitch = 2**29 + 8
    keywords = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
    arrays = (*factors(rng, 5, 6, 5, trans_a, trans_b), factors(rng, 5, 1, 6)[0])
    for padded in range(3):
        views = [gm.to_device(x, backend=backend) for x in arrays]
        x = arrays[padded]
        padded_array = gm.DeviceArray((len(x), pitch), "f4", backend=backend)
        for i in range(len(x)):
            gm.copy(views[padded][i], out=padded_array[i, : x.shape[1]])
        views[padded] = padded_array[:, : x.shape[1]]
        check(variant(*views, **keywords).to_host(), *arrays, **keywords)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(46400, 46400, 3), (2**31 + 40, 1, 2), (3, 2**30, 1)], ids=str)
def test_result_offsets_beyond_32_bits(variant, shape, rng):
    here(variant, "cuda")
    m, n, k = shape
    a, b = (gm.DeviceArray(s, "f4", backend="cuda") for s in ((m, k), (k, n)))
    block = rng.integers(-8, 9, 2**20 - 3).astype("f4")
    device_block = gm.to_device(block, backend="cuda")
    for x in (a, b):
        flat = x.reshape(x.size)
        for first in range(0, x.size, block.size):
            part = flat[first : first + block.size]
            gm.copy(device_block[: part.size], out=part)
    out = gm.DeviceArray((m, n), "f4", backend="cuda")
    out.fill_bytes(0xA5)
    if variant.name in ON_ENGINE and m > 2**31 - 1:
        with pytest.raises(ValueError, match=rf"{variant.name} takes sides of up to 2147483647"):
            variant(a, b, out=out)
        return
    variant(a, b, out=out)
    rows = {0, m - 1, m // 2, *rng.integers(0, m, 20).tolist()}
    host_b = b.to_host() if b.size < 2**28 else None
    for r in sorted(rows):
        for first in {0, max(0, n - 10**6), n // 2}:
            columns = slice(first, min(n, first + 10**6))
            b_part = b[:, columns] if host_b is None else host_b[:, columns]
            b_part = b_part if host_b is not None else gm.copy(b_part).to_host()
            wanted = a[r : r + 1].to_host() @ b_part
            assert np.array_equal(out[r : r + 1, columns].to_host(), wanted)


# ---- oracle, benchmark, accuracy ----------------------------------------------------


def test_oracle_detects_a_wrong_element(rng):
    a, b = (rng.standard_normal((20, 20)).astype("f4") for _ in range(2))
    correct = (a.astype("f8") @ b).astype("f4")
    check(correct, a, b)
    for index, value in [((3, 4), correct[3, 4] + np.float32(1e-3)), ((0, 0), np.nan)]:
        wrong = correct.copy()
        wrong[index] = value
        with pytest.raises(AssertionError, match=rf"index \({index[0]}, {index[1]}\)"):
            check(wrong, a, b)
    a[2, 2] = np.inf
    for value in (-np.inf, 0, np.nan):
        wrong = oracle.expected("sgemm", a, b)
        assert np.isinf(wrong[2]).all()
        wrong[2, 7] = -wrong[2, 7] if value == -np.inf else value
        with pytest.raises(AssertionError, match=r"index \(2, 7\)"):
            check(wrong, a, b)


def test_oracle_bound_is_tight(rng):
    """It detects a kernel that drops one term of a sum, or one that rounds to TF32."""
    a, b = (rng.uniform(0.5, 1, (64, 64)).astype("f4") for _ in range(2))
    with pytest.raises(AssertionError):
        check(a[:, 1:] @ b[1:], a, b)
    truncated = (a.view("u4") & np.uint32(0xFFFFE000)).view("f4")
    with pytest.raises(AssertionError):
        check(truncated @ b, a, b)


def test_a_shape_is_m_n_k():
    assert oracle.shape_for("sgemm", 2**24) == (2048, 2048, 2048)
    assert oracle.shape_for("sgemm", 4) == (1, 1, 1)
    assert oracle.work("sgemm", (2, 3, 5), "f4") == (4 * (10 + 15 + 6), 60)
    assert oracle.work("sgemm", (2, 3, 5), "f4", beta=1.0) == (4 * (10 + 15 + 12), 60)
    a, b, c = oracle.arguments("sgemm", (2, 3, 5), beta=1.0, trans_a=True)
    assert (a.shape, b.shape, c.shape) == ((5, 2), (5, 3), (2, 3))
    for shape in (7, (3, 4), (1, 2, 3, 4)):
        with pytest.raises(ValueError, match=r"expected \(m, n, k\)"):
            oracle.arguments("sgemm", shape)


def test_bench_counts_operations():
    shapes = [(8, 16, 32), (64, 64, 64)]
    result = gm.bench("sgemm", ["naive", "cublas"], shapes=shapes, backend="sim")
    assert [tuple(r["shape"]) for r in result.records[::2]] == shapes
    assert {r["flops"] for r in result.records} == {2 * 8 * 16 * 32, 2 * 64**3}
    assert oracle.reference("sgemm") == ("sgemm", "cublas")


def test_peer_libraries_multiply():
    for library in peers.names():
        reason = peers.reason(library, "sgemm")
        assert reason is None or "not installed" in reason
        assert "sgemm with beta" in peers.reason(library, "sgemm", ["beta"])
    keywords = {"shapes": [(8, 8, 8)], "with_peers": ["torch"], "backend": "sim"}
    result = gm.bench("sgemm", ["naive"], **keywords, trans_a=True)
    assert (
        "sgemm with trans_a" in next(r for r in result.records if r["variant"] == "torch")["reason"]
    )


def test_accuracy_of_every_variant(backend):
    records = accuracy_module.accuracy(depths=[16, 256], side=20, backend=backend)
    measured = {(r["variant"], r["numbers"], r["k"]): r["error"] for r in records if "error" in r}
    names = [v.name for v in available(backend)]
    wanted = set(itertools.product(names, accuracy_module.KINDS, [16, 256]))
    assert set(measured) == wanted
    assert all(0 < error <= k / 2 + 2 for (_, _, k), error in measured.items())
    assert {r["variant"] for r in records if "reason" in r} == set(NAMES) - set(names)
    text = accuracy_module.table(records)
    for word in (*accuracy_module.KINDS, *NAMES, "256"):
        assert word in text


def test_accuracy_detects_tf32_rounding(monkeypatch):
    """TF32 has 10 mantissa bits instead of 23, so its errors are far larger."""

    def truncated(a, b, **_):
        a, b = ((x.to_host().view("u4") & np.uint32(0xFFFFE000)).view("f4") for x in (a, b))
        return gm.to_device(a @ b, backend="sim")

    def errors():
        records = accuracy_module.accuracy(["naive"], [64], 20, backend="sim")
        return [record["error"] for record in records]

    full_precision = errors()
    monkeypatch.setattr(accuracy_module, "sgemm", truncated)
    assert min(errors()) > 50 * max(full_precision)


def test_accuracy_on_the_command_line(capsys):
    common = ["verify", "sgemm", "--accuracy", "--backend", "sim"]
    chosen = ["--variant", "vec4", "--depths", "16:64:x2", "--side", "5"]
    assert cli.main([*common, *chosen, "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {(r["variant"], r["m"], r["n"]) for r in records} == {("vec4", 5, 5)}
    assert [r["k"] for r in records] == [16, 32, 64] * len(accuracy_module.KINDS)
    assert cli.main([*common, *chosen]) == 0
    assert "largest error" in capsys.readouterr().out
    assert cli.main(["traffic", "sgemm", "--shape", "8x8x8", "--set", "trans_a=true"]) == 0
    assert "trans_a True" in capsys.readouterr().out
    for wrong in (
        ["traffic", "sgemm", "--shape", "8x8x8", "--set", "trans_a=1"],
        ["verify", "copy", "--accuracy"],
        ["verify", "--accuracy"],
        ["verify", "sgemm", "--side", "5"],
        [*common, "--variant", "fast"],
        [*common, "--side", "0"],
        [*common, "--depths", "none"],
        [*common, "--depths", "0"],
    ):
        assert cli.main(wrong) == 2
        assert capsys.readouterr().err.startswith("gpumem: ")
