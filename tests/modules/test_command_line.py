"""Users' kernels on the command line: check, traffic and the cache."""

from __future__ import annotations

import json

import pytest

SOURCE = """\
__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

__global__ void reverse(float *x)
{
    __shared__ float tile[128];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[127 - threadIdx.x];
}

#ifndef STRIDE
#define STRIDE 1
#endif
template <typename T> __global__ void fill(T *x)
{
    x[(blockIdx.x * blockDim.x + threadIdx.x) * STRIDE] = 1;
}

__global__ __launch_bounds__(64) void own(int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}
"""
SAXPY = "--arg float32[1024] --arg float32[1024] --arg 1024 --arg 2.0".split()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with mine.cu: the same for all tests, so that it is compiled once."""
    found = tmp_path_factory.mktemp("kernels")
    (found / "mine.cu").write_text(SOURCE)
    (found / "sum.cu").write_text(
        "__global__ void sum(const float *x, float *y)\n{\n"
        "    y[threadIdx.x] = x[threadIdx.x] + 1;\n}\n"
    )
    return found


@pytest.fixture
def folder(written, monkeypatch):
    """The folder, which is the current one."""
    monkeypatch.chdir(written)
    return written


# ---- check ------------------------------------------------------------------------------------


def test_a_clean_kernel(run, folder):
    status, out, err = run("check", "mine.cu", "saxpy", "--grid", 4, "--block", 256, *SAXPY)
    assert (status, err) == (0, "")
    assert out == (
        "saxpy of mine.cu: no findings (4 blocks of 256 threads, 1 source line with accesses)\n"
    )


def test_a_finding_has_a_place_a_line_and_a_way_out(run, folder):
    words = ("--grid", 1, "--block", 128, "--arg", "float32[128]")
    status, out, err = run("check", "mine.cu", "reverse", *words)
    assert (status, err) == (1, "")
    assert out.startswith("mine.cu:12: race on shared memory: thread ")
    assert "\n    12 |     tile[threadIdx.x] = x[threadIdx.x];\n       |     ^\n" in out
    assert "the other access is at mine.cu:13:" in out and "help: put __syncthreads()" in out


def test_json_and_sarif(run, folder):
    words = ("--grid", 1, "--block", 128, "--arg", "float32[128]", "--sarif", "found.sarif")
    status, out, _ = run("check", "mine.cu", "reverse", *words, "--json")
    said = json.loads(out)
    assert status == 1 and not said["ok"] and said["findings"][0]["rule"] == "race-shared"
    (ran,) = json.loads((folder / "found.sarif").read_text())["runs"]
    place = ran["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "mine.cu"}, "region": {"startLine": 12}}


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (("--max-sectors", 4), ["sectors"]),
        (("--max-sectors", 32, "--max-bank-ways", 1), []),
        (("--max-sectors", 4, "--min-efficiency", 0.9), ["efficiency", "sectors"]),
    ],
)
def test_limits(run, folder, limits, found):
    words = ("--grid", 2, "--block", 32, "--arg", "float32[512]", "-D", "STRIDE=8", *limits)
    status, out, _ = run("check", "mine.cu", "fill<float>", *words, "--json")
    assert status == bool(found)
    assert sorted(one["rule"] for one in json.loads(out)["findings"]) == found


def test_macros_are_those_of_a_compiler(run, folder):
    (folder / "macros.cu").write_text(
        '__global__ void k(int *x)\n{\n    if (ONE != 1 || TWO != 2 || sizeof("" EMPTY) != 1) {\n'
        "        x[-1] = 0;\n    }\n}\n"
    )
    words = ("macros.cu", "--grid", 1, "--block", 1, "--arg", "int32[1]", "-D", "ONE")
    assert run("check", *words, "-D", "TWO=2", "-D", "EMPTY=")[0] == 0
    assert run("check", *words, "-D", "TWO=3", "-D", "EMPTY=")[0] == 1


def test_include_folders(run, folder):
    (folder / "far").mkdir(exist_ok=True)
    (folder / "far" / "set.h").write_text("#define SET(x) (x) = 1\n")
    (folder / "includes.cu").write_text(
        '#include "set.h"\n__global__ void k(int *x) { SET(x[threadIdx.x]); }\n'
    )
    words = ("includes.cu", "--grid", 1, "--block", 2, "--arg", "int32[2]")
    assert run("check", *words, "-I", "far")[0] == 0
    assert run("check", *words)[0] == 2


def test_shared_memory_and_bounds(run, folder):
    words = ("--grid", 1, "--block", 64, "--arg", "int32[64]=zeros")
    assert run("check", "mine.cu", "own", *words, "--shared-bytes", 256)[0] == 0
    status, out, _ = run("check", "mine.cu", "own", *words, "--shared-bytes", 128)
    assert status == 1 and "[out-of-bounds]" in out


def test_the_only_kernel_needs_no_name(run, folder):
    (folder / "one.cu").write_text("__global__ void one(int *x) { x[threadIdx.x] = 1; }\n")
    assert run("check", "one.cu", "--grid", 1, "--block", 8, "--arg", "int32[8]")[0] == 0


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("float32[64]", 0),
        ("float32[8x8]=zeros", 0),
        ("float32[8,8]=ones", 0),
        ("float32[64]=range", 0),
        ("float32[64]=-2.5", 0),
        ("float32[64]=empty", 1),
        ("float32[0]", 1),
        ("null", 1),
    ],
)
def test_arrays(run, folder, word, status):
    words = ("--grid", 1, "--block", 64, "--arg", word, "--arg", "float32[64]=empty")
    assert run("check", "sum.cu", *words)[0] == status


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.cu", "nothing"), "mine.cu has no kernel 'nothing'; it has: saxpy, reverse, own"),
        (("mine.cu", "fill"), "fill is a template: ask for an instance"),
        (("mine.cu",), "which kernel? mine.cu has saxpy, reverse, own, fill<...>"),
        (("mine.cu", "reverse", "--block", 4), "needs --grid, as in --grid 64"),
        (("mine.cu", "reverse", "--grid", "1y"), "--grid 1y: expected 64 or 8x8"),
        (("mine.cu", "reverse", "--arg", "float32"), "--arg float32: write a number, true"),
        (("mine.cu", "reverse", "--arg", "folat32[4]"), "--arg folat32[4]: write a number"),
        (("mine.cu", "reverse", "--arg", "object[4]"), "--arg object[4]: write a number"),
        (("mine.cu", "reverse", "--arg", "float32[4]=x"), "'x' is no value of float32; write"),
        (("mine.cu", "reverse", "--arg", "float32[4]=1e99"), "'1e99' is no value of float32; w"),
        (
            ("mine.cu", "reverse", "--arg", f"float32[{2**45}]"),
            f"--arg float32[{2**45}]: Unable to",
        ),
        (
            ("mine.cu", "reverse", "--arg", f"float32[{2**40}x{2**40}]=range"),
            f"=range: shape is too large: ({2**40}, {2**40})",
        ),
        (("mine.cu", "reverse", "--arg", "1"), "reverse: float *x takes an array of float32"),
        (("mine.cu", "reverse"), "reverse takes 1 argument (float *x), and was given 0"),
        (("mine.cu", "saxpy", *SAXPY[:-2]), "saxpy takes 4 arguments"),
        (("mine.cu", "own", "-D", "1=2", "--arg", "null"), "-D 1: expected NAME or NAME=VALUE"),
        (("copy", "vec4"), "copy is no file of kernels, whose name ends in .cu"),
        (("other.cu", "vec4"), "other.cu: No such file or directory"),
        (("mine.cu", "own", "--backend", "cuda"), "only the simulator checks"),
        (("mine.cu", "own", "--sarif", "no/such"), "there is no folder"),
        (("mine.cu", "own", "--arg", "null", "--max-sectors", 0), "max_sectors must be more than"),
    ],
)
def test_wrong_usage(run, folder, words, says):
    given = [str(word) for word in words]
    for name in ("--grid", "--block"):
        if "needs" not in says and name not in given:
            given += [name, "1"]
    status, out, err = run("check", *given)
    assert (status, out) == (2, "") and says in err, err


def test_errors_of_the_compiler_keep_their_lines(run, folder):
    (folder / "bad.cu").write_text("__global__ void k(int *x)\n{\n    x[0] = y;\n}\n")
    status, _, err = run("check", "bad.cu", "--grid", 1, "--block", 1, "--arg", "null")
    assert status == 2 and "\nbad.cu:3:" in err


# ---- traffic ----------------------------------------------------------------------------------


def test_traffic(run, folder):
    words = ("traffic", "mine.cu", "saxpy", "--grid", 4, "--block", 256, *SAXPY)
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    assert out.startswith("saxpy of mine.cu: grid 4 x 1 x 1, block 256 x 1 x 1: 1024 threads")
    assert "\nmine.cu:5    global  load" in out
    status, out, _ = run(*words, "--json")
    assert status == 0 and json.loads(out)["loads"]["sectors_per_request"] == 4


def test_traffic_drawn(run, folder):
    words = ("--grid", 1, "--block", 32, "--arg", "float64[32]", "--draw", "request.png")
    assert run("traffic", "mine.cu", "fill<double>", *words)[0] == 0
    assert (folder / "request.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine.cu", "own", "--variant", "x"), "--variant makes no sense here"),
        (("mine.cu", "own", "--set", "a=1"), "--set makes no sense here"),
        (("copy", "--grid", "1"), "--grid makes no sense here: copy is a family"),
        (("copy", "-D", "A"), "-D makes no sense here: copy is a family"),
        (("copy", "vec4"), "vec4 after copy, which is a family; --variant names"),
        (("mine.cu", "own", "--grid", "1", "--block", "x"), "--block x: expected 64 or 8x8"),
    ],
)
def test_wrong_usage_of_traffic(run, folder, words, says):
    status, out, err = run("traffic", *words)
    assert (status, out) == (2, "") and says in err, err


# ---- the cache --------------------------------------------------------------------------------


def test_the_cache(run, folder, monkeypatch):
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(folder / "kept"))
    status, out, _ = run("cache")
    assert status == 0 and ": 0 compiled modules, 0 B of at most 512 MiB" in out
    assert out.startswith(str(folder / "kept"))
    run("check", "mine.cu", "own", "--grid", 1, "--block", 1, "--arg", "null")
    kept = json.loads(run("cache", "--json")[1])
    assert kept["modules"] == 2 and kept["bytes"] > 0 and not kept["cleared"]  # plain and traced
    status, out, _ = run("cache", "--clear")
    assert status == 0 and "removed 2 compiled modules" in out
    assert json.loads(run("cache", "--json")[1])["modules"] == 0


# ---- completion -------------------------------------------------------------------------------


def test_completion(folder):
    from argparse import Namespace

    from gpumem.cli import kernels

    (folder / "mixed").mkdir()
    assert sorted(kernels.complete_sources("mi")) == ["mine.cu", "mixed/"]
    assert "mine.cu" in kernels.complete_families_and_sources("mi")
    assert "copy" in kernels.complete_families_and_sources("co")
    assert kernels.complete_kernels(Namespace(family="mine.cu")) == [
        *("saxpy", "reverse", "fill", "own")
    ]
    assert kernels.complete_kernels(Namespace(family="copy")) == []
    assert kernels.complete_kernels(Namespace(family="none.cu")) == []
