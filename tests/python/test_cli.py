"""The command line: what it prints, where, and its exit status."""

import json
import subprocess
import sys

import pytest
from support import exhaustive

import gpumem as gm
from gpumem import cli
from gpumem.families.table import FAMILIES

COPY = [str(v) for v in gm.variants("copy")]


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")


def fits(text):
    return max(map(len, text.splitlines())) <= 100


# ---- info and list ------------------------------------------------------------------------


def test_info(run):
    status, out, err = run("info")
    assert (status, err) == (0, "")
    assert out.startswith(f"gpumem {gm.__version__}\nbackend: sim")
    assert "\ncuda: " in out and "\nsim: available" in out and fits(out)


def test_info_json(run):
    status, out, _ = run("info", "--json")
    assert status == 0 and json.loads(out)["version"] == gm.__version__


@pytest.mark.parametrize("words", [("list",), ("list", "copy")])
def test_list(run, words):
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    listed = gm.variants(*words[1:])
    for variant in listed:
        lines = out.splitlines()
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"{variant} "))
        heads = [line for line in lines[:at] if line.startswith(("variant ", "serves auto "))]
        assert heads[-1].startswith("serves auto ") == variant.serves
        assert variant.doc in " ".join(out.split())
        for one in variant.instances:
            assert any(line.startswith(f"  :{one.name.partition(':')[2]} ") for line in lines[at:])
    assert fits(out)
    status, out, _ = run(*words, "--json")
    rows = json.loads(out)
    everything = [one for variant in listed for one in (variant, *variant.instances)]
    assert [f"{row['family']}-{row['name']}" for row in rows] == [str(v) for v in everything]
    assert [row["serves"] for row in rows] == [v.serves for v in everything]
    assert [row["row"] for row in rows] == [v.row and v.row.name for v in everything]
    assert all(row["available"] == (row["reason"] is None) for row in rows)


# ---- verify -------------------------------------------------------------------------------


@pytest.fixture
def few_cases(monkeypatch):
    """Only small cases: the large ones take long."""
    from gpumem.families import oracle

    every = oracle.cases
    monkeypatch.setattr(
        oracle, "cases", lambda family: (c for c in every(family) if max(c.shape, default=0) < 100)
    )


@pytest.fixture(params=["few", *exhaustive("all")])
def cases(request):
    if request.param == "few":
        request.getfixturevalue("few_cases")


def test_verify_everything(run, cases):
    status, out, err = run("verify")
    assert (status, err) == (0, "")
    for variant in gm.variants():
        row = next(line for line in out.splitlines() if line.startswith(f"{variant} "))
        if variant.reason_on("sim"):
            assert "unavailable: " in row
        else:
            assert "passed" in row and "cases  sim" in row


def test_verify_one(run, few_cases):
    status, out, _ = run("verify", "copy", "--variant", "vec4")
    assert status == 0 and len(out.splitlines()) == 1 and out.startswith("copy-vec4  passed")
    status, out, _ = run("verify", "copy", "--variant", "vec4", "--json")
    (report,) = json.loads(out)
    assert report["status"] == "passed" and report["cases"] > 20 and report["reason"] is None


@pytest.mark.parametrize("place", ["host", "device"])
def test_verify_finds_one_wrong_byte(run, few_cases, monkeypatch, place):
    right = gm.copy

    def wrong(a, *, variant, out, **keywords):
        right(a, variant=variant, out=out, **keywords)
        on_device = isinstance(out, gm.DeviceArray)
        if variant == "vec2" and on_device == (place == "device") and out.size == 33:
            if on_device:
                bad = out.to_host()
                bad.view("u1")[-1] ^= 1
                right(gm.to_device(bad, backend="sim"), out=out)
            else:
                out.view("u1")[-1] ^= 1
        return out

    monkeypatch.setitem(FAMILIES, "copy", FAMILIES["copy"]._replace(function=wrong))
    status, out, _ = run("verify", "copy")
    assert status == 1
    failed = [line for line in out.splitlines() if "FAILED" in line]
    assert len(failed) == 1 and failed[0].startswith("copy-vec2 ")
    assert "(33,)" in failed[0] and "first at index (32,)" in failed[0]
    status, out, _ = run("verify", "copy", "--json")
    assert status == 1
    assert [r["variant"] for r in json.loads(out) if r["status"] == "FAILED"] == ["vec2"]


@pytest.mark.parametrize("place", ["host", "device"])
def test_verify_finds_what_is_not_written(run, few_cases, monkeypatch, place):
    right = gm.copy

    def idle(a, *, out, **keywords):
        if isinstance(out, gm.DeviceArray) == (place == "device"):
            return out
        return right(a, out=out, **keywords)

    monkeypatch.setitem(FAMILIES, "copy", FAMILIES["copy"]._replace(function=idle))
    status, out, _ = run("verify", "copy", "--variant", "scalar")
    assert status == 1 and "FAILED" in out and "a5" in out


def test_verify_tells_of_errors_too(run, few_cases, monkeypatch):
    def broken(a, **_):
        raise gm.SimulationError("stray access in line 7")

    monkeypatch.setitem(FAMILIES, "copy", FAMILIES["copy"]._replace(function=broken))
    status, out, _ = run("verify", "copy", "--variant", "scalar")
    assert status == 1 and "SimulationError: stray access in line 7" in out


# ---- traffic ------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "width", "sectors"), [("vec4", 128, 16), ("scalar", 32, 4)])
def test_traffic_json_shows_the_width(run, variant, width, sectors):
    status, out, err = run("traffic", "copy", "--variant", variant, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    for kind in ("loads", "stores"):
        assert found[kind]["width"] == width
        assert found[kind]["sectors_per_request"] == sectors
        assert found[kind]["efficiency"] == 1.0


def test_traffic_of_one_variant(run):
    status, out, _ = run("traffic", "copy", "--variant", "vec2", "--shape", "32x33")
    assert status == 0 and fits(out)
    assert "vec2.cu:" in out and "knows no times" in out.splitlines()[-1]


def test_traffic_of_all(run):
    status, out, _ = run("traffic", "copy", "--shape", "4096", "--dtype", "float64")
    assert status == 0 and fits(out)
    assert "shape 4096, float64" in out
    for name in COPY:
        if name == "copy-memcpy":
            assert "\nNothing to count: copy-memcpy.\n" in out
        else:
            assert any(line.startswith((f"{name} ", f"{name}:")) for line in out.splitlines())
    status, out, _ = run("traffic", "copy", "--shape", "4096", "--json")
    # An instance counts for its row.
    rows = [f"{t['family']}-{t['variant']}".partition(":")[0] for t in json.loads(out)]
    assert rows == COPY


# ---- bench --------------------------------------------------------------------------------


def test_bench_on_the_simulator_counts_instead(run):
    status, out, _ = run("bench", "copy", "--variants", "scalar,vec4", "--sizes", "4K")
    assert status == 0 and fits(out)
    assert "copy-scalar" in out and "copy-vec4" in out and "copy-vec2" not in out
    assert out.splitlines()[-1].startswith("No times")


def test_bench_on_the_simulator_counts_what_was_asked_for(run):
    words = ("bench", "transpose", "--variants", "tile")
    status, out, _ = run(*words, "--shapes", "512x512,64x32")
    assert status == 0
    assert [line.split(",")[1] for line in out.splitlines() if line.startswith("transpose, ")] == [
        " shape 512x512",
        " shape 64x32",
    ]
    status, out, _ = run(*words, "--sizes", "16K,64K")
    assert status == 0 and "shape 64x64," in out and "shape 128x128," in out
    assert "1024x1024" not in out
    words = ("bench", "strided_read", "--variants", "cached", "--sizes", "4K")
    status, out, _ = run(*words, "--set", "stride=1,3")
    assert status == 0 and ", stride 1:" in out and ", stride 3:" in out


def test_bench_json_and_file(run, tmp_path):
    path = tmp_path / "r.json"
    status, out, _ = run("bench", "copy", "--sizes", "4K,8K", "--json", "-o", path)
    assert status == 0 and path.read_text() == out
    records = json.loads(out)["records"]
    assert {r["variant"] for r in records} == {v.name for v in gm.variants("copy")} | {"auto"}
    assert all(r["median_ms"] is None and r["reason"] for r in records)


def test_bench_json_names_a_file_or_prints(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = ("--sizes", "4K", "--variants", "scalar")
    for words in (("copy", *sizes, "--json", "r.json"), ("--json", "s.json", "copy", *sizes)):
        status, out, _ = run("bench", *words)
        assert status == 0 and out.endswith("no clock.\n")  # a table, not JSON
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "s.json"]
    assert gm.BenchResult.load("r.json").records == gm.BenchResult.load("s.json").records
    for words in (("--json", "copy", *sizes), ("copy", "--json", *sizes)):
        status, out, _ = run("bench", *words)
        assert status == 0 and json.loads(out)["records"]
    assert run("bench", "copy", *sizes, "--json", "t.json", "-o", "u.json")[0] == 0
    for name in ("t.json", "u.json"):
        assert json.loads((tmp_path / name).read_text())["records"]
    assert run("bench", "copy", *sizes, "--json", "./copy")[0] == 0
    assert gm.BenchResult.load("./copy").records
    status, out, _ = run("bench", "--json", "transfer", "--sizes", "64K")
    assert status == 0 and json.loads(out)["records"][0]["family"] == "transfer"


def test_bench_of_all_families(run, tmp_path):
    path = tmp_path / "all.json"
    status, out, _ = run("bench", "--all", "-o", path)
    assert status == 0 and "No times" in out and gm.BenchResult.load(path).records
    families = {r["family"] for r in json.loads(path.read_text())["records"]}
    assert families == {*gm.families(), "transfer", "roundtrip"}


def test_bench_takes_limits(run, monkeypatch):
    asked = {}

    def bench(family, names, sizes, dtype, **options):
        asked.update(options)
        return gm.BenchResult([], {"backend": "cuda"})

    monkeypatch.setattr(cli.bench, "bench", bench)
    assert run("bench", "copy")[0] == 0
    assert not {"samples", "spread", "timeout"} & set(asked)
    assert asked["order"] == "stream"
    assert run("bench", "copy", "--order", "single")[0] == 0 and asked["order"] == "single"
    words = ("--min-samples", "80", "--max-noise", "0.1", "--timeout", "2.5")
    assert run("bench", "copy", *words)[0] == 0
    assert asked["samples"] == (80, 80) and asked["spread"] == 0.1 and asked["timeout"] == 2.5


def test_compare_says_that_the_orders_differ(run, tmp_path):
    files = []
    for order in ("stream", "single"):
        records = [r | {"order": order} for r in gm.results["copy-h200"].records[:3]]
        files.append(tmp_path / f"{order}.json")
        gm.BenchResult(records, {}).to_json(files[-1])
    status, out, err = run("compare", *files)
    assert status == 2 and out == "" and "nothing to compare" in err
    assert "stream.json has copy, " in err and err.endswith("single.json has copy, single calls\n")


def test_an_interrupted_bench_writes_what_it_has(run, monkeypatch, tmp_path):
    from gpumem.measure.recording import Interrupted

    partial = gm.bench("copy", sizes="4K", backend="sim")
    partial.provenance["interrupted"] = True

    def bench(*_, **__):
        raise Interrupted(partial)

    monkeypatch.setattr(cli.bench, "bench", bench)
    path = tmp_path / "r.json"
    status, out, err = run("bench", "copy", "-o", path)
    assert status == 130 and "was interrupted" in out and "Traceback" not in err
    assert gm.BenchResult.load(path).records == partial.records
    partial.records.clear()
    assert run("bench", "copy")[:2] == (130, "")


@pytest.mark.gpu
def test_bench_on_a_gpu(run, monkeypatch):
    monkeypatch.delenv("GPUMEM_BACKEND")
    status, out, _ = run("bench", "copy", "--sizes", "1M", "--backend", "cuda")
    assert status == 0 and "GB/s" in out and "1 MiB" in out


@pytest.mark.gpu
def test_verify_on_a_gpu(run, monkeypatch):
    monkeypatch.delenv("GPUMEM_BACKEND")
    status, out, _ = run("verify", "--backend", "cuda")
    assert status == 0 and "passed" in out and "FAILED" not in out


# ---- exit status --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "COMMAND"),
        (("frobnicate",), "frobnicate"),
        (("list", "cpy"), "cpy"),
        (("verify", "cpy"), "copy"),
        (("verify", "copy", "--variant", "vec3"), "vec3"),
        (("verify", "--variant", "vec4"), "family"),
        (("traffic",), "FAMILY"),
        (("traffic", "cpy"), "copy"),
        (("traffic", "copy", "--variant", "vec3"), "scalar"),
        (("traffic", "copy", "--shape", "3y"), "3y"),
        (("traffic", "copy", "--shape", "-4"), "shape"),
        (("traffic", "copy", "--shape", "4611686018427387904"), "shape"),
        (("traffic", "copy", "--shape", "99999999999999"), "shape"),
        (("traffic", "copy", "--dtype", "flot"), "flot"),
        (("traffic", "copy", "--dtype", "object"), "object"),
        (("traffic", "copy", "--backend", "cuda"), "simulator"),
        (("traffic", "shift_points", "--shape", "3"), "dimension"),
        (("bench", "shift_points", "--shapes", "3"), "dimension"),
        (("traffic", "shift_points", "--shape", "3x3"), "shape"),
        (("bench", "copy", "--sizes", "4Q"), "4Q"),
        (("bench",), "FAMILY or --all"),
        (("bench", "copy", "--all"), "FAMILY"),
        (("bench", "--all", "--set", "work=1"), "--set"),
        (("bench", "copy", "--min-samples", "0"), "--min-samples"),
        (("bench", "copy", "--max-noise", "-1"), "--max-noise"),
        (("bench", "copy", "--max-noise", "nan"), "--max-noise"),
        (("bench", "--all", "--sizes", "4K"), "--sizes"),
        (("bench", "copy", "--sizes", "4K", "--shapes", "9"), "--shapes"),
        (("bench", "copy", "--timeout", "-1"), "--timeout"),
        (("bench", "copy", "--timeout", "soon"), "soon"),
        (("bench", "copy", "--sizes", "1"), "float32"),
        (("bench", "copy", "--variants", "vec3"), "vec3"),
        (("bench", "copy", "--cache", "hot"), "hot"),
        (("bench", "copy", "--order", "alone"), "alone"),
        (("bench", "transfer", "--order", "single"), "order is 'single'"),
        (("bench", "copy", "--sizes", "4K", "-o", "/no/such/folder/r.json"), "/no/such/folder"),
        (("bench", "copy", "--json", "/no/such/folder/r.json"), "/no/such/folder"),
        (("bench", "copy", "--json", "gather"), "./gather"),
        (("bench", "--json", "copy", "--all"), "FAMILY"),
        (("bench", "--json", "cpy"), "FAMILY or --all"),
        (("list", "--backend", "quantum"), "quantum"),
        (("bench", "copy", "--peers", "jax"), "--peers names 'jax'; accepted are: torch, cupy"),
        (("bench", "--all", "--peers", "jax"), "--peers names 'jax'"),
        (("bench", "roundtrip", "--peers", "jax"), "--peers names 'jax'; accepted are: numpy"),
        (("bench", "transfer", "--peers", "torch"), "--peers"),
        (("plot", "copy-h200", "--kind", "size", "-o", "/no/such/x.png"), "/no/such"),
        (("plot", "copy-h200", "--kind", "size", "-o", "/x.bmpx"), "bmpx"),
        (("plot", "copy-h200", "--kind", "size", "-o", "/tmp"), "directory"),
        (("lst",), "Did you mean 'list'?"),
        (("list", "tranpose"), "Did you mean 'transpose'?"),
        (("traffic", "transpose", "--variant", "tile_paded"), "Did you mean 'tile_padded'?"),
        (("compare", "copyh200", "copy-h200"), "Did you mean 'copy-h200'?"),
        (("plot", "copy-h200", "--kind", "siez", "-o", "x.png"), "Did you mean 'size'?"),
        (("compare", "copy-h200", "gather-h200"), "nothing to compare"),
        (("traffic", "copy", "--variant", "vec4", "--space", "global"), "--draw"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_two(run, words, part):
    status, out, err = run(*words)
    assert status == 2 and out == ""
    assert len(err.splitlines()) == 1 and err.startswith("gpumem: ") and part in err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), 130),
        (gm.UnavailableError("no such thing here"), 2),
        (gm.SimulationError("a race in line 7\nbetween threads"), 1),
        (MemoryError("too much"), 1),
        (RuntimeWarning("nobody expected this"), 70),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_become_exit_codes(run, monkeypatch, error, expected):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli.traffic, "traffic", fail)
    status, _, err = run("traffic", "copy", "--variant", "vec4")
    assert status == expected and ("Traceback" in err) == (expected == 70)
    assert len(err.splitlines()) == (0 if expected == 130 else 1) or expected == 70


def test_help_and_version(run):
    status, out, _ = run("--help")
    assert status == 0
    for command in "info list verify bench traffic explain sass compare plot".split():
        assert f"\n    {command} " in out
        assert run(command, "--help")[0] == 0
    assert run("--version") == (0, f"gpumem {gm.__version__}\n", "")


def test_the_module_runs():
    command = [sys.executable, "-m", "gpumem"]
    done = subprocess.run([*command, "list"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "copy-scalar" in done.stdout
    done = subprocess.run([*command, "list", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""


# ---- keywords of a family's function ------------------------------------------------------


def test_keywords_reach_the_kernel(run):
    words = ("traffic", "strided_read", "--variant", "cached", "--shape", "8192", "--json")
    for offset, stride, sectors in [(0, 1, 4), (1, 1, 5), (0, 4, 16)]:
        status, out, _ = run(*words, "--set", f"offset={offset}", "--set", f"stride={stride}")
        report = json.loads(out)
        assert status == 0
        if (offset, stride) != (1, 1):  # its last warp is not full
            assert report["loads"]["sectors_per_request"] == sectors
        else:
            assert 4.9 < report["loads"]["sectors_per_request"] <= 5
    words = ("traffic", "transpose", "--variant", "naive_row", "--shape", "64x64", "--json")
    status, out, _ = run(*words, "--set", "block=8x32")
    assert status == 0 and json.loads(out)["block"] == [8, 32, 1]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("offset", "NAME=VALUE"),
        ("=3", "NAME=VALUE"),
        ("offset=x", "offset must be an integer, not str"),
        ("offset=1:x", "'1:x'"),
        ("of=3", "of"),
    ],
)
def test_keywords_that_are_none(run, word, said):
    status, out, err = run("traffic", "strided_read", "--shape", "64", "--set", word)
    assert (status, out) == (2, "") and said in err


def test_each_variant_of_a_summary_gets_its_own_shape(run):
    status, out, _ = run("traffic", "shift_points")
    assert status == 0 and "refused" not in out
    for name in ("aos", "aos_vec2", "soa", "soa_vec2", "vec4"):
        assert f"shift_points-{name} " in out
