"""Loading sources: kernels by name, templates, variables, and what is said about wrong ones."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import gpumem as gm

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include "not_installed_here.h"

#define CHECK(call) do { if ((call) != cudaSuccess) { std::abort(); } } while (0)

__device__ int calls;
__constant__ float coefficients[2][3];
__managed__ double total = 2.5;

struct point { float x, y; };

namespace shapes {
__global__ void move(point *points, point by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        points[i].x += by.x;
        points[i].y += by.y;
    }
    if (i == 0) {
        atomicAdd(&calls, 1);
    }
}
}

template <typename T, int factor>
__global__ void scale(T *x)
{
    x[threadIdx.x] *= factor;
}

__global__ void saxpy(const float *__restrict__ x, float *y, int n, float a)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = a * x[i] + y[i];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        calls++;
    }
}

__global__ void weigh(float *out)
{
    out[threadIdx.x] = coefficients[threadIdx.x / 3][threadIdx.x % 3];
}

static void report(const std::vector<float> &y) { std::printf("%f\n", y[0]); }

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *dx, *dy;
    CHECK(cudaMalloc(&dx, n * sizeof(float)));
    CHECK(cudaMalloc(&dy, n * sizeof(float)));
    saxpy<<<(n + 255) / 256, 256>>>(dx, dy, n, 2.0f);
    scale<float, 3><<<1, 256>>>(dy);
    CHECK(cudaDeviceSynchronize());
    report(y);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.cu"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def program(program_path):
    return gm.load(program_path)


def load(source, **options):
    return gm.load(source=textwrap.dedent(source), **options)


# ---- a program as it is --------------------------------------------------------------------------


def test_a_program_loads_with_its_host_side(program, rng):
    x, y = rng.standard_normal((2, 1001), dtype=np.float32)
    expected = np.float32(2) * x + y
    program["saxpy"][4, 128](x, y, 1001, 2.0)
    assert np.array_equal(y, expected)


def test_kernels_have_the_sources_names_and_types(program):
    assert list(program.kernels) == ["shapes::move", "saxpy", "weigh"]
    assert program.templates == ("scale",)
    assert repr(program["saxpy"]) == "<kernel saxpy(const float *x, float *y, int n, float a)>"
    assert [str(one) for one in program["move"].parameters] == [
        "point *points",
        "point by",
        "int n",
    ]


def test_a_kernel_in_a_namespace_is_found_by_its_last_name(program, rng):
    points = rng.standard_normal((40, 2), dtype=np.float32)
    expected = points + np.float32([1, 2])
    program["move"][2, 32](points, np.array([1, 2], np.float32), 40)
    assert np.array_equal(points, expected)
    assert program["shapes::move"].name == "shapes::move"


def test_struct_arguments_may_be_structured(program):
    point = np.dtype([("x", "f4"), ("y", "f4")])
    points = np.zeros(3, point)
    program["move"][1, 32](points, np.array((1, 2), point)[()], 3)
    assert points.tolist() == [(1, 2)] * 3


def test_templates_by_instance(program):
    x = np.arange(8, dtype=np.float64)
    program["scale<double, 3>"][1, 8](x)
    assert np.array_equal(x, 3 * np.arange(8))
    y = np.arange(8, dtype=np.int16)
    program["scale<short, -1>"][1, 8](y)
    assert np.array_equal(y, -np.arange(8))
    assert "scale<short, -1>" in program.kernels


# ---- variables -----------------------------------------------------------------------------------


def test_symbols_are_read_and_set(program):
    assert gm.get_symbol(program, "total") == 2.5
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    gm.set_symbol(program, "coefficients", weights)
    assert np.array_equal(gm.get_symbol(program, "coefficients"), weights)
    out = np.zeros(6, np.float32)
    program["weigh"][1, 6](out)
    assert np.array_equal(out, weights.ravel())


def test_a_symbols_value_is_a_copy(program):
    value = gm.get_symbol(program, "coefficients")
    value += 1
    assert not gm.get_symbol(program, "coefficients").any()


def test_symbols_stay_from_call_to_call_and_under_observation(program):
    x, y = np.ones((2, 8), np.float32)
    for _ in range(2):
        program["saxpy"][1, 8](x, y, 8, 1.0)
    program["saxpy"][1, 8].observe((x, y, 8, 1.0))
    program["saxpy"][1, 8](x, y, 8, 1.0)
    assert gm.get_symbol(program, "calls") == 4


def test_symbols_are_set_between_runs_under_observation(program):
    x, y = np.ones((2, 8), np.float32)
    run = program["saxpy"][1, 8]
    for value in (20, 30):
        run.observe((x, y, 8, 1.0))
        gm.set_symbol(program, "calls", value)
        assert gm.get_symbol(program, "calls") == value
    run.observe((x, y, 8, 1.0))
    assert gm.get_symbol(program, "calls") == 31
    gm.set_symbol(program, "calls", 40)
    run(x, y, 8, 1.0)
    assert gm.get_symbol(program, "calls") == 41


def test_a_new_instance_keeps_symbols(program):
    gm.set_symbol(program, "calls", 7)
    kernel = program["saxpy"]
    program["scale<float, 2>"][1, 1](np.ones(1, np.float32))
    assert gm.get_symbol(program, "calls") == 7
    kernel[1, 1](np.ones(1, np.float32), np.ones(1, np.float32), 1, 0.0)
    assert gm.get_symbol(program, "calls") == 8


def test_each_load_has_variables_of_its_own():
    source = "__device__ int n = 5; __global__ void add() { n++; }"
    one, other = load(source), load(source)
    one["add"][1, 1]()
    one["add"][1, 1]()
    other["add"][1, 1]()
    assert (gm.get_symbol(one, "n"), gm.get_symbol(other, "n")) == (7, 6)
    del one, other
    assert gm.get_symbol(load(source), "n") == 5


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ([1.0, 2.0], ValueError, r"shape \(2, 3\), and was given \(2,\)"),
        (1.0, ValueError, r"\(2, 3\), and was given \(\)"),
        (np.ones((2, 3), complex), TypeError, "float32, and was given complex128"),
        ("text", TypeError, "float32, and was given <U4"),
    ],
)
def test_wrong_values_of_symbols(program, value, error, words):
    with pytest.raises(error, match=words):
        gm.set_symbol(program, "coefficients", value)
    assert not gm.get_symbol(program, "coefficients").any()


def test_symbols_of_structures_take_no_objects():
    module = load("struct pair { int a, b; }; __device__ pair p; __global__ void k() {}")
    with pytest.raises(TypeError, match="p has 8 bytes, and was given Python objects"):
        gm.set_symbol(module, "p", None)
    assert gm.get_symbol(module, "p").tobytes() == bytes(8)


def test_unknown_symbols(program):
    with pytest.raises(KeyError, match=r"no device variable 'totl'.*Did you mean 'total'"):
        gm.get_symbol(program, "totl")


# ---- which kernel --------------------------------------------------------------------------------


def test_unknown_kernels(program):
    with pytest.raises(KeyError, match=r"no kernel 'sapxy'; it has.*Did you mean 'saxpy'"):
        program["sapxy"]
    with pytest.raises(
        KeyError, match=r"scale is a template: ask for an instance, as scale<\.\.\.>"
    ):
        program["scale"]
    with pytest.raises(KeyError, match=r"saxpy is no template: ask for it without <\.\.\.>"):
        program["saxpy<float>"]
    with pytest.raises(TypeError, match="by its name, not 3"):
        program[3]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("scale<float>", "scale<float> does not compile: "),
        ("scale<nonsense, 1>", "scale<nonsense, 1> does not compile: "),
        ("scale<float, 1>; int x", "'scale<float, 1>; int x' is no instance of a template"),
        ('scale<"a", 1>', "is no instance of a template"),
    ],
)
def test_wrong_instances(program, name, says):
    with pytest.raises(gm.CompileError, match=re.escape(says)):
        program[name]
    assert "saxpy" in program.kernels


# ---- sources -------------------------------------------------------------------------------------


def test_neither_or_both_sources():
    for wrong in ({}, {"path": "x.cu", "source": ""}):
        with pytest.raises(TypeError, match="a path or source=, one of the two"):
            gm.load(**wrong)
    with pytest.raises(TypeError, match="source must be text"):
        gm.load(source=b"")
    with pytest.raises(FileNotFoundError):
        gm.load("no such file.cu")
    with pytest.raises(ValueError, match='backend is "tpu"'):
        gm.load(source="", backend="tpu")


def test_a_text_may_begin_with_a_byte_order_mark():
    assert list(gm.load(source="\ufeff__global__ void k() {}").kernels) == ["k"]


def test_a_source_without_kernels():
    with pytest.raises(gm.CompileError, match=r"mine\.cu has no kernel"):
        load("int main() { return 0; }", name="mine.cu")


def test_errors_name_the_users_file_and_line(tmp_path):
    path = tmp_path / "wrong.cu"
    path.write_text("// one\n__global__ void k(int *x)\n{\n    *x = undeclared;\n}\n")
    with pytest.raises(gm.CompileError, match=r"wrong\.cu:4:\d+: error:.*undeclared"):
        gm.load(path)


def test_includes_defines_and_options(tmp_path):
    (tmp_path / "beside.h").write_text("#define FIRST 1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "further.h").write_text("#define SECOND 2\n")
    path = tmp_path / "k.cu"
    path.write_text(
        '#include "beside.h"\n#include <further.h>\n'
        "__global__ void k(int *x) { x[0] = FIRST; x[1] = SECOND; x[2] = THIRD; x[3] = FOURTH; }\n"
    )
    module = gm.load(
        path,
        include_dirs=[tmp_path / "elsewhere"],
        defines={"THIRD": 3},
        options=["-DFOURTH=4", "-O3", "-lineinfo", "-std=c++20", "--use_fast_math"],
    )
    x = np.zeros(4, np.int32)
    module["k"][1, 1](x)
    assert x.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("defines", "error", "words"),
    [
        (3, TypeError, "defines must be a mapping"),
        ({3: 1}, TypeError, "defines must have names as text, not 3"),
        ({"N M": 1}, ValueError, "defines has the name 'N M', expected one of C"),
        ({"": 1}, ValueError, "defines has the name ''"),
    ],
)
def test_defines_have_names(defines, error, words):
    with pytest.raises(error, match=words):
        load("__global__ void k() {}", defines=defines)


def test_defines_may_have_parameters():
    module = load("__global__ void k(int *x) { *x = TWICE(4); }", defines={"TWICE(n)": "(2 * (n))"})
    x = np.zeros(1, np.int32)
    module["k"][1, 1](x)
    assert x == 8


@pytest.mark.parametrize("option", ["-o/tmp/x", "--compiler-bindir=evil", "; rm", "-fplugin=x.so"])
def test_options_that_are_not_known_are_refused(option):
    with pytest.raises(gm.CompileError, match="does not know the option"):
        load("__global__ void k() {}", options=[option])


def test_a_changed_header_is_noticed(tmp_path):
    header, path = tmp_path / "value.h", tmp_path / "k.cu"
    path.write_text('#include "value.h"\n__global__ void k(int *x) { *x = VALUE; }\n')
    for value in (1, 22):
        header.write_text(f"#define VALUE {value}\n")
        x = np.zeros(1, np.int32)
        gm.load(path)["k"][1, 1](x)
        assert x[0] == value


def test_a_header_that_comes_to_be_is_noticed(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        '#include "late.h"\n#ifndef VALUE\n#define VALUE 1\n#endif\n'
        "__global__ void k(int *x) { *x = VALUE; }\n"
    )
    results = []
    for _ in range(2):
        x = np.zeros(1, np.int32)
        gm.load(path)["k"][1, 1](x)
        results.append(x[0])
        (tmp_path / "late.h").write_text("#define VALUE 2\n")
    assert results == [1, 2]


# ---- grids ---------------------------------------------------------------------------------------

WHERE = """
__global__ void where(unsigned *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    out[i] = i;
}
__global__ void dynamic(int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("grid", "block"), [(3, 5), ((3,), [5]), ((2, 3), (4, 2)), ((1, 2, 3), (2, 3, 4))]
)
def test_grids(grid, block):
    out = np.zeros(int(np.prod(grid) * np.prod(block)), np.uint32)
    load(WHERE)["where"][grid, block](out)
    assert np.array_equal(out, np.arange(len(out)))


def test_dynamic_shared_memory_and_a_stream():
    out = np.zeros(32, np.int32)
    kernel = load(WHERE)["dynamic"]
    kernel[1, 32, None, 128](out)
    assert np.array_equal(out, np.arange(32)[::-1])
    out[:] = 0
    kernel[1, 32, gm.Stream(backend="sim"), np.int64(128)](out)
    assert np.array_equal(out, np.arange(32)[::-1])


@pytest.mark.parametrize(
    ("size", "error", "words"),
    [
        (1, TypeError, r"where\[grid, block, stream, shared_bytes\] takes two to four, not 1"),
        ((1, 2, None, 0, 0), TypeError, "takes two to four"),
        ((0, 1), ValueError, r"grid is 0; each side is from 1 to 2\*\*31 - 1"),
        ((1, (2, -1)), ValueError, r"block is \(2, -1\)"),
        ((2**40, 1), ValueError, r"grid is 1099511627776; each side is from 1 to 2\*\*31 - 1"),
        ((1.5, 1), TypeError, "grid must be an integer, not 1.5"),
        ((1, (1, 1, 1, 1)), ValueError, "block has up to three dimensions, not 4"),
        ((1, 1, None, -4), ValueError, "shared_bytes must be at least 0, not -4"),
    ],
)
def test_wrong_grids(size, error, words):
    with pytest.raises(error, match=words):
        load(WHERE)["where"][size]


@pytest.mark.parametrize(
    "use",
    [
        lambda k: k(1),
        lambda k: gm.traffic(k, 1),
        lambda k: gm.explain(k, 1),
        lambda k: gm.bench(k, 1),
    ],
    ids=["call", "traffic", "explain", "bench"],
)
def test_a_kernel_without_a_grid(use):
    kernel = load("__global__ void k(int n) {}")["k"]
    with pytest.raises(TypeError, match=r"^k needs a grid and a block: k\[grid, block\]"):
        use(kernel)


@pytest.mark.parametrize(
    ("stream", "error", "words"),
    [
        ("s", TypeError, r"stream must be a gpumem\.Stream"),
        (1.5, TypeError, "not float"),
        (7, ValueError, 'stream is a CUDA stream, the call runs on "sim"'),
    ],
)
def test_wrong_streams(stream, error, words):
    out = np.zeros(4, np.int32)
    with pytest.raises(error, match=words):
        load(WHERE)["dynamic"][1, 4, stream, 16](out)
    assert not out.any()


VALUES = """
struct pair { int a; float b; };
__global__ void number(float *out, float x) { *out = x; }
__global__ void value(float *out, pair p) { *out = p.b; }
__global__ void pairs(float *out, const pair *p) { *out = p->b; }
"""


@pytest.mark.parametrize(
    ("kernel", "value", "error", "words"),
    [
        ("number", 10**400, ValueError, "number: float x cannot be 10*….* too large for a float"),
        ("value", np.array(None), TypeError, "value: pair p takes a NumPy scalar"),
        ("value", np.ma.zeros(2, "f4"), TypeError, "p is a masked array"),
        ("pairs", np.zeros(3, "V0"), TypeError, "const pair .p takes an array of elements of 8"),
    ],
)
def test_wrong_values(kernel, value, error, words):
    out = np.zeros(1, np.float32)
    with pytest.raises(error, match=words):
        load(VALUES)[kernel][1, 1](out, value)
    assert not out.any()


def test_too_many_threads():
    out = np.zeros(2000, np.uint32)
    with pytest.raises(gm.SimulationError, match="2000 threads") as caught:
        load(WHERE)["where"][1, 2000](out)
    assert caught.value.rule == "launch"
    assert not out.any()


def test_cooperative_launches():
    module = load("""
        #include <cooperative_groups.h>
        __global__ void all(int *n) {
            atomicAdd(n, 1);
            cooperative_groups::this_grid().sync();
            n[1 + blockIdx.x] = n[0];
        }
    """)
    n = np.zeros(9, np.int32)
    module["all"].launch(8, 1, cooperative=True)(n)
    assert n.tolist() == [8] * 9
    with pytest.raises(gm.SimulationError, match="not cooperative"):
        module["all"][8, 1](n)


def test_a_failing_kernel_leaves_host_arrays_as_they_were():
    module = load(
        "__global__ void k(int *x) { x[threadIdx.x] = 1; if (threadIdx.x == 9) __trap(); }"
    )
    x = np.zeros(32, np.int32)
    with pytest.raises(gm.SimulationError, match="trap"):
        module["k"][1, 32](x)
    assert not x.any()
