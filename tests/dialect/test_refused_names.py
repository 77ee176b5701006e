"""What the simulator does not have is refused where a kernel uses it, by name and line; including
a header, or using its names on the host, is no error."""

from __future__ import annotations

import pytest
from loading import load

from gpumem import CompileError

HOST_SIDE = """
#include <mma.h>
#include <cub/cub.cuh>
#include <cuda_pipeline.h>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

__global__ void kernel(float *out)
{
    static_assert(cuda::std::is_same<float, float>::value, "");
    out[0] = cuda::std::numeric_limits<float>::max();
}
int main()
{
    cub::DeviceReduce::Sum(nullptr, 3);
    kernel<<<1, 1>>>(nullptr);
}
"""


def test_headers_alone_are_no_error():
    assert list(load(source=HOST_SIDE, name="host.cu").kernels()) == ["kernel"]


USES = [
    ("mma.h", "nvcuda::wmma::fill_fragment(*out, 0.0f);", "no tensor cores"),
    ("mma.h", "nvcuda::wmma::mma_sync(*out, *out, *out, *out);", "no tensor cores"),
    ("cub/cub.cuh", "cub::BlockReduce<float, 128>().Sum(1.0f);", "BlockReduce"),
    ("cub/cub.cuh", "typedef cub::WarpScan<int> scan; scan().Sum(1);", "WarpScan"),
    ("cuda/pipeline", "cuda::pipeline_producer_commit(*out, *out);", "cannot hand"),
    ("cstdint", "out[0] = texCubemap<float>(1, 2.0f, 3.0f, 4.0f);", "texCubemap"),
    ("cstdint", "out[0] = tex2Dgather<float4>(1, 2.0f, 3.0f).x;", "tex2Dgather"),
]


@pytest.mark.parametrize(("header", "text", "message"), USES)
def test_use_is_refused_with_its_line(header, text, message):
    source = f"#include <{header}>\n__global__ void k(float *out)\n{{\n    {text}\n}}\n"
    with pytest.raises(CompileError, match=rf"use\.cu:4:(.|\n)*{message}"):
        load(source=source, name="use.cu").kernels()


@pytest.mark.parametrize("header", ["cuda/ptx", "nvshmem.h", "nvshmemx.h"])
def test_headers_without_which_a_kernel_cannot_work(header):
    source = f"\n#include <{header}>\n__global__ void k() {{}}\n"
    with pytest.raises(CompileError, match=rf"use\.cu:2(.|\n)*<{header}>: the simulator"):
        load(source=source, name="use.cu").kernels()
