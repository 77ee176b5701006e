/* Cooperative groups beyond a block: the grid, and clusters of one block, since the simulator
 * launches no larger ones. */
#ifndef GPUMEM_CUDA_GROUP_GRID_H
#define GPUMEM_CUDA_GROUP_GRID_H

#include "sim/cuda/cooperative_groups.h"

namespace cooperative_groups {

class grid_group {
  public:
    typedef unsigned arrival_token;

    /* A launch that is not cooperative fails at the barrier, which says so. */
    static __forceinline__ bool is_valid()
    {
        return true;
    }

    static __forceinline__ void sync(GM_PLACE)
    {
        gm_sim_grid_barrier(file, line);
    }

    static __forceinline__ arrival_token barrier_arrive()
    {
        return 0;
    }

    static __forceinline__ void barrier_wait(arrival_token &&, GM_PLACE)
    {
        gm_sim_grid_barrier(file, line);
    }

    static __forceinline__ unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }

    static __forceinline__ unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }

    static __forceinline__ unsigned long long num_threads()
    {
        return num_blocks() * gm_block_threads();
    }

    static __forceinline__ unsigned long long size()
    {
        return num_threads();
    }

    static __forceinline__ unsigned long long thread_rank()
    {
        return block_rank() * gm_block_threads() + gm_thread_number();
    }

    static __forceinline__ dim3 group_dim()
    {
        return gridDim;
    }

    static __forceinline__ dim3 dim_blocks()
    {
        return gridDim;
    }

    static __forceinline__ dim3 block_index()
    {
        return blockIdx;
    }
};

static __forceinline__ grid_group this_grid()
{
    return grid_group();
}

/* A cluster of one block. */
class cluster_group : public thread_block {
  public:
    static __forceinline__ unsigned block_rank()
    {
        return 0;
    }

    static __forceinline__ unsigned num_blocks()
    {
        return 1;
    }

    static __forceinline__ dim3 block_index()
    {
        return {0, 0, 0};
    }

    static __forceinline__ dim3 dim_blocks()
    {
        return {1, 1, 1};
    }

    static __forceinline__ unsigned query_shared_rank(const void *)
    {
        return 0;
    }

    template <typename type>
    static __forceinline__ type *map_shared_rank(type *address, int rank, GM_PLACE)
    {
        if (rank != 0) {
            gm_sim_fault(file, line,
                         "shared memory of another block of the cluster: the simulator has "
                         "clusters of one block only");
        }
        return address;
    }
};

static __forceinline__ cluster_group this_cluster()
{
    return cluster_group();
}

GM_REFUSE_FUNCTION(this_multi_grid, "gone since CUDA 13: grids of several GPUs are not simulated")

} // namespace cooperative_groups

#endif
