"""Benchmarks of kernels: on the simulator, against a made-up clock, and on a real GPU."""

import pytest
from bench_cases import KEYS, by_variant, make_device
from made_up import GBPS, L2, OVERHEAD_MS, MadeUpDevice

import gpumem as gm
from gpumem.base.record import NO_TIMES
from gpumem.base.sizes import parse_sizes
from gpumem.families import peers
from gpumem.measure import spot_check, stopwatch

device = pytest.fixture(make_device)
COPY = [v.name for v in gm.variants("copy")]


# ---- on the simulator ---------------------------------------------------------------


def test_the_simulator_knows_no_times():
    result = gm.bench("copy", sizes="4K,64K", backend="sim")
    assert [r["variant"] for r in result.records] == [*COPY, "auto"] * 2
    for record in result.records:
        assert set(record) == KEYS
        assert record["backend"] == "sim" and record["reason"]
        assert record["dtype"] == "float32" and record["cache"] == "cold"
        assert record["order"] == "stream"
        assert record["bytes"] == 2 * 4 * record["shape"][0] and record["flops"] is None
        for key in ("median_ms", "min_ms", "p20_ms", "p80_ms", "samples", "gbps", "tflops"):
            assert record[key] is None
        assert record["fraction_of_peak"] is record["fraction_of_reference"] is None
    assert result.records[0]["reason"] == NO_TIMES
    assert "No times" in str(result)


def test_the_reference_is_always_measured_beside():
    result = gm.bench("copy", ["vec4", gm.variants("copy")[0]], sizes=4096, backend="sim")
    assert [r["variant"] for r in result.records] == ["vec4", "scalar", "memcpy"]
    result = gm.bench("copy", "auto", sizes=4096, cache="both", backend="sim")
    assert [(r["variant"], r["cache"]) for r in result.records] == [
        ("auto", "cold"),
        ("memcpy", "cold"),
        ("auto", "warm"),
        ("memcpy", "warm"),
    ]


def test_both_orders_are_measured_size_by_size():
    result = gm.bench("copy", "auto", sizes="4K,8K", order="both", backend="sim")
    assert [(r["shape"][0], r["order"], r["variant"]) for r in result.records] == [
        (n, order, name)
        for n in (1024, 2048)
        for order in ("stream", "single")
        for name in ("auto", "memcpy")
    ]
    result = gm.bench("copy", "auto", sizes="4K", order=["single"], backend="sim")
    assert {r["order"] for r in result.records} == {"single"}
    assert {r["reason"] for r in result.records} == {NO_TIMES}


def test_progress_is_reported():
    steps = []
    gm.bench("copy", sizes="4K:16K:x2", backend="sim", progress=lambda *step: steps.append(step))
    assert [step[:2] for step in steps] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert "copy 8 KiB cold" in steps[1][2]
    gm.bench("copy", sizes=4096, order="single", backend="sim", progress=lambda *s: steps.append(s))
    assert steps[4][2] == "copy 4 KiB cold, single calls"


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "words"),
    [
        (("nope",), {}, ValueError, "nope.*copy"),
        (("copy", ["vec3"]), {}, ValueError, "vec3.*scalar"),
        (("copy", []), {}, ValueError, "variants"),
        (("copy",), {"sizes": "4Q"}, ValueError, "4Q"),
        (("copy",), {"sizes": 3}, ValueError, "sizes: 3 bytes.*float32"),
        (("copy",), {"shapes": [1024]}, TypeError, "sizes or shapes, not both"),
        (("copy",), {"cache": "hot"}, ValueError, "cache.*hot"),
        (("copy",), {"cache": []}, ValueError, "cache"),
        (("copy",), {"order": "alone"}, ValueError, "order must be 'stream', 'single' or 'both'"),
        (("copy",), {"order": []}, ValueError, "order"),
        (("transfer",), {"order": "single"}, ValueError, "order is 'single'.*nothing to a transf"),
        (("copy",), {"samples": (5, 4)}, ValueError, "samples"),
        (("copy",), {"max_block": 4}, TypeError, "max_block'.*max_blocks"),
        (("copy",), {"max_blocks": 0}, ValueError, "max_blocks"),
        (("copy",), {"dtype": "O"}, TypeError, "object"),
        (("copy",), {"backend": "quantum"}, ValueError, "quantum"),
    ],
)
def test_refusals(arguments, keywords, error, words):
    with pytest.raises(error, match=words):
        gm.bench(*arguments, **{"sizes": 4096, "backend": "sim"} | keywords)


# ---- the device path, on simulated memory with a made-up clock ----------------------


def test_records_of_a_device(device):
    result = device.bench("copy", ["scalar", "auto"], sizes="1M")
    records = by_variant(result)
    assert set(records) == {"scalar", "auto", "memcpy"}
    for name, r in records.items():
        assert set(r) == KEYS and r["reason"] is None and r["backend"] == "cuda"
        assert r["samples"] >= 7
        assert r["min_ms"] <= r["p20_ms"] <= r["median_ms"] <= r["p80_ms"]
        assert r["bytes"] == 2**21 and r["shape"] == [2**18]
        assert r["median_ms"] == pytest.approx(OVERHEAD_MS + 2**21 / GBPS[name] / 1e6, rel=0.01)
        assert r["gbps"] == pytest.approx(2**21 / r["median_ms"] / 1e6, rel=1e-5)
        assert r["fraction_of_peak"] == pytest.approx(r["gbps"] / 4000, rel=1e-5)
        assert r["fraction_of_reference"] == pytest.approx(
            r["gbps"] / records["memcpy"]["gbps"], rel=1e-5
        )
    assert records["memcpy"]["fraction_of_reference"] == 1
    assert records["scalar"]["ran"] == "scalar" and records["auto"]["ran"] in COPY
    assert result.provenance["device"]["name"] == "made-up device"
    assert result.provenance["device"]["bandwidth_gbps"] == 4000


def samples_of(device, name):
    """What one variant launched between two events, sample by sample."""
    samples, inside = [], None
    for what in device.events:
        if what == ("event",):
            if inside:
                samples.append(inside)
            inside = [] if inside is None else None
        elif inside is not None and what[0] == "launch":
            inside.append(what)
    return [s for s in samples if s[0][1] == name]


@pytest.mark.parametrize("sizes", ["4K", "64K", "1M", "16M"])
def test_cold_buffers_are_not_in_the_cache(device, sizes):
    device.bench("copy", ["scalar"], sizes=sizes)
    nbytes = 2 * parse_sizes(sizes)[0]
    samples = samples_of(device, "scalar")
    assert len(samples) >= 7
    for sample in samples:
        assert len(sample) <= 256
        again = {}
        for i, (_, _, pointer) in enumerate(sample):
            if pointer in again:  # what was moved since is more than four times the cache
                assert (i - again[pointer]) * nbytes > 4 * L2
            again[pointer] = i
    flushes = [what for what in device.events if what[0] == "fill" and what[1] >= 4 * L2]
    assert len(flushes) >= len(samples)


@pytest.mark.parametrize("sizes", ["1M", "16M", "64M"])
def test_a_sample_is_long_enough_and_a_row(device, sizes):
    device.bench("copy", ["scalar"], sizes=sizes)
    each = OVERHEAD_MS + 2 * parse_sizes(sizes)[0] / 1e9
    for sample in samples_of(device, "scalar")[-7:]:
        assert len(sample) == pytest.approx(max(stopwatch.SAMPLE_MS / each, 4), rel=0.02, abs=1)


def gaps_of(device, monkeypatch, sizes):
    """Return the bytes that were left free in front of arrays, in a run of its own."""
    found, make = [], device.array

    def array(shape, dtype, place=None):
        if dtype == "u1" and shape[0] % 2**21 == 1:
            found.append(shape[0])
        return make(shape, dtype, place)

    with monkeypatch.context() as patch:
        patch.setattr(device, "array", array)
        device.bench("copy", ["scalar"], sizes=sizes, samples=(3, 3))
    return found


def test_large_buffers_lie_elsewhere_each_time(device, monkeypatch):
    """Where they lie makes some kernels slower, which should not look like the kernel's speed."""
    runs = [gaps_of(device, monkeypatch, "64M") for _ in range(2)]
    assert len(runs[0]) == len(runs[1]) >= 4  # of inputs and outputs
    assert runs[0] != runs[1]
    assert max(map(max, runs)) <= 2**27
    assert not gaps_of(device, monkeypatch, "4K")


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_long_kernel_is_launched_once_per_sample(device, monkeypatch, cache):
    monkeypatch.setitem(GBPS, "scalar", 0.02)  # 100 ms for 2 MiB
    device.bench("copy", ["scalar"], sizes="1M", cache=cache, samples=(3, 3))
    samples = samples_of(device, "scalar")
    assert len(samples) == 4  # and one to find out how long it is
    assert all(len(sample) == 1 for sample in samples)


def test_warm_buffers_are_the_same_ones(device):
    device.bench("copy", ["scalar"], sizes="64K", cache="warm")
    samples = samples_of(device, "scalar")
    assert len({pointer for sample in samples for _, _, pointer in sample}) == 1
    # A launch without the clock comes between the flush and the first event.
    start = device.events.index(("event",), 10)
    assert device.events[start - 1][0] == "launch"


def single_samples(device):
    """Return what was done for each time in a single call's samples, which end with an event.

    The hold is known by its target, the one that is written before the first event.
    """
    kinds = [("hold",) if w[0] == "launch" and w[2] == device.held else w for w in device.events]
    found = [[]]
    for what in kinds:
        found[-1].append(what)
        if what == ("event",) and found[-1].count(what) == 2:
            found.append([])
    assert found.pop() == []
    return [one for one in found if sum(w[0] == "launch" for w in one)]


@pytest.fixture
def single(monkeypatch):
    """A device that knows the array to which its hold copies."""
    device = MadeUpDevice()
    make = stopwatch.Hold.__init__

    def init(self, given):
        make(self, given)
        device.held = self._copy.to.pointer
        device.events.clear()  # how long a copy takes

    monkeypatch.setattr(stopwatch.Hold, "__init__", init)
    return device


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize("sizes", ["4K", "1M", "16M"])
def test_a_single_call_is_behind_a_flush_and_a_hold(single, sizes, cache):
    """In this order: flush, what sets the state of the L2, hold, event, one call, event."""
    single.bench("copy", ["scalar", "auto"], sizes=sizes, cache=cache, order="single")
    samples = single_samples(single)
    assert {one[-2][1] for one in samples} == {"scalar", "auto", "memcpy"}
    # As many sets as it takes to fill the L2; few small ones are left as they are.
    lead_in = {("4K", "cold"): 0, ("1M", "cold"): 1, ("16M", "cold"): 1}.get((sizes, cache), 2)
    for one in samples:
        kinds = [what[0] for what in one]
        holds = kinds.count("hold")
        assert 1 <= holds <= 64
        launches = ["launch"] * lead_in
        assert kinds == ["fill", *launches, *["hold"] * holds, "event", "launch", "event"]
        assert one[0][1] >= 4 * L2
        *before, timed = (what for what in one if what[0] == "launch")
        assert {what[1] for what in before} <= {timed[1]}
        assert {what[2] == timed[2] for what in before} <= {cache == "warm"}
    assert len({one[-2][2] for one in samples}) == 1  # all contenders write the same array


def test_a_single_call_has_the_time_of_one(single):
    result = single.bench("copy", ["scalar"], sizes="64K", order="single")
    for r in result.records:
        wanted = OVERHEAD_MS + 2**17 / GBPS[r["variant"]] / 1e6
        assert r["median_ms"] == pytest.approx(wanted, rel=0.01) and r["order"] == "single"
        assert 11 <= r["samples"] <= 50
    assert result.records[1]["fraction_of_reference"] == 1


def test_a_late_host_makes_the_hold_longer(single, monkeypatch):
    """What is queued after the end of the hold is timed once more, behind a longer one."""
    host_s = [0.0]

    def perf_counter():
        host_s[0] += 1e-5  # the host takes 0.01 ms between two looks
        return host_s[0]

    monkeypatch.setattr(stopwatch.time, "perf_counter", perf_counter)
    result = single.bench("copy", ["scalar"], sizes="64K", order="single", samples=(3, 3), budget=0)
    assert all(r["samples"] == 3 for r in result.records)
    holds = [sum(w == ("hold",) for w in one) for one in single_samples(single)]
    # A copy of the hold takes 0.0021 ms: eight of them are 1.5 times 0.01 ms and more.
    assert holds == [1, 2, 4, *[8] * 6]


def test_a_host_that_is_always_late_is_given_up_on(single, monkeypatch):
    """As where a user's function waits for the device."""
    host_s = [0.0]

    def perf_counter():
        host_s[0] += 1.0
        return host_s[0]

    monkeypatch.setattr(stopwatch.time, "perf_counter", perf_counter)
    single.bench("copy", ["scalar"], sizes="64K", order="single", samples=(2, 2))
    holds = [sum(w == ("hold",) for w in one) for one in single_samples(single)]
    assert holds == [1, 2, 4, 8, 16, 32, *[64] * 4]


@pytest.mark.parametrize("fault", ["idle", "damaging"])
def test_a_wrong_variant_has_no_time(device, fault):
    setattr(device, fault, "scalar")
    records = by_variant(device.bench("copy", ["vec2", "scalar"], sizes="64K"))
    assert "wrong result" in records["scalar"]["reason"]
    assert records["scalar"]["median_ms"] is None
    assert records["vec2"]["gbps"] > 0


@pytest.mark.parametrize("fault", ["idle", "damaging"])
def test_a_wrong_variant_is_found_beyond_what_is_compared_whole(device, monkeypatch, fault):
    monkeypatch.setattr(spot_check, "WHOLE", 2**20)
    monkeypatch.setattr(spot_check, "SLICE", 2**12)
    setattr(device, fault, "scalar")
    records = by_variant(device.bench("copy", ["vec2", "scalar"], sizes="2M"))
    assert "wrong result" in records["scalar"]["reason"]
    assert records["vec2"]["gbps"] > 0


def test_what_is_not_available_says_why(device, monkeypatch):
    monkeypatch.setattr(device, "available", lambda *_: "it is not here")
    result = device.bench("copy", ["scalar", "auto"], sizes="64K,1M")
    assert [r["reason"] for r in result.records if r["variant"] == "scalar"] == [
        "it is not here"
    ] * 2
    assert "copy-scalar: it is not here" in str(result)


def test_what_does_not_fit_says_so(device):
    device.free = 2**20
    result = device.bench("copy", ["scalar"], sizes="64K,64M")
    small, large = (r for r in result.records if r["variant"] == "scalar")
    assert "device memory" in large["reason"] and "128 MiB" in large["reason"]
    assert large["gbps"] is None and large["bytes"] == 2**27
    assert small["shape"] == [2**14]


def test_nothing_to_move_takes_the_time_of_a_launch(device):
    records = by_variant(device.bench("copy", ["scalar"], shapes=[0]))
    assert records["scalar"]["reason"] is None and records["scalar"]["gbps"] == 0
    assert records["scalar"]["median_ms"] == pytest.approx(OVERHEAD_MS)


def test_the_table_says_in_which_order(device):
    single = str(device.bench("copy", ["scalar"], sizes="4K", order="single"))
    assert "copy, cold L2, single calls, GB/s" in single
    both = device.bench("copy", ["scalar", "auto"], sizes="4K,8K", order="both")
    lines = str(both).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("copy, cold L2, GB/s"))
    head, *rows = (line.split() for line in lines[start + 1 : start + 6])
    assert head == ["size", "order", "scalar", "auto", "memcpy", "ratio"]
    assert [row[2] for row in rows] == ["stream", "single"] * 2
    rates = {(r["bytes"], r["order"], r["variant"]): r["gbps"] for r in both.records}
    for row, size, order in zip(rows, (4, 4, 8, 8), ("stream", "single") * 2, strict=True):
        for name, cell in zip(("scalar", "auto", "memcpy"), row[3:6], strict=True):
            assert float(cell) == pytest.approx(rates[2048 * size, order, name], rel=1e-3)


def test_the_table_of_a_device(device):
    text = str(device.bench("copy", sizes="4K:1M:x4", cache="both"))
    assert max(map(len, text.splitlines())) <= 100
    assert "copy, cold L2, GB/s" in text and "copy, warm L2, GB/s" in text
    cold = text[text.index("cold L2") : text.index("warm L2")].splitlines()
    cells = {}
    for line in cold:  # in blocks, if there are many variants
        if line.startswith("size "):
            names = line.split()[1:]
        elif line.startswith("1 MiB "):
            cells |= zip(names, line.split()[2:], strict=True)
    runnable = [v.name for v in gm.variants("copy") if v.reason_on("sim") is None]
    assert list(cells) == [*runnable, "auto", "ratio"]
    assert float(cells["ratio"]) == pytest.approx(1.02, abs=0.02)


# ---- a real device ------------------------------------------------------------------


@pytest.mark.gpu
def test_a_gpu_is_timed():
    result = gm.bench("copy", sizes="4K,1M,64M", cache="both", backend="cuda")
    for r in result.records:
        if r["reason"] is None:
            assert 0 < r["min_ms"] <= r["median_ms"] and r["samples"] >= 7
            assert r["cache"] == "warm" or r["fraction_of_peak"] < 1
            assert 0 < r["fraction_of_reference"]
    timed = {r["variant"] for r in result.records if r["reason"] is None}
    assert {"scalar", "vec4", "memcpy", "auto"} <= timed
    assert not any("wrong" in (r["reason"] or "") for r in result.records)


@pytest.mark.gpu
def test_single_calls_are_timed_on_a_gpu():
    result = gm.bench("copy", ["auto"], sizes="64K,64M", cache="both", order="both", backend="cuda")
    assert len(result.records) == 16
    for r in result.records:
        assert r["reason"] is None and r["samples"] >= 11 and 0 < r["min_ms"] <= r["median_ms"]
        assert r["cache"] == "warm" or r["fraction_of_peak"] < 1


@pytest.mark.gpu
def test_peers_on_a_gpu():
    """Each library that is installed does the job on our buffers, and right."""
    for family, shape in [
        ("copy", (4096,)),
        ("transpose", (256, 384)),
        ("sgemm", (64, 96, 80)),
        ("scatter_add", (99, 4096)),
    ]:
        result = gm.bench(family, ["auto"], shapes=[shape], with_peers=peers.names())
        for r in result.records:
            reason = peers.reason(r["variant"], family) if r["variant"] in peers.names() else None
            assert r["reason"] == reason
