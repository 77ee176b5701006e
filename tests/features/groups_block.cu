// Cooperative groups: the block, its indices and its barrier.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int sum_of(cg::thread_block group, int *kept, int value)
{
    int rank = group.thread_rank();
    for (int half = group.size() / 2; half > 0; half /= 2) {
        kept[rank] = value;
        group.sync();
        if (rank < half) {
            value += kept[rank + half];
        }
        group.sync();
    }
    return value;
}

__global__ void block_sum(const int *in, int *out)
{
    __shared__ int kept[128];
    cg::thread_block block = cg::this_thread_block();
    int i = block.group_index().x * block.size() + block.thread_rank();
    int sum = sum_of(block, kept, in[i]);
    if (block.thread_rank() == 0) {
        out[block.group_index().x] = sum;
    }
}

__global__ void block_indices(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    int rank = block.thread_rank();
    out[4 * rank] = block.thread_index().x + 10 * block.thread_index().y;
    out[4 * rank + 1] = block.group_dim().x * block.group_dim().y;
    out[4 * rank + 2] = block.num_threads();
    cg::sync(block);
    out[4 * rank + 3] = rank;
}
