"""From a source to machine code of a GPU: what needs compilers, but no GPU."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpumem import CompileError
from gpumem.cuda_c.compile import Source
from gpumem.cuda_c.compile_device import compile_for_device
from gpumem.cuda_c.described import describing, read_code
from gpumem.cuda_c.device_side import kernel_names, list_kernels, macros, without_host_side
from gpumem.cuda_c.nvcc import compile_with_nvcc, find_nvcc
from gpumem.cuda_c.nvrtc import compile_with_nvrtc, cuda_headers, nvrtc_options, nvrtc_version

PROGRAM = r"""
#include <cstdio>
#include <cstdint>
#include <vector>
#define HD __host__ __device__
#define CHECK(call)                              \
    do {                                         \
        if ((call) != 0) { printf("}"); }        \
    } while (0)

typedef float real;
enum Mode { FAST, EXACT };
struct Range { int first, last; HD int size() const { return last - first; } };
static std::vector<float> cache;

namespace shop {
__constant__ real factors[2][3];
__device__ Range range;
namespace {
static __device__ int calls;
__global__ void size_of(Range r, const Range *all, real *out, Mode mode, bool on, int **rows)
{
    *out = r.size() + all->size() + calls;
}
}
}
extern "C" __global__ void plain(uint32_t *x, const void *y) { *x = 1; }
template <typename type, int n> __global__ void tile(type *x, const type a) { x[n] = a; }
HD inline int both(int x) { return x + 1; }
constexpr int square(int x) { return x * x; }
__global__ void squares(int64_t *x) { x[0] = square(both(3)); }

void host_only(const std::vector<float> &h) { for (float v : h) CHECK(printf("%f", v)); }
int main(int argc, char **argv)
{
    plain<<<1, 1>>>(nullptr, nullptr);
    std::vector<float> h(4);
    host_only(h);
    return 0;
}
"""
INSTANCES = ("tile<double, 3>",)
KERNELS = ["shop::size_of", "plain", "squares", "tile<double, 3>"]


def source(text=PROGRAM, folder=None, instances=INSTANCES, options=(), **more):
    return Source(
        text, "shop.cu", Path(folder or "."), more.get("defines", {}), [], instances, options
    )


def by_nvrtc(what, work):
    if nvrtc_version() is None:
        pytest.skip("no NVRTC")
    return compile_with_nvrtc(what, "90a", work, cuda_headers())


def by_nvcc(what, work):
    toolkit = find_nvcc()
    if isinstance(toolkit, str):
        pytest.skip("no nvcc")
    return compile_with_nvcc(what, "90a", work, toolkit)


BOTH = pytest.mark.parametrize("compile_", [by_nvrtc, by_nvcc])

# ---- what is left of a source -------------------------------------------------------------------


def test_host_side_is_left_out():
    side = without_host_side(PROGRAM, macros(PROGRAM))
    assert side.kernels == ["shop::size_of", "plain", "squares"]
    assert side.templates == ["tile"]
    assert side.declared == ["shop::factors", "shop::range", "shop::calls"]
    assert [str(p.type) for p in side.parameters["shop::size_of"]] == [
        "Range", "const Range *", "real *", "Mode", "bool", "int **",
    ]  # fmt: skip
    for gone in ("main", "host_only(const", "<<<", "cache;"):
        assert gone not in side.text
    for kept in ("inline int both", "constexpr int square", "#define CHECK", "HD int size"):
        assert kept in side.text
    assert side.text.count("\n") == PROGRAM.count("\n")  # lines keep their numbers


def test_indented_directives_are_no_code():
    text = "  # define OPEN {\n__device__ int x;\n\t#if 0\n__global__ void k() { }\n #endif\n"
    side = without_host_side(text, macros(text))
    assert (side.kernels, side.declared) == (["k"], ["x"])


def test_macros_in_macros_are_followed():
    text = "#define A __device__\n#define B A inline\nB int twice(int x) { return 2 * x; }\n"
    assert "twice" in without_host_side(text, macros(text)).text
    assert "twice" not in without_host_side(text, {}).text


def test_managed_variables_are_noted():
    side = list_kernels("__managed__ int here[2]; __device__ int there; extern __device__ int no;")
    assert side.declared == ["here", "there"]
    assert side.managed == {"here"}


# ---- what compilers say ----------------------------------------------------------------------


@BOTH
def test_types_and_symbols_are_read_from_the_code(compile_, tmp_path):
    code, side, _, _ = compile_(source(), tmp_path)
    path = tmp_path / "read.cubin"
    path.write_bytes(code)
    assert kernel_names(side, INSTANCES) == KERNELS
    found = read_code(path, KERNELS, side.declared)
    types = {
        name: [f"{t.kind}{t.bytes}{'*' * t.pointer}{'c' * t.constant}" for t in each]
        for name, each in found.kernels.items()
    }
    assert types == {
        "shop::size_of": ["V8", "V8*c", "f4*", "i4", "b1", "u8*"],
        "plain": ["u4*", "?0*c"],
        "squares": ["i8*"],
        "tile<double, 3>": ["f8*", "f8"],
    }
    assert found.symbols["plain"] == "plain"
    assert re.fullmatch(r"_Z4tileIdLi3EEvPT_S0_", found.symbols["tile<double, 3>"])
    variables = {name: (str(v.dtype), v.shape) for name, v in found.variables.items()}
    assert variables == {
        "shop::factors": ("float32", (2, 3)),
        "shop::range": ("|V8", ()),
        "shop::calls": ("int32", ()),
    }
    assert found.variables["shop::factors"].symbol == "_ZN4shop7factorsE"


@BOTH
def test_managed_variables(compile_, tmp_path):
    text = """
    __managed__ int here[3];
    namespace a { __device__ __managed__ float there; }
    __global__ void k() { here[0] = a::there; }
    """
    code, side, _, _ = compile_(source(text, instances=()), tmp_path)
    path = tmp_path / "read.cubin"
    path.write_bytes(code)
    found = read_code(path, ["k"], side.declared).variables
    assert [(v.symbol, v.managed, v.shape) for v in found.values()] == [
        ("here", True, (3,)), ("_ZN1a5thereE", True, ()),
    ]  # fmt: skip


OVERLOADS = """
namespace shop {
struct point { float x, y; };
__global__ void put(point one, float *out) { *out = one.y; }
__global__ void put(float (*rows)[4], unsigned int n) { rows[1][n] = 1; }
}
__global__ void put(double *__restrict__ x, float *__restrict__ *y, int *const __restrict__ *z) {}
template <typename T> __global__ void put(T x) {}
"""


@BOTH
def test_overloads(compile_, tmp_path):
    code, side, _, _ = compile_(source(OVERLOADS, instances=("put<int>",)), tmp_path)
    path = tmp_path / "read.cubin"
    path.write_bytes(code)
    names = kernel_names(side, ("put<int>",))
    assert [name.partition("(")[0] for name in names] == [*["shop::put"] * 2, "put", "put<int>"]
    found = read_code(path, names, side.declared)
    assert [[t.kind for t in types] for types in found.kernels.values()] == [
        ["V", "f"], ["f", "u"], ["f", "u", "u"], ["i"],
    ]  # fmt: skip
    assert [*found.symbols.values()] == [
        "_ZN4shop3putENS_5pointEPf", "_ZN4shop3putEPA4_fj", "_Z3putPdPrPfPrKPi", "_Z3putIiEvT_",
    ]  # fmt: skip


@BOTH
def test_errors_beside_overloads(compile_, tmp_path):
    text = f"{OVERLOADS}__global__ void wrong(int *x) {{ x[0] = y; }}"
    with pytest.raises(CompileError, match='identifier "y"'):
        compile_(source(text, instances=()), tmp_path)


@BOTH
def test_kernels_of_which_one_is_left_out_are_no_overloads(compile_, tmp_path):
    wide, narrow = (f"__global__ void k({of} *x) {{}}" for of in ("double", "float"))
    text = f"#ifdef WIDE\n{wide}\n#else\n{narrow}\n#endif"
    code, side, _, _ = compile_(source(text, instances=()), tmp_path)
    path = tmp_path / "read.cubin"
    path.write_bytes(code)
    assert kernel_names(side, ()) == ["k"]
    assert [one.bytes for one in read_code(path, ["k"], []).kernels["k"]] == [4]


@BOTH
def test_errors_name_the_file_and_the_line(compile_, tmp_path):
    with pytest.raises(CompileError, match=r"shop\.cu\(3\): error: identifier \"y\""):
        compile_(source("\n__global__ void k(int *x)\n{ x[0] = y; }", instances=()), tmp_path)


@BOTH
def test_a_wrong_instance_is_an_error(compile_, tmp_path):
    with pytest.raises(CompileError, match=r"tile|template"):
        compile_(source(instances=("tile<double>",)), tmp_path)


@BOTH
def test_a_source_without_kernels_is_an_error(compile_, tmp_path):
    with pytest.raises(CompileError, match="has no kernel"):
        compile_(source("int main() { return 0; }", instances=()), tmp_path)


@BOTH
def test_headers_of_the_source_lose_their_host_side(compile_, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    (tmp_path / "inc" / "deep" / "twice.cuh").write_text(
        '#pragma once\n#include "more.cuh"\n__device__ int twice(int x) { return 2 * x + MORE; }\n'
        "static HOST void host() { throw 1; }\n"
    )
    (tmp_path / "inc" / "deep" / "more.cuh").write_text("#define MORE 1\n#define HOST inline\n")
    text = '#include "../inc/deep/twice.cuh"\n__global__ void k(int *x) { *x = twice(*x); }\n'
    code, side, used, _ = compile_(source(text, tmp_path / "src", ()), tmp_path)
    assert code[:4] == b"\x7fELF"
    assert side.kernels == ["k"]
    assert {Path(one).resolve().name for one in used} >= {"twice.cuh", "more.cuh"}


def test_headers_that_are_nowhere_count_as_empty(tmp_path):
    text = '#include "nowhere.h"\n#include <vector>\n__global__ void k() {}'
    assert by_nvrtc(source(text, instances=()), tmp_path)[3] == ["nowhere.h", "vector"]


@BOTH
def test_defines_and_options(compile_, tmp_path):
    text = "__global__ void k(int *x) { *x = A + B; }\n#ifdef C\n#error C\n#endif"
    what = source(text, instances=(), defines={"A": "1", "C": "1"}, options=(
        "-DB=2", "-UC", "-O3", "-use_fast_math", "-maxrregcount=32", "--std=c++20", "-arch=sm_70",
    ))  # fmt: skip
    assert compile_(what, tmp_path)[1].kernels == ["k"]


# ---- choosing ----------------------------------------------------------------------------------


def test_options_that_nvrtc_does_not_have_are_named():
    assert nvrtc_options(source(options=("-ccbin=clang",))) == "-ccbin=clang"
    found = nvrtc_options(source(options=("-std=c++14", "-Xptxas=-v", "-G", "-DX")))
    assert found["std"] == "c++17"  # what is put behind the source needs it
    assert found["ptxas_options"] == ["-v"]
    assert found["debug"]
    assert found["define_macro"] == [("X", "1")]


def test_what_nvrtc_does_not_take_nvcc_gets(tmp_path, monkeypatch):
    if nvrtc_version() is None or isinstance(find_nvcc(), str):
        pytest.skip("needs NVRTC and nvcc")
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path))
    text = "#define KERNEL(name) __global__ void name\nKERNEL(hidden)(int *x) { *x = 1; }\n"
    compiled = compile_for_device(source(text, instances=()), "90a")
    assert list(compiled.parameters) == ["hidden"]


def test_machine_code_is_kept(tmp_path, monkeypatch):
    if nvrtc_version() is None and isinstance(find_nvcc(), str):
        pytest.skip("no compiler for a GPU")
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path))
    first = compile_for_device(source(), "90a")
    stamp = first.path.stat().st_mtime_ns
    again = compile_for_device(source(), "90a")
    assert again == first
    assert list(tmp_path.glob("modules/*.cubin")) == [first.path]
    assert first.path.stat().st_mtime_ns >= stamp
    other = compile_for_device(source(), "80")
    assert other.path != first.path


def test_without_compilers_the_error_says_what_helps(monkeypatch, tmp_path):
    import gpumem.cuda_c.compile_device as module

    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "nvrtc_version", lambda: None)
    monkeypatch.setattr(module, "find_nvcc", lambda: "Looked at PATH (nothing).")
    with pytest.raises(CompileError, match=r"pip install 'gpumem-lab\[cuda13\]'.*Looked at PATH"):
        compile_for_device(source(), "90a")


def test_the_text_behind_a_source():
    text = describing(["k", "tile<float, 2>"], {"x": False, "y": True})
    assert "gm_name<1, &::tile<float, 2>>" in text
    assert "{(const void *)&::x, nullptr}" in text
    assert np.dtype("V8").itemsize == 8 and "gm_addresses" not in describing(["k"], {})
