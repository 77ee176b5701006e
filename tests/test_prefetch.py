"""prefetch_sum: every variant, distance and padding against NumPy; traffic and refusals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem.families import oracle, table

LADDER = gm.variants("prefetch_sum")
DISTANCES = range(1, 17)
PADDED = [v for v in LADDER if v.name in ("smem_batch", "smem_rolling", "smem_rolling_async")]
FEW, MANY = (8, 256), (8000, 32)  # rows: half of the simulator's multiprocessors, and many
LENGTHS = [0, 1, 31, 33, 63, 64, 65, 127, 64 * 7, 64 * 16 - 1, 64 * 16, 64 * 17 + 1, 2000]
FEWER = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def terms(a, work):
    y = np.array(a, np.float64)
    with np.errstate(all="ignore"):
        for _ in range(work):
            y = np.exp(-y * y) + 0.25 * y
    return y


def check(got, a, work=2):
    """Within 1e-12 of the sum of the terms' magnitudes; NaN and infinities as in NumPy."""
    assert isinstance(got, np.ndarray) and got.dtype == np.float64 and got.shape == a.shape[:1]
    y = terms(a, work)
    with np.errstate(all="ignore"):
        wanted, tolerance = y.sum(axis=1), 1e-12 * abs(y).sum(axis=1)
        near = (abs(got - wanted) <= tolerance) | (got == wanted)
    assert (near | (np.isnan(got) & np.isnan(wanted))).all(), (got, wanted)


def poisoned(rows, backend):
    out = gm.DeviceArray((rows,), "f8", backend=backend)
    out.fill_bytes(0xA5)
    return out


def test_variants_in_order():
    assert [v.name for v in LADDER] == [
        "baseline",
        "unroll",
        "scalar_batch",
        "scalar_rolling",
        "smem_batch",
        "smem_rolling",
        "smem_rolling_async",
        "smem_rolling_async_interleaved",
        "l2",
        "bulk",
        "any",
    ]


# ---- every distance, length and padding -----------------------------------------------------


@pytest.mark.parametrize("sync", [False, True], ids=["free", "sync"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_distance_and_length(variant, sync, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        a = rng.standard_normal((3, n))
        there = gm.to_device(a, backend=backend)
        for distance in DISTANCES:
            out = poisoned(3, backend)
            keywords = {"distance": distance, "threads": 64, "sync": sync}
            assert variant(there, out=out, **keywords) is out
            check(out.to_host(), a)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("variant", PADDED, ids=str)
def test_every_padding(variant, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((2, 777))
    for padding in ["auto", 0, 1, 2, 3, 7, 15, 64]:
        for distance in (1, 6, 16):
            got = variant(a, distance=distance, padding=padding, threads=96, backend=backend)
            check(got, a)


@pytest.mark.parametrize("variant", LADDER, ids=str)
@pytest.mark.parametrize("threads", [32, 96, 128, 1024])
def test_every_block_size(variant, threads, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((2, 9000))
    check(variant(a, threads=threads, backend=backend), a)
    check(variant(a, threads=threads, distance=5, sync=True, backend=backend), a)


@pytest.mark.parametrize("variant", LADDER, ids=str)
@pytest.mark.parametrize("work", [0, 1, 2, 4, 9])
def test_every_amount_of_work(variant, work, backend, rng):
    here(variant, backend)
    a = 3 * rng.standard_normal((4, 500))
    check(variant(a, work=work, backend=backend), a, work)


@pytest.mark.parametrize("sync", [False, True], ids=["free", "sync"])
@pytest.mark.parametrize("work", [0, 1, 2])
def test_bulk_of_every_length(work, sync, backend, rng):
    """Up to 15 whole stages and a part of one; every other row begins beside a multiple of 16."""
    (bulk,) = (v for v in LADDER if v.name == "bulk")
    here(bulk, backend)
    a = rng.standard_normal((3, 2001))
    there = gm.to_device(a, backend=backend)
    for n in range(2001):
        begin, distance = n % 2, 1 + n % 5
        got = bulk(there[:, begin : begin + n], work=work, distance=distance, threads=64, sync=sync)
        check(got.to_host(), a[:, begin : begin + n], work)


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_nan_and_infinities_stay_in_their_rows(variant, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((5, 700))
    a[0, 3], a[1, 699], a[2, 128], a[3, 0] = np.nan, np.inf, -np.inf, 1e308
    a[2, 130] = np.inf  # inf - inf: the sum is NaN
    for work in (0, 2):
        got = variant(a, work=work, backend=backend)
        check(got, a, work)
        assert np.isnan(got[[0, 2]]).all() and np.isfinite(got[4])


@pytest.mark.parametrize("variant", LADDER, ids=str)
@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_any_number_of_rows(variant, rows, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((rows, 40))
    check(variant(a, threads=32, backend=backend), a)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_offsets_past_31_bits(variant):
    here(variant, "cuda")
    columns = 2**28 + 1  # 2 GiB per row, and the second row starts at an odd element
    a = gm.DeviceArray((2, columns), "f8", backend="cuda")
    a.fill_bytes(0)
    ends = gm.to_device(np.array([[1.0, 2.0], [3.0, 4.0]]), backend="cuda")
    for row in range(2):
        gm.copy(ends[row, :1], out=a[row, :1])
        gm.copy(ends[row, 1:], out=a[row, columns - 1 :])
    got = variant(a, work=0, threads=1024, distance=2).to_host()
    np.testing.assert_array_equal(got, [3.0, 7.0])


# ---- layouts --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_padded_rows_are_read_in_place(variant, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((9, 400))
    there = gm.to_device(a, backend=backend)
    for rows, columns in [(slice(None, None, 2), slice(3, 300)), (slice(1, 5), slice(1, 8))]:
        view = there[rows, columns]
        check(variant(view, threads=32).to_host(), a[rows, columns])


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_strided_columns_are_refused(variant, backend, rng):
    here(variant, backend)
    a = rng.standard_normal((6, 50))
    view = gm.to_device(a, backend=backend)[:, ::3]
    if variant.name == "any":
        check(variant(view).to_host(), a[:, ::3])
    else:
        with pytest.raises(ValueError, match=f"{variant.name} needs a with contiguous rows"):
            variant(view)


def test_auto_accepts_every_layout(backend, rng):
    a = rng.standard_normal((8, 60))
    there = gm.to_device(a, backend=backend)
    check(gm.prefetch_sum(there.T).to_host(), a.T)
    check(gm.prefetch_sum(there[::-1, ::-2]).to_host(), a[::-1, ::-2])
    raw = gm.to_device(np.frombuffer(b"abc" + a.tobytes(), "u1"), backend=backend)
    odd = raw[3:].view("f8").reshape(8, 60)
    check(gm.prefetch_sum(odd).to_host(), a)
    check(gm.prefetch_sum(odd[:, 1::2], sync=True).to_host(), a[:, 1::2])


def chosen(a, **keywords):
    """Return the name of the variant that "auto" takes."""
    out = gm.DeviceArray(a.shape[:1], "f8", backend="sim")
    values = table.parameters("prefetch_sum", keywords)
    return gm._core.prepare("prefetch_sum", "auto", (a,), out, None, values).variant


def test_auto_selects_by_the_number_of_warps():
    """24 on each of the simulator's 16 multiprocessors are many, in blocks of any width."""
    assert chosen(gm.to_device(np.zeros(FEW), backend="sim")) == "smem_rolling_async"
    assert chosen(gm.to_device(np.zeros(MANY), backend="sim")) == "scalar_batch"
    for threads in (32, 128, 384):
        enough = 24 * 32 // threads * 16
        for rows, name in [(enough - 1, "smem_rolling_async"), (enough, "scalar_batch")]:
            a = gm.DeviceArray((rows, 32), "f8", backend="sim")
            assert chosen(a, threads=threads) == name


@pytest.mark.parametrize("sync", [False, True], ids=["free", "sync"])
@pytest.mark.parametrize(
    ("work", "padding", "near"),
    [
        *((0, "auto", 11), (1, "auto", 2), (2, "auto", 1), (3, "auto", 1), (99, "auto", 1)),
        *((0, 0, 11), (1, 0, 3), (2, 0, 3), (3, 0, 16), (99, 0, 16)),
    ],
)
def test_auto_takes_bulk_at_short_distances(work, padding, near, sync):
    """With few warps: the less work, the longer the distance, where the ring has padding."""
    few, many = (gm.to_device(np.zeros(shape), backend="sim") for shape in (FEW, MANY))
    rolling = "smem_rolling_async" + ("" if padding == "auto" else "_interleaved")
    for distance in DISTANCES:
        keywords = {"work": work, "distance": distance, "padding": padding, "sync": sync}
        assert chosen(few, **keywords) == ("bulk" if distance <= near else rolling)
        waits = work >= 2 and distance <= 4
        assert chosen(many, **keywords) == (rolling if waits else "scalar_batch")


@pytest.mark.parametrize(
    ("work", "padding", "warps"),
    [(0, "auto", 16), (0, 0, 16), (1, "auto", 32), (1, 0, 32), (2, 0, 16), (5, "auto", 8)],
)
def test_auto_takes_bulk_up_to_so_many_requests_in_flight(work, padding, warps):
    distance = {0: 6, 1: 2, 2: 2, 5: 1}[work]
    for more in (0, 4):
        a = gm.DeviceArray(((warps + more) // 4 * 16, 64), "f8", backend="sim")
        name = chosen(a, work=work, distance=distance, padding=padding)
        assert (name == "bulk") == (more == 0), name


def test_auto_selects_bulk_for_layouts_that_it_takes():
    """It needs contiguous rows, at any multiple of 8 bytes."""
    there = gm.to_device(np.zeros((8, 256)), backend="sim")
    assert chosen(there[:, 1:], distance=2, work=1) == "bulk"
    assert chosen(there[::-2, 3:200], distance=2, work=1) == "bulk"
    assert chosen(there[:, ::2], distance=2) == "any"
    odd = gm.to_device(np.zeros(8 * 80 + 1, "u1"), backend="sim")[1:].view("f8").reshape(8, 10)
    assert chosen(odd, distance=2) == "any"
    apart = gm.to_device(np.zeros((8, 84), "u1"), backend="sim")[:, :80].view("f8")
    assert chosen(apart, distance=2) == "any"


@FEWER
@given(data=st.data())
def test_random_calls_equal_numpy(data):
    rows, n = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 700))
    seed = data.draw(st.integers(0, 2**32 - 1))
    a = np.random.default_rng(seed).standard_normal((rows, n))
    variant = data.draw(st.sampled_from(LADDER))
    keywords = {
        "work": data.draw(st.integers(0, 3)),
        "distance": data.draw(st.sampled_from(DISTANCES)),
        "padding": data.draw(st.sampled_from(["auto", 0, 1, 5])),
        "threads": data.draw(st.sampled_from([32, 64, 160])),
        "sync": data.draw(st.booleans()),
    }
    check(variant(a, backend="sim", **keywords), a, keywords["work"])


# ---- simulated traffic ------------------------------------------------------------------------


def conflict_ways(distance, padding):
    """Bank conflicts of doubles at a pitch: its largest power-of-two divisor, at most 16."""
    pitch = distance + padding
    return min(16, pitch & -pitch)


@pytest.mark.parametrize("distance", DISTANCES)
def test_bank_conflicts_by_distance(distance):
    def ways(variant, padding):
        report = gm.traffic(
            "prefetch_sum", variant=variant, shape=(1, 4096), distance=distance, padding=padding
        )
        return report.shared.bank_ways

    for variant in PADDED:
        assert ways(variant, 0) == conflict_ways(distance, 0)
        assert ways(variant, "auto") == 1
    for padding in ("auto", 0):
        assert ways("smem_rolling_async_interleaved", padding) == 1
        assert ways("bulk", padding) == 1


@pytest.mark.parametrize("variant", [v for v in LADDER if v.reason_on("sim") is None], ids=str)
def test_no_races_and_no_unmatched_waits_in_tails(variant):
    for n in (0, 1, 63, 64, 65, 64 * 5 + 3, 64 * 16 + 63):
        a = np.ones((2, n))
        for distance in DISTANCES:
            for sync in (False, True):
                report = gm.traffic(
                    "prefetch_sum",
                    a,
                    variant=variant,
                    distance=distance,
                    threads=64,
                    sync=sync,
                )
                assert report.loads.requests >= 2 * -(-n // 128) * (n > 0) or variant.name == "bulk"


def ring_stages(rows, threads, distance):
    """Return how many stages the ring of a warp of bulk has, by the call's shared memory."""
    keywords = {"distance": distance, "threads": threads}
    traffic = gm.traffic("prefetch_sum", np.ones((rows, 32)), variant="bulk", **keywords)
    (kernel,) = traffic.kernels
    warps = threads // 32
    stages, rest = divmod(kernel["shared_bytes"], warps * (4 * 32 * 8 + 8))
    assert rest == warps * 8  # their sums
    return stages


@pytest.mark.parametrize("threads", [32, 128, 1024])
def test_bulk_requests_at_most_64_kib_per_multiprocessor(threads):
    """Or two stages of 1 KiB for each warp; 16 multiprocessors have 64 warps each, at most."""
    for rows in (1, 17, 100):
        warps = min(-(-rows // 16), 2048 // threads) * threads // 32
        most = max(64 // warps, 2)
        for distance in (1, 3, 16):
            assert ring_stages(rows, threads, distance) == min(distance, most)


def test_sync_adds_one_barrier_per_whole_step():
    def barriers(variant, sync):
        shape = (3, 128 * 10 + 5)
        return gm.traffic("prefetch_sum", variant=variant, shape=shape, sync=sync).barriers

    for variant in LADDER:
        per_row = {"bulk": 8}.get(variant.name, 10)  # two whole stages of four steps
        assert barriers(variant, True) - barriers(variant, False) == 3 * per_row


def test_l2_prefetches_stay_within_bounds():
    for n in (1, 127, 128, 129, 1000):
        gm.traffic("prefetch_sum", variant="l2", shape=(1, n), distance=16)


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"work": -1}, ValueError, r"work is -1, expected 0 to 10000"),
        ({"work": 1.0}, TypeError, r"work must be an integer, not float"),
        ({"distance": 0}, ValueError, r"distance is 0, expected 1 to 16"),
        ({"distance": 17}, ValueError, r"distance is 17, expected 1 to 16"),
        ({"distance": True}, TypeError, r"distance must be an integer, not bool"),
        ({"padding": -1}, ValueError, r"padding is -1, expected 0 to 64"),
        ({"padding": 65}, ValueError, r"padding is 65, expected 0 to 64"),
        ({"padding": "some"}, ValueError, r"padding is 'some', expected \"auto\" or an integer"),
        ({"padding": None}, TypeError, r"padding must be \"auto\" or an integer, not NoneType"),
        ({"threads": 31}, ValueError, r"threads is 31, expected 32 to 1024"),
        ({"threads": 33}, ValueError, r"threads is 33, expected a multiple of 32"),
        ({"threads": 2**70}, ValueError, r"threads is \d+, expected 32 to 1024"),
        ({"sync": 1}, TypeError, r"sync must be True or False, not 1"),
        ({"distances": 3}, TypeError, r"distances"),
    ],
)
def test_bad_keywords_are_named(keywords, error, message):
    for call in (gm.prefetch_sum, *LADDER[:2]):
        with pytest.raises(error, match=message):
            call(np.ones((2, 3)), backend="sim", **keywords)


@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", "f2", "S8"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"a has dtype .*accepted is float64"):
        gm.prefetch_sum(np.zeros((2, 3), dtype), backend="sim")


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_other_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match=f"a has {len(shape)} dimensions?, expected 2"):
        gm.prefetch_sum(np.zeros(shape), backend="sim")


@pytest.mark.parametrize("variant", PADDED, ids=str)
def test_too_much_shared_memory_is_refused(variant, backend):
    here(variant, backend)
    words = (
        rf"{variant.name} with distance 16, padding 64 and threads 1024 needs 655872 bytes of "
        r"shared memory per block, the device has \d+"
    )
    out = poisoned(2, backend)
    before = out.to_host().tobytes()
    a = gm.to_device(np.ones((2, 3)), backend=backend)
    with pytest.raises(ValueError, match=words):
        variant(a, distance=16, padding=64, threads=1024, out=out)
    assert out.to_host().tobytes() == before


def test_auto_selects_a_variant_that_fits_shared_memory(backend, rng):
    a = rng.standard_normal((2, 3000))
    keywords = {"distance": 16, "threads": 1024, "backend": backend}
    check(gm.prefetch_sum(a, padding=64, **keywords), a)
    check(gm.prefetch_sum(a, **keywords), a)


def test_out_must_fit(backend):
    a = np.ones((4, 5))
    for out, error in [
        (np.empty(5), ValueError),
        (np.empty(4, "f4"), TypeError),
        (np.empty((4, 1)), ValueError),
        (a[:, 0], ValueError),
    ]:
        with pytest.raises(error, match="out"):
            gm.prefetch_sum(a, out=out, backend=backend)


# ---- the oracle -------------------------------------------------------------------------------


def test_the_oracle_finds_a_lost_element(rng):
    (a,) = oracle.arguments("prefetch_sum", (4, 5000), seed=7)
    finite = a[np.isfinite(a).all(axis=1)]
    good = oracle.expected("prefetch_sum", finite)
    oracle.check("prefetch_sum", good, finite)
    with pytest.raises(AssertionError):
        oracle.check("prefetch_sum", oracle.expected("prefetch_sum", finite[:, 1:]), finite)


def test_kernel_attributes(backend):
    for variant in LADDER:
        attributes = variant.attributes(backend)
        assert 16 <= attributes["registers"] <= 64 and attributes["local_bytes"] == 0
        assert attributes["blocks"] >= 1
        assert backend == "sim" or attributes["max_threads"] == 1024
