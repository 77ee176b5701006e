// Cooperative groups: tiles of a warp.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <typename Tile> __device__ float tile_sum(Tile tile, float value)
{
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) {
        value += tile.shfl_down(value, offset);
    }
    return tile.shfl(value, 0);
}

__global__ void sums_of_warps(const float *in, float *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tile_sum(warp, in[i]);
}

__global__ void sums_of_eight(const float *in, float *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tile_sum(tile, in[i]) + tile.meta_group_rank() * 1000.0f + tile.meta_group_size();
}

__global__ void tile_operations(const int *in, int *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x, v = in[t], n = blockDim.x;
    out[t] = tile.shfl_xor(v, 3) + tile.shfl_up(v, 2);
    out[n + t] = (int)tile.ballot(v > 0);
    out[2 * n + t] = 2 * (tile.any(v > 90) != 0) + (tile.all(v > -90) != 0);
    out[3 * n + t] = (int)tile.match_any(v & 3);
    tile.sync();
    out[4 * n + t] = (int)tile.thread_rank();
}

__global__ void dynamic_tiles(const int *in, int *out, int size)
{
    cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), size);
    __shared__ int kept[64];
    int t = threadIdx.x;
    kept[t] = in[t];
    tile.sync();
    int first = t - (int)tile.thread_rank();
    out[t] = kept[first + (int)tile.size() - 1 - (int)tile.thread_rank()];
}
