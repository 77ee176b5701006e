"""Vector types: CUDA's sizes, alignments and ways of being written."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_library import COMPILERS, build
from loading import load

KINDS = {
    "char": ("signed char", 1), "uchar": ("unsigned char", 1), "short": ("short", 2),
    "ushort": ("unsigned short", 2), "int": ("int", 4), "uint": ("unsigned", 4),
    "long": ("long", 8), "ulong": ("unsigned long", 8), "longlong": ("long long", 8),
    "ulonglong": ("unsigned long long", 8), "float": ("float", 4), "double": ("double", 8),
}  # fmt: skip

FORMS = """
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

__constant__ float4 table[2] = {{1, 2, 3, 4}, {5}};
static constexpr int2 pairs[] = {{1, 2}, {3, 4}};
static_assert(pairs[1].y == 4 && offsetof(float4, z) == 8 && offsetof(float3, z) == 8, "");
static_assert(sizeof(dim3) == 12 && sizeof(uint3) == 12, "");
static_assert(dim3(7).z == 1 && dim3(1, 2).y == 2, "");

struct Particle { float3 place; float4 rest; };
union Bytes { float4 vector; unsigned char bytes[16]; };

static unsigned volume(dim3 size) { return size.x * size.y * size.z; }
static float4 operator*(float4 a, float b)
{
    return make_float4(a.x * b, a.y * b, a.z * b, a.w * b);
}
static float4 operator+(float4 a, float4 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

extern "C" int forms(void)
{
    float4 zero = {}, one = {1}, all{1, 2, 3, 4}, copy = all;
    float3 three = {1, 2, 3}, unset;
    unset = three;
    float2 few[2] = {{1, 2}, {3}};
    float4 sums[4] = {0};
    Particle none = {0};
    int2 nought = {0};
    uint3 index = threadIdx;
    dim3 grid = gridDim, five = 5, of_index = threadIdx;
    uint3 written = {1, 2, 3}, fewer = {4}, again = written;
    again = threadIdx;
    dim3 from_uint3 = written;
    uint3 from_dim3 = from_uint3;
    Particle particle = {{1, 2, 3}, {4, 5, 6, 7}}, another = particle;
    Bytes bytes;
    bytes.vector = all;
    volatile float4 loose;
    loose.x = 1;
    double4 wide = make_double4(1, 2, 3, 4), wide_copy = wide;
    (&all.x)[3] = 8;
    std::vector<float4> many(3, all);
    std::swap(many[0], many[1]);
    float4 sum = all * 2 + one;
    return zero.w == 0 && one.x == 1 && one.y == 0 && copy.w == 4 && all.w == 8 && unset.z == 3 &&
           few[1].x == 3 && few[1].y == 0 && index.x == 0 && five.y == 1 && grid.x == 0 &&
           fewer.z == 0 && again.y == 0 && from_dim3.z == 3 && of_index.x == 0 &&
           another.rest.w == 7 && another.place.z == 3 && bytes.bytes[3] == 63 && loose.x == 1 &&
           wide_copy.w == 4 && volume(5) == 5 && volume({2, 3}) == 6 && table[1].x == 5 &&
           many[2].w == 8 && sum.x == 3 && sums[3].w == 0 && none.rest.z == 0 && nought.y == 0 &&
           std::min(1, 2) == min(1, 2u);
}

extern "C" int loads(float4 *to, const float4 *from, half *halves)
{
    __stcs(&halves[0], 1.0f);
    __stcg(to, __ldg(from));
    return __ldcg(&to->w) == from->w && __ldg(halves) == half(1);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sizes_and_alignments(compiler, tmp_path):
    lines = []
    for name, (member, size) in KINDS.items():
        for count in range(1, 5):
            align = size if count == 3 else min(size * count, 16)
            letters = "xyzw"[:count]
            values = ", ".join(f"({member}){k}" for k in range(1, count + 1))
            vector = f"{name}{count}"
            condition = f"sizeof({vector}) == {size * count} && alignof({vector}) == {align}"
            lines.append(f'static_assert({condition}, "{vector}");')
            sums = " + ".join(f"(int)v.{x} * {10**k}" for k, x in enumerate(letters))
            lines.append(
                f'extern "C" int get_{vector}(void) {{ {vector} v = make_{vector}({values}), w = v;'
                f" v = w; {member} &first = v.x; (void)first; return {sums}; }}"
            )
        if size == 8:
            for align in (16, 32):
                vector = f"{name}4_{align}a"
                lines.append(f'static_assert(alignof({vector}) == {align}, "{vector}");')
                lines.append(
                    f"static {vector} of_{vector}(void) {{ return make_{vector}(1, 2, 3, 4); }}"
                )
    library = build("\n".join(lines), tmp_path, compiler)
    for name in KINDS:
        for count in range(1, 5):
            assert library[f"get_{name}{count}"]() == int("4321"[4 - count :]), (name, count)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_ways_of_writing_them(compiler, tmp_path):
    erased = "#define __constant__\n#include <cuda_fp16.h>\n"
    state = 'extern "C" { __thread const gm_lane_state gm_lane = {}; }\n'
    library = build(erased + FORMS + state, tmp_path, compiler)
    assert library.forms() == 1


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_people_write_compiles(compiler, monkeypatch):
    monkeypatch.setenv("CXX", compiler)
    module = load(Path(__file__).with_name("idioms.cu"))
    assert set(module.kernels()) == {"vectorised", "halves", "bodies", "numbers"}
