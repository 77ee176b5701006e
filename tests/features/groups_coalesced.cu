// Cooperative groups: the threads of a warp that took the same branch.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int add_together(int *counter)
{
    cg::coalesced_group group = cg::coalesced_threads();
    int before;
    if (group.thread_rank() == 0) {
        before = atomicAdd(counter, (int)group.size());
    }
    return group.shfl(before, 0) + group.thread_rank();
}

__global__ void keep_positive(const int *in, int *kept, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) {
        kept[add_together(count)] = in[i];
    }
}

__global__ void odd_and_even(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t % 2) {
        auto group = cg::coalesced_threads();
        out[t] = group.shfl(in[t], 15 - group.thread_rank()) + 100 * group.size();
        group.sync();
    } else {
        auto group = cg::coalesced_threads();
        out[t] = group.shfl_down(in[t], 1) + (int)__popc(group.ballot(in[t] > 0));
    }
}

__global__ void partitions(const int *in, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    cg::coalesced_group side = cg::binary_partition(warp, in[t] > 0);
    out[2 * t] = side.size() * 100 + side.thread_rank();
    cg::coalesced_group label = cg::labeled_partition(warp, in[t] & 3);
    out[2 * t + 1] = label.size() * 100 + label.thread_rank();
}
