"""Explanations: every variant has one, and it follows from counts and measurements."""

import functools
import json
import re

import numpy as np
import pytest

import gpumem as gm
from gpumem import cli
from gpumem.base.record import FIELDS
from gpumem.base.result import BenchResult
from gpumem.families import oracle
from gpumem.report.explanation import _explanation, _figures
from gpumem.results import of_tools

DEVICE = {"name": "a device", "bandwidth_gbps": 4000.0}
ODD = re.compile(r"\b(nan|None|inf|\d+e[+-]?\d\d)\b|\(\)|\{|\}|\.\.|:\.", re.ASCII)


def record(family, variant, gbps, **more):
    one = dict.fromkeys(FIELDS) | {
        "family": family,
        "variant": variant,
        "shape": [8192, 8192],
        "dtype": "float32",
        "cache": "cold",
        "order": "stream",
        "parameters": {},
        "bytes": 2**29,
        "gbps": gbps,
        "median_ms": 2**29 / gbps / 1e6,
        "fraction_of_peak": gbps / 4000,
        "fraction_of_reference": gbps / 3600,
    }
    return one | more


def result(*records):
    told = {"device": DEVICE, "date": "2030-01-02T03:04", "commit": "0123456789abcdef"}
    return BenchResult(list(records), told)


@pytest.fixture(autouse=True, scope="module")
def simulated_once():
    """Cache counts and shipped results: variants that follow one, and tests, need them again."""
    real = _figures.traffic

    @functools.cache
    def counted(family, name, arguments, keywords):
        arrays = [np.frombuffer(raw, dtype).reshape(shape) for raw, dtype, shape in arguments]
        return real(family, *arrays, variant=name, **dict(keywords))

    def traffic(family, *arrays, variant, **keywords):
        if not all(type(a) is np.ndarray for a in arrays):
            return real(family, *arrays, variant=variant, **keywords)
        arguments = tuple((a.tobytes(), a.dtype, a.shape) for a in arrays)
        return counted(family, variant, arguments, tuple(keywords.items()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_figures, "traffic", traffic)
        load = functools.cache(gm.results.load)  # nobody changes what is shipped
        patch.setattr(type(gm.results), "load", lambda self, name: load(name))
        yield


@pytest.mark.parametrize("variant", gm.variants(), ids=str)
def test_every_variant_is_explained(variant, monkeypatch):
    """The words do not need large shapes."""
    usual = oracle.traffic_shape

    def small(*of):
        shape = usual(*of)
        return tuple(min(n, 2**12 >> 3 * (len(shape) - 1)) for n in shape)

    monkeypatch.setattr(oracle, "traffic_shape", small)
    found = gm.explain(variant.family, variant)
    for text in (str(found), found.paragraph, found._repr_markdown_()):
        assert str(variant) in text and variant.doc in " ".join(text.split())
        assert not ODD.search(text), text
    assert "  " not in found.paragraph
    assert max(map(len, str(found).splitlines())) <= 100
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["paragraph"] == found.paragraph
    timed = gm.results.for_family(variant.family).filter(
        family=variant.family, variant=list(variant.names), median_ms=lambda ms: ms is not None
    )
    assert (found.record is None) == (not timed.records)
    if found.record is None:
        assert "gpumem ships no time for it" in found.paragraph and found.origin is None
    else:
        assert found.origin in found.paragraph and "measured earlier" in found.paragraph
        assert found.origin.startswith("NVIDIA H200, 20") and "commit" in found.origin
    if variant.reason_on("sim"):
        assert found.traffic is None and variant.reason_on("sim") in found.paragraph
    else:
        assert found.traffic.variant in variant.names  # or an instance of it


def paragraph(family, variant, *records, **options):
    return gm.explain(family, variant, results=result(*records), **options).paragraph


def test_the_words_follow_from_the_counts():
    tile = paragraph("transpose", "tile")
    assert (
        "A warp's load or store of 32 bits per thread touches 4 sectors of 32 bytes and uses every"
        in tile
    )
    assert "has bank conflicts: 32 passes through the banks instead of one" in tile
    assert "moves 0.222 times as many bytes of global memory" in tile  # 4 + 4 for 32 + 4
    assert "Next on the ladder: tile_padded (one spare column" in tile
    assert "no bank conflicts" in paragraph("transpose", "tile_swizzled")
    assert "has 1 bank way instead of 32" in paragraph("transpose", "tile_padded")
    naive = paragraph("transpose", "naive_row")
    assert "32 sectors of 32 bytes where 4 would do: 12.5 % of the bytes moved are used" in naive
    vec4 = paragraph("copy", "vec4")
    assert "of 128 bits per thread" in vec4 and "accesses of 128 bits instead of 64" in vec4
    assert "executes 0.5 times as many memory instructions" in vec4
    assert "Its traffic is that of vec4, which it follows." in paragraph("copy", "struct16")
    assert "by a copy engine, up to 4 KiB at once" in paragraph("copy", "bulk")
    assert "are broadcasts" in paragraph("polynomial", "constant")
    divergent = paragraph("polynomial", "constant_divergent")
    assert "reads 32 addresses of constant memory at once instead of 1" in divergent
    assert "1 sector of 32 bytes, the fewest possible" in paragraph("static_value", "symbol")
    assert "moves 0.333 times as many bytes" in paragraph("sgemm", "smem", shape=(128, 128, 128))


def test_the_words_follow_from_the_figures():
    below = record("transpose", "naive_col", 1000.0)
    slow = paragraph("transpose", "tile", record("transpose", "tile", 2000.0), below)
    assert "On a device, 2030-01-02, commit 0123456789, measured earlier, it reached 2000" in slow
    assert "50 % of the memory bandwidth and 55.6 % of what copy-memcpy reached" in slow
    assert "That is 2 times as fast as naive_col." in slow
    assert "The likely limit is bank conflicts in shared memory." in slow
    fast = paragraph("transpose", "tile", record("transpose", "tile", 3500.0))
    assert "Little is left to gain" in fast
    assert "likely limit" not in fast and "as fast as" not in fast
    naive = paragraph("transpose", "naive_row", record("transpose", "naive_row", 500.0))
    assert "the number of sectors (4.5 times the bytes asked for" in naive
    padded = paragraph("transpose", "tile_padded", record("transpose", "tile_padded", 500.0))
    assert "Neither sectors nor banks explain" in padded
    assert "explains part" not in naive
    slower = paragraph("transpose", "naive_row", record("transpose", "naive_row", 400.0))
    assert "4.5 times the bytes asked for, unless a cache holds them, which explains part" in slower
    alike = paragraph("transpose", "tile", record("transpose", "tile", 1010.0), below)
    assert "That is as fast as naive_col." in alike
    behind = paragraph("transpose", "tile", record("transpose", "tile", 500.0), below)
    assert "naive_col, which it follows, is 2 times as fast." in behind
    near = record("transpose", "tile", 2000.0, fraction_of_reference=0.95)
    assert "Little is left to gain: the driver's own copy" in paragraph("transpose", "tile", near)
    flops = {"tflops": 6.0, "flops": 10**9, "fraction_of_peak": 0.1}
    bound = paragraph("polynomial", "global", record("polynomial", "global", 3900.0, **flops))
    assert "6 TFLOP/s, 10 % of the FP32 peak, 97.5 % of the memory bandwidth" in bound
    assert "Little is left to gain" in bound


def product(variant, tflops, n=8192, **more):
    flops, nbytes = 2 * n**3, 12 * n * n
    ms = flops / tflops / 1e9
    told = {"shape": [n, n, n], "bytes": nbytes, "flops": flops, "tflops": tflops}
    told |= {"median_ms": ms, "fraction_of_peak": tflops / 60}
    return record("sgemm", variant, nbytes / ms / 1e6, **told | more)


def of_sgemm(variant, tflops):
    found = result(product(variant, tflops))
    found.provenance["device"] = DEVICE | {"fp32_tflops": 60.0}
    return gm.explain("sgemm", variant, results=found).paragraph


def test_what_computes_is_held_against_what_its_requests_move():
    """Traffic is named as the limit only of a kernel that could hardly be faster with it."""
    naive = of_sgemm("naive", 3.0)
    assert "0.398 operations per byte, unless a cache holds it, where 15 would" in naive
    for variant, tflops in (("naive", 0.3), ("thread_tile", 9.0), ("smem_transposed", 30.0)):
        assert "Neither sectors nor banks explain" in of_sgemm(variant, tflops), variant
    assert "memory bandwidth" not in of_sgemm("smem_transposed", 30.0)
    assert "has bank conflicts: 2 passes" in of_sgemm("smem", 30.0)
    faster = of_sgemm("tf32x3", 110.0)
    assert "183 % of the FP32 peak" in faster and "it computes on other units" in faster
    assert "Little is left" not in faster


def test_kernels_that_help_do_not_count_as_blocks():
    shared = paragraph("sgemm", "warp_tile_tma")
    assert (
        "launches sgemm_add_shares (adds the sums of blocks that shared a tile) besides" in shared
    )
    assert "keeps 96.02 KiB per block in shared memory, passes 2 barriers per block" in shared
    assert "load in part by a copy engine, up to 512 B at once" in shared
    alone = paragraph("sgemm", "warp_tile_tma", shape=(128, 128, 32))
    assert "launches" not in alone and "moves as many bytes" in alone


def test_what_is_not_counted_is_not_compared():
    """Reads of the texture unit are not requests."""
    texture = paragraph("sample", "texture")
    assert "passes through units whose traffic the simulator does not count" in texture
    assert "as many bytes of global memory" not in texture
    assert "passes through units" not in paragraph("sample", "global")


@pytest.mark.parametrize(("more", "told"), [({}, ""), ({"threads": 64}, ", threads 64")])
def test_counts_and_figures_are_of_the_same_parameters(more, told):
    own = {"offset": 0, "stride": 1, **more}
    found = gm.explain(
        "strided_read",
        "cached",
        results=result(record("strided_read", "cached", 1.0, parameters=own)),
    )
    assert found.traffic_where.endswith(f"float32, offset 0, stride 1{told}")
    assert "touches 4 sectors of 32 bytes and uses every byte" in found.paragraph


def test_the_largest_and_the_best_figure_is_told():
    small = record("prefetch_sum", "l2", 3000.0, shape=[8192, 64])
    warm = record("prefetch_sum", "l2", 3900.0, cache="warm")
    near = record("prefetch_sum", "l2", 1000.0, parameters={"work": 1, "distance": 2})
    far = record("prefetch_sum", "l2", 1500.0, parameters={"work": 1, "distance": 9})
    base = record("prefetch_sum", "baseline", 1200.0, parameters={"work": 1})
    other = record("prefetch_sum", "baseline", 700.0, parameters={"work": 2})
    found = gm.explain("prefetch_sum", "l2", results=result(small, near, far, warm, base, other))
    assert found.record == far
    assert "work 1, distance 9, not in the L2" in found.paragraph
    assert "1.25 times as fast as baseline" in found.paragraph
    usual = record("prefetch_sum", "l2", 100.0, parameters={"work": 2, "distance": 6})
    found = gm.explain("prefetch_sum", "l2", results=result(near, far, usual))
    assert found.record == usual and found.traffic_where.endswith(", work 2, distance 6")
    gone = record("prefetch_sum", "l2", 100.0, parameters={"speed": 2})
    assert gm.explain("prefetch_sum", "l2", results=result(gone)).record == gone
    alone = record("prefetch_sum", "l2", 1600.0, parameters=near["parameters"], order="single")
    found = gm.explain("prefetch_sum", "l2", results=result(near, alone))
    assert found.record == near and "single" not in found.paragraph
    found = gm.explain("prefetch_sum", "l2", results=result(alone, base))
    assert "not in the L2, single calls)" in found.paragraph
    assert "as fast as baseline" not in found.paragraph  # which was measured in a row
    found = gm.explain("prefetch_sum", "l2", results=result(warm))
    assert "in the L2 as far as it fits" in found.paragraph


def test_a_shape():
    there = gm.explain("transpose", "tile", shape=(4096, 4096))
    assert there.record["shape"] == [4096, 4096] and there.traffic_where == "1024x1024 float32"
    small = gm.explain("transpose", "tile", shape=(64, 96))
    assert small.traffic_where == "64x96 float32" and small.record is None
    assert "The results have no time for it at 64x96." in small.paragraph
    refused = record("transpose", "tile", 1.0, median_ms=None, reason="needs a GPU")
    assert "no time for it: needs a GPU." in paragraph("transpose", "tile", refused)
    assert gm.explain("copy", "vec4", 2**20).record["shape"] == [2**20]
    nothing = gm.explain("copy", "vec4", 0)
    assert nothing.traffic.requests == 0
    assert "nothing to count: there are no elements." in nothing.paragraph
    assert "the variant has no kernel of its own." in gm.explain("copy", "memcpy").paragraph


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("nope", "tile"), ValueError, "nope"),
        (("transpose", "nope"), ValueError, "nope.*tile_padded"),
        (("transpose",), TypeError, r"explain of a family needs a variant: explain\('transpose'"),
        (("transpose", "auto"), ValueError, "auto"),
        (("transpose", "tile", (5,)), ValueError, "dimension|shape"),
        (("transpose", "tile", (-5, 3)), ValueError, "negative"),
        (("transpose", "tile", None, "no-such"), ValueError, "no-such"),
    ],
)
def test_refusals(arguments, error, words):
    with pytest.raises(error, match=words):
        gm.explain(*arguments)


def test_live_needs_a_gpu_and_says_so(monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    if not gm.info()["backends"]["cuda"]["available"]:
        with pytest.raises(gm.UnavailableError):
            gm.explain("copy", "vec4", live=True)


def test_a_live_figure_is_labelled(monkeypatch):
    asked = []

    def measured(family, names, **options):
        asked.append((family, names, options))
        return result(record("copy", "vec4", 3000.0), record("copy", "vec2", 1500.0))

    monkeypatch.setattr(_explanation, "bench", measured)
    monkeypatch.setattr(_explanation._core, "backend", lambda name=None: "cuda", raising=True)
    monkeypatch.setattr(gm.Variant, "reason_on", lambda *_: None)
    found = gm.explain("copy", "vec4", live=True)
    assert found.live and "just now, it reached 3000 GB/s" in found.paragraph
    assert "2 times as fast as vec2" in found.paragraph and "measured now" in str(found)
    assert asked[0][1] == ["vec4", "vec2"] and asked[0][2]["backend"] == "cuda"


@pytest.mark.gpu
def test_a_gpu_explains_itself():
    found = gm.explain("copy", "vec4", 2**24, live=True)
    assert found.live and found.record["gbps"] > 0 and "just now" in found.paragraph


def test_the_command_line_explains(tmp_path, capsys):
    assert cli.main(["explain", "transpose", "tile"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("transpose-tile") and "bank ways" in out
    file = tmp_path / "r.json"
    result(record("transpose", "tile", 1234.0)).to_json(file)
    words = ["explain", "transpose", "tile", "--results", str(file)]
    assert cli.main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["record"]["gbps"] == 1234
    for wrong in ([*words, "--live"], words[:2], [*words[:2], "nope"], [*words, "--shape", "x"]):
        assert cli.main(wrong) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("gpumem: ")


def test_of_a_launch_its_time_is_told():
    found = gm.explain("static_value", "managed_symbol")
    assert re.search(r"measured +[0-9.]+ us, 4 B; ", str(found)) and "it took" in found.paragraph
    assert "GB/s" not in str(found) and "of bandwidth" not in str(found)


# ---- what the hardware counted --------------------------------------------------------------


def test_stalls_are_shown_where_they_are_shipped(monkeypatch):
    stalls = {"wait": 1.25, "long_scoreboard": 20.5, "selected": 1.0, "barrier": 0.5}
    one = {"family": "copy", "variant": "vec4", "stalls": stalls, "l1": 0.0, "l2": 0.5}
    one |= {"shape": [1024], "dtype": "float32"}
    other = {"family": "copy", "variant": "vec2", "error": "ncu shows no launch"}
    chosen = one | {"parameters": {"work": 1}, "l1": 1.0}
    figures = [chosen, one, other]
    found = {"provenance": {"device": DEVICE, "date": "2030-01-02"}, "figures": figures}
    monkeypatch.setattr(of_tools, "newest", lambda what: found)
    told = str(gm.explain("copy", "vec4"))
    assert re.search(r"cycles per instruction: 20\.5 long scoreboard, 1\.2 wait, 0\.5 bar", told)
    assert re.search(r"counted +1024 float32; a device, 2030-01-02", told)
    assert re.search(r"cache hits +L1 0 %, L2 50 % of sectors", told)
    assert gm.explain("copy", "vec4").to_dict()["stalls"] == one
    missing = re.compile("warps wait +not measured: gpumem ships no stall counters for it")
    assert missing.search(str(gm.explain("copy", "vec2")))
    monkeypatch.setattr(of_tools, "newest", lambda what: None)
    without = gm.explain("copy", "vec4")
    assert without.stalls is None and missing.search(str(without))
    assert "warps wait" not in str(gm.explain("copy", "memcpy"))  # it has no kernel
