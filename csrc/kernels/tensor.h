/*
 * Hopper's tensor copy engine, in thin wrappers: it moves boxes of a matrix, or of one of a stack,
 * between global memory, where their rows are far apart, and shared memory, where they are packed.
 * Outside the matrix it reads zeros and writes nothing. Waiting is as in bulk.h; boxes are at
 * multiples of 128 bytes in shared memory, of 1024 if swizzled.
 */
#ifndef GPUMEM_TENSOR_H
#define GPUMEM_TENSOR_H

#include "bulk.h"
#include "tensor_map.h"

#ifdef __CUDACC__

/* Loads the box that begins at column x, row y. The barrier has to expect the bytes of a whole box.
 */
GM_DEVICE void gm_tensor_load(void *shared, const gm_tensor_map *map, int x, int y,
                              gm_mbarrier *barrier)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(gm_shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(gm_shared_address(barrier))
                 : "memory");
#endif
}

/* The same with a cache policy. */
GM_DEVICE void gm_tensor_load_hinted(void *shared, const gm_tensor_map *map, int x, int y,
                                     gm_mbarrier *barrier, uint64_t policy)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(gm_shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(gm_shared_address(barrier)), "l"(policy)
                 : "memory");
#endif
}

/* Loads the box of matrix z of a stack. */
GM_DEVICE void gm_tensor_load_plane(void *shared, const gm_tensor_map *map, int x, int y, int z,
                                    gm_mbarrier *barrier)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(gm_shared_address(shared)),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(gm_shared_address(barrier))
                 : "memory");
#endif
}

/* Each store is a group of its own for gm_bulk_wait_read. */
GM_DEVICE void gm_tensor_store(const gm_tensor_map *map, int x, int y, const void *shared)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 "\n\tcp.async.bulk.commit_group;" ::"l"(map),
                 "r"(x), "r"(y), "r"(gm_shared_address(shared))
                 : "memory");
#endif
}

#else

#define gm_tensor_load(shared, map, x, y, barrier)                                                 \
    gm_sim_tensor_load(shared, map, x, y, barrier, __FILE__, __LINE__)
#define gm_tensor_load_hinted(shared, map, x, y, barrier, policy)                                  \
    ((void)(policy), gm_sim_tensor_load(shared, map, x, y, barrier, __FILE__, __LINE__))
#define gm_tensor_load_plane(shared, map, x, y, z, barrier)                                        \
    gm_sim_tensor_load_plane(shared, map, x, y, z, barrier, __FILE__, __LINE__)
#define gm_tensor_store(map, x, y, shared)                                                         \
    gm_sim_tensor_store(map, x, y, shared, __FILE__, __LINE__)

#endif

#endif
