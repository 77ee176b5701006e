/* <cooperative_groups/memcpy_async.h>: a group copies to shared memory and waits for it. */
#ifndef GPUMEM_CUDA_GROUP_COPY_H
#define GPUMEM_CUDA_GROUP_COPY_H

#include "sim/cuda/cooperative_groups.h"
#include "sim/cuda/copy_parts.h"
#include "sim/pipeline.h"

template <size_t part, typename group>
static __forceinline__ void gm_group_copy_parts(const group &threads, void *shared,
                                                const void *global, size_t bytes, const char *file,
                                                int line)
{
    gm_copy_in_parts<part>(
        threads, shared, global,
        bytes, [&](void *here, const void *there, size_t size) __attribute__((always_inline)) {
            gm_sim_pipeline_copy(here, there, size, 0, file, line);
        });
}

/* In the widest parts that addresses and size allow; each thread's copies are a batch. */
template <typename group>
static __forceinline__ void gm_group_copy(const group &threads, void *shared, const void *global,
                                          size_t bytes, const char *file, int line)
{
    size_t bits = (size_t)shared | (size_t)global | bytes;
    if (bits % 16 == 0) {
        gm_group_copy_parts<16>(threads, shared, global, bytes, file, line);
    } else if (bits % 8 == 0) {
        gm_group_copy_parts<8>(threads, shared, global, bytes, file, line);
    } else if (bits % 4 == 0) {
        gm_group_copy_parts<4>(threads, shared, global, bytes, file, line);
    } else {
        gm_group_copy_parts<1>(threads, shared, global, bytes, file, line);
    }
    gm_sim_pipeline_commit(file, line);
}

namespace cooperative_groups {

template <typename group, typename type, typename length>
static __forceinline__ void memcpy_async(const group &threads, type *shared, const type *global,
                                         const length &bytes, GM_PLACE)
{
    gm_group_copy(threads, shared, global, (size_t)bytes, file, line);
}

/* Lengths in elements; the shorter one counts. */
template <typename group, typename type, typename to_length, typename from_length>
static __forceinline__ void memcpy_async(const group &threads, type *shared, const to_length &there,
                                         const type *global, const from_length &here, GM_PLACE)
{
    size_t least = (size_t)there < (size_t)here ? (size_t)there : (size_t)here;
    gm_group_copy(threads, shared, global, least * sizeof(type), file, line);
}

template <unsigned pending, typename group>
static __forceinline__ void wait_prior(const group &threads, GM_PLACE)
{
    gm_sim_pipeline_wait(pending, file, line);
    threads.sync(file, line);
}

template <typename group> static __forceinline__ void wait(const group &threads, GM_PLACE)
{
    wait_prior<0>(threads, file, line);
}

} // namespace cooperative_groups

#endif
