// Cooperative groups: reductions, scans, one thread for all, copies by a group.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void reductions(const int *in, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = cg::reduce(warp, in[i], cg::plus<int>());
    out[n + i] = cg::reduce(warp, in[i], cg::greater<int>());
    out[2 * n + i] = cg::reduce(warp, in[i], cg::less<int>());
    out[3 * n + i] = cg::reduce(warp, in[i], cg::bit_xor<int>());
}

__global__ void own_operation(const float *in, float *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = threadIdx.x;
    out[i] = cg::reduce(tile, in[i], [](float a, float b) { return fabsf(a) > fabsf(b) ? a : b; });
}

__global__ void scans(const int *in, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = cg::inclusive_scan(warp, in[i]);
    out[n + i] = cg::exclusive_scan(warp, in[i]);
    out[2 * n + i] = cg::inclusive_scan(warp, in[i], cg::greater<int>());
}

__global__ void copied(const int *in, int *out)
{
    __shared__ int kept[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, kept, in + blockIdx.x * 256, sizeof(int) * 256);
    cg::wait(block);
    for (int i = block.thread_rank(); i < 256; i += block.size()) {
        out[blockIdx.x * 256 + i] = kept[255 - i];
    }
}
