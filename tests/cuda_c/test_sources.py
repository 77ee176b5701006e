"""Sources as people write them: what of them becomes a kernel of the simulator."""

import os
from pathlib import Path

import numpy as np
import pytest
from loading import Loaded, load

from gpumem import CompileError
from gpumem.cuda_c.compile import Source
from gpumem.cuda_c.machine_type import MachineType
from gpumem.cuda_c.rewrite import rewrite

SOURCE = """
#include <cstdio>
#include <vector>
#include "helper_that_is_not_there.h"
#define BLOCK 64
#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, "failed\\n"); return 1; } } while (0)

namespace shop {
__constant__ float factors[2];
template <typename type> __device__ type twice(type x) { return x + x; }
struct Range { int first, last; __device__ int size() const { return last - first; } };
namespace {
__global__ void size_of(Range range, int *out) { *out = range.size(); }
}
}

__device__ int calls = 3;
extern __shared__ float stage[];

template <int times> __global__ void scale(float *x) { x[threadIdx.x] *= times; }

__global__ void reverse(const float *in, float *out, int n)
{
    __shared__ float tile[BLOCK], *unused;
    int i = threadIdx.x;
    float t;
    if (i < n) {
        t = in[i];
        tile[i] = t;
        stage[i] = shop::twice(t);
    }
    __syncthreads();
    if (i < n) out[i] = tile[n - 1 - i] + stage[i] + calls;
}

static int launch(const std::vector<float> &h)
{
    float *d;
    CHECK(cudaMalloc(&d, h.size() * sizeof(float)));
    reverse<<<1, BLOCK, BLOCK * sizeof(float)>>>(d, d, BLOCK);
    return 0;
}

int main(int argc, char **argv) { std::vector<float> h(BLOCK); return launch(h); }
"""


@pytest.fixture(scope="module")
def module():
    return load(source=SOURCE, name="shop.cu", instances=["scale<3>"])


def test_kernels_are_found(module):
    kernels = module.kernels()
    assert set(kernels) == {"shop::size_of", "reverse", "scale<3>"}
    assert [one.machine for one in kernels["reverse"].parameters] == [
        MachineType("f", 4, True, True),
        MachineType("f", 4, True, False),
        MachineType("i", 4, False, False),
    ]
    assert kernels["shop::size_of"].parameters[0].machine == MachineType("V", 8, False, False)


def test_run_and_check(module):
    values = np.random.default_rng().random(64, np.float32)
    out = np.zeros(64, np.float32)
    module.run("reverse", 1, 64, [values, out, 64], shared_bytes=256)
    assert np.array_equal(out, values[::-1] + 2 * values + np.float32(3))
    assert module.check("reverse", 1, 64, [values, out, 64], shared_bytes=256) is None
    size = np.zeros(1, np.int32)
    module.run("shop::size_of", 1, 1, [np.array([3, 10], np.int32), size])
    assert size[0] == 7
    module.run("scale<3>", 1, 64, [out])
    assert np.array_equal(out, 3 * (values[::-1] + 2 * values + np.float32(3)))


def test_findings_name_the_line_of_the_source(module):
    values = np.ones(64, np.float32)
    error = module.check("reverse", 1, 64, [values, np.ones(63, np.float32), 64], shared_bytes=256)
    line = next(i for i, text in enumerate(SOURCE.split("\n"), 1) if "out[i] =" in text)
    assert (error.file, error.line) == ("shop.cu", line)
    assert "out of bounds" in str(error)


def test_traffic(module):
    values = np.ones(64, np.float32)
    lines = module.traffic("scale<3>", 1, 64, [values])["sites"]
    assert [(line["kind"], line["sectors"]) for line in lines] == [("load", 8), ("store", 8)]


def test_an_error_of_the_compiler_names_the_line():
    with pytest.raises(CompileError, match=r"bad\.cu:3:.*missing"):
        load(
            source="\n__global__ void k(int *x) {\n    *x = missing;\n}\n", name="bad.cu"
        ).kernels()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('asm("mov.u32 %0, %laneid;" : "=r"(*x));', r"two\.cu:2: PTX assembly"),
        ("other<<<1, 1>>>(x);", r"two\.cu:2: a kernel that launches a kernel"),
        ("__shared__ int s = 1; *x = s;", r"two\.cu:2: the __shared__ variable s has an init"),
    ],
)
def test_what_is_refused_is_named(body, message):
    source = f"__global__ void other(int *x);\n__global__ void k(int *x) {{ {body} }}\n"
    with pytest.raises(CompileError, match=message):
        load(source=source, name="two.cu").kernels()


def test_a_source_without_kernels():
    with pytest.raises(CompileError, match=r"none\.cu has no kernel"):
        load(source="int main() { return 0; }", name="none.cu").kernels()


BODIES = [
    "int i, j = 1, k[2]; i = j; k[0] = i; k[1] = k[0]; *x = k[1];",
    "for (int i = 0, n = 2; i < n; i++) { float f; f = i; *x += (int)f; }",
    "switch (*x) { case 0: int a; a = 1; *x = a; break; default: *x = 2; }",
    "struct P { int a; float b; }; P p; p.a = 1; p.b = 2; P q = p; *x = q.a;",
    "int t = *x > 0 ? t = 2, t * t : 3; *x = t;",
    "auto f = [](int v) { int w; w = v; return w * w; }; *x = f(3);",
    "union { float f; unsigned u; } both; both.f = 1.0f; *x = both.u != 0;",
    "union { float f; unsigned u; } both = {1.0f}, more; more = both; *x = more.u != 0;",
    "struct P { int a; float b; } p = {1, 2}; int c; c = p.a; *x = c;",
    "int (*row)[2]; int rows[2][2] = {{1, 2}, {3, 4}}; row = rows; *x = row[1][0];",
    "{ int *p; p = x; *p = 4; } while (*x > 5) *x -= 1;",
]


@pytest.fixture(scope="module")
def bodies():
    kernels = (f"__global__ void k{i}(int *x) {{ {body} }}\n" for i, body in enumerate(BODIES))
    return load(source="".join(kernels))


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_declarations_of_local_variables(bodies, number):
    x, y = np.zeros(1, np.int32), np.zeros(1, np.int32)
    bodies.run(f"k{number}", 1, 1, [x])
    assert bodies.check(f"k{number}", 1, 1, [y]) is None
    assert x[0] == y[0] != 0


def test_a_header_that_is_only_touched_needs_no_other_object(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUMEM_CACHE_DIR", str(tmp_path / "cache"))
    header = tmp_path / "one.h"
    header.write_text("#define ONE 1\n")
    text = '#include "nowhere.h"\n#include "one.h"\n__global__ void k(int *x) { *x = ONE; }'
    for time in (1, 2):
        os.utime(header, (time, time))
        load(source=text, include_dirs=[str(tmp_path)]).kernels()
    assert len(list((tmp_path / "cache/modules").glob("*.so"))) == 1


# ---- what programs have around their kernels ----------------------------------------------

HOST_ONLY = """
#include <functional>
#include <map>
#include <string>
#include "library_that_is_not_there.h"
using namespace std;

template <typename T> struct Deleter { void operator()(T *p) const { cudaFree(p); } };
template <typename T> using device_ptr = library::pointer<T, Deleter<T>>;  // not there
namespace app {
float *allocate(int n) { float *p; cudaMalloc(&p, n * sizeof(float)); return p; }
int count() { return 3; }
struct Window { library::handle handle; std::string title = "none"; };
static_assert(sizeof(Window) > 8, "");
}
using app::count;
using app::Window;
enum class Mode { fast, slow };
struct Add { int n; };
template <> struct std::hash<Add> { size_t operator()(const Add &a) const { return a.n; } };

constexpr int half(int n) { return n / 2; }
const int width = 8;
constexpr int height = half(width);
const int threads = app::count();
const std::string title = std::to_string(threads);
static bool first(), second();
static const struct { const char *name; bool (*run)(); } tests[] = {{"1", first}, {"2", second}};
const std::map<std::string, std::function<int()>> table = {{"f", [] { return count(); }}};
struct Options { int n = app::count(); } options;

struct Buffer {
    float *data = app::allocate(width);
    int size = width;
    __device__ int area() const { return size * height; }
    bool operator<(const Buffer &o) const { return library::less(size, o.size); }
    __device__ bool operator>(const Buffer &o) const { return size > o.size; }
};

template <typename T, Mode mode = Mode::slow> __global__ void fill(int *x) { *x = sizeof(T); }
__global__ void größe(int *x)
{
    Buffer b, c;
    b.size = width + 1;
    c.size = width;
    *x = b > c ? b.area() : 0;
}
static bool first() { return true; }
static bool second() { return fill<Add, Mode::fast>, false; }
"""


@pytest.mark.parametrize("traced", [False, True])
def test_what_only_the_host_uses_is_left_out(traced):
    module = load(source=HOST_ONLY, name="host.cu", instances=["fill<Add>"])
    x = np.zeros(1, np.int32)
    launch = module.traffic if traced else module.run
    launch("größe", 1, 1, [x])
    assert x[0] == 36
    launch("fill<Add>", 1, 1, [x])
    assert x[0] == 4


def test_a_specialised_kernel_is_an_instance():
    source = """
        template <typename T> __global__ void k(int *x) { *x = 1; }
        template <> __global__ void k<double>(int *x) { *x = 2; }
    """
    module = load(source=source, instances=["k<float>", "k<double>"])
    assert list(module.kernels()) == ["k<float>", "k<double>"]
    x = np.zeros(2, np.int32)
    module.run("k<float>", 1, 1, [x[:1]])
    module.run("k<double>", 1, 1, [x[1:]])
    assert x.tolist() == [1, 2]
    rewritten = rewrite(source, mark_locals=False)
    assert (rewritten.kernels, rewritten.templates) == ([], ["k"])


def test_a_static_assertion_about_the_device_stays():
    source = """
        const int tile = 12;
        static_assert(tile % 8 == 0, "a tile is whole rows");
        __global__ void k(int *x) { x[threadIdx.x] = tile; }
    """
    with pytest.raises(CompileError, match="a tile is whole rows"):
        load(source=source).kernels()


@pytest.mark.parametrize(
    ("declared", "size"), [("float s[1 << 3]", 32), ("unsigned char s[(N >> 1) + 1][2]", 18)]
)
def test_sizes_of_shared_arrays_are_expressions(declared, size):
    source = f"""
        #define N (1 << 4)
        __global__ void k(int *x) {{ __shared__ {declared}; *x = sizeof(s); }}
    """
    x = np.zeros(1, np.int32)
    load(source=source).run("k", 1, 1, [x])
    assert x[0] == size


def test_names_that_the_standard_library_has_too():
    source = """
        #include <algorithm>
        using namespace std;
        __device__ int count;
        __global__ void find(int *x) { *x = ::count + 1; }
        template <int n> __global__ void copy(int *x) { *x = n; }
    """
    module = load(source=source, instances=["copy<5>"])
    x = np.zeros(1, np.int32)
    module.run("find", 1, 1, [x])
    assert x[0] == 1
    module.run("copy<5>", 1, 1, [x])
    assert x[0] == 5


@pytest.mark.parametrize(
    ("encoding", "newline"), [("utf-8-sig", "\r\n"), ("latin-1", "\n"), ("utf-8", "\r\n")]
)
def test_files_from_other_systems(tmp_path, encoding, newline):
    lines = ["// Größe", "#define TWICE(x) \\", "    (2 * (x))"]
    lines += ["__global__ void k(int *x) { *x = TWICE(4); }  // für alle", ""]
    path = tmp_path / "k.cu"
    path.write_bytes(newline.join(lines).encode(encoding))
    x = np.zeros(1, np.int32)
    load(path).run("k", 1, 1, [x])
    assert x[0] == 8


@pytest.mark.parametrize(
    ("source", "options", "value"),
    [
        ("const float scale(2.5f); __global__ void k(int *x) { *x = int(2 * scale); }", [], 5),
        (
            "auto f = [] __host__ __device__(int v) { return v; };\n"
            "__global__ void k(int *x) { *x = 3; }",
            [],
            3,
        ),
        (
            "#include <cublas_v2.h>\nstatic cublasHandle_t h; struct C { cublasHandle_t h; };\n"
            "void f(C &c) { cublasSgemm(c.h); }\n__global__ void k(int *x) { *x = 4; }",
            [],
            4,
        ),
        (
            "template <int n> requires (n > 1) && (n < 9) __global__ void k(int *x) { *x = n; }\n",
            ["-std=c++20"],
            6,
        ),
    ],
    ids=["constant", "lambda", "library", "requires"],
)
def test_what_else_programs_have(source, options, value):
    what = Source(source, "x.cu", Path.cwd(), {}, (), (), tuple(options))
    module = Loaded(what if value != 6 else what.with_instance("k<6>"))
    (kernel,) = module.kernels()
    x = np.zeros(1, np.int32)
    module.run(kernel, 1, 1, [x])
    assert x[0] == value
