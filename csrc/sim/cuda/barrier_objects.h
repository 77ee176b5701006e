/* <cuda/barrier>: barriers in shared memory, and asynchronous copies that complete at them. */
#ifndef GPUMEM_CUDA_BARRIER_OBJECTS_H
#define GPUMEM_CUDA_BARRIER_OBJECTS_H

#include "sim/bulk.h"
#include "sim/cuda/atomic_objects.h"
#include "sim/cuda/copy_parts.h"
#include "sim/cuda/standard.h" /* std::move, for tokens */
#include "sim/mbarrier.h"

namespace cuda {

template <thread_scope scope = thread_scope_system> class barrier {
    static_assert(scope == thread_scope_block || scope == thread_scope_thread,
                  "the simulator has cuda::barrier for the threads of a block: use "
                  "cuda::thread_scope_block");
    uint64_t state;

  public:
    class arrival_token {
        friend class barrier;
        uint32_t phase;

      public:
        arrival_token() = default;
        __forceinline__ explicit arrival_token(uint32_t parity) : phase(parity)
        {
        }
    };

    barrier() = default;
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    __forceinline__ explicit barrier(ptrdiff_t count, GM_PLACE)
    {
        gm_sim_mbarrier_init_count(&state, (uint32_t)count, file, line);
    }

    friend __forceinline__ void init(barrier *made, ptrdiff_t count, GM_PLACE)
    {
        gm_sim_mbarrier_init_count(&made->state, (uint32_t)count, file, line);
    }

    __forceinline__ arrival_token arrive(ptrdiff_t count = 1, GM_PLACE)
    {
        return arrival_token(gm_sim_mbarrier_arrive(&state, (uint32_t)count, file, line));
    }

    __forceinline__ void wait(const arrival_token &token, GM_PLACE) const
    {
        wait_parity(token.phase, file, line);
    }

    __forceinline__ void wait_parity(bool phase, GM_PLACE) const
    {
        gm_sim_mbarrier_wait(const_cast<uint64_t *>(&state), phase, file, line);
    }

    /* As on a device, a try may wait for a while: here until it succeeds. */
    __forceinline__ bool try_wait(const arrival_token &token, GM_PLACE) const
    {
        wait_parity(token.phase, file, line);
        return true;
    }

    __forceinline__ bool try_wait_parity(bool phase, GM_PLACE) const
    {
        wait_parity(phase, file, line);
        return true;
    }

    __forceinline__ void arrive_and_wait(GM_PLACE)
    {
        wait_parity(gm_sim_mbarrier_arrive(&state, 1, file, line), file, line);
    }

    __forceinline__ void arrive_and_drop(GM_PLACE)
    {
        gm_sim_mbarrier_drop(&state, file, line);
    }

    static constexpr ptrdiff_t max()
    {
        return (1 << 20) - 1;
    }

    __forceinline__ uint64_t *gm_handle()
    {
        return &state;
    }
};

typedef barrier<thread_scope_block> gm_block_barrier;

/* ---- copies ----------------------------------------------------------------------------- */

template <typename group, typename to, typename from, typename length>
static __forceinline__ void memcpy_async(const group &threads, to *shared, const from *global,
                                         length bytes, gm_block_barrier &barrier, GM_PLACE)
{
    uint64_t *handle = barrier.gm_handle();
    gm_copy_in_parts<gm_copy_part<to, length>()>(
        threads, shared, global,
        bytes, [&](void *here, const void *there, size_t part) __attribute__((always_inline)) {
            gm_sim_mbarrier_copy(here, there, (uint32_t)part, handle, file, line);
        });
}

template <typename to, typename from, typename length>
static __forceinline__ void memcpy_async(to *shared, const from *global, length bytes,
                                         gm_block_barrier &barrier, GM_PLACE)
{
    memcpy_async(gm_one_thread(), shared, global, bytes, barrier, file, line);
}

namespace device {

static __forceinline__ uint64_t *barrier_native_handle(gm_block_barrier &barrier)
{
    return barrier.gm_handle();
}

static __forceinline__ gm_block_barrier::arrival_token barrier_arrive_tx(gm_block_barrier &barrier,
                                                                         ptrdiff_t count,
                                                                         ptrdiff_t bytes, GM_PLACE)
{
    if (count != 1) {
        gm_sim_fault(file, line, "barrier_arrive_tx of several arrivals: the simulator has one");
    }
    return gm_block_barrier::arrival_token(
        gm_sim_mbarrier_expect(barrier.gm_handle(), (uint32_t)bytes, file, line));
}

template <size_t alignment>
static __forceinline__ void memcpy_async_tx(void *shared, const void *global,
                                            aligned_size_t<alignment> bytes,
                                            gm_block_barrier &barrier, GM_PLACE)
{
    static_assert(alignment >= 16, "memcpy_async_tx copies multiples of 16 bytes");
    gm_sim_bulk_load(shared, global, (uint32_t)bytes.value, barrier.gm_handle(), file, line);
}

#define GM_REFUSE_ENGINE(name)                                                                     \
    GM_REFUSE_FUNCTION(name, "the simulator has no " #name " for kernels that are loaded: use "    \
                             "cuda::memcpy_async or cuda::device::memcpy_async_tx")

GM_REFUSE_ENGINE(barrier_expect_tx)

namespace experimental {
GM_REFUSE_ENGINE(cp_async_bulk_global_to_shared)
GM_REFUSE_ENGINE(cp_async_bulk_shared_to_global)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_1d_global_to_shared)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_2d_global_to_shared)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_3d_global_to_shared)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_1d_shared_to_global)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_2d_shared_to_global)
GM_REFUSE_ENGINE(cp_async_bulk_tensor_3d_shared_to_global)
GM_REFUSE_ENGINE(cp_async_bulk_commit_group)
GM_REFUSE_ENGINE(cp_async_bulk_wait_group_read)

static __forceinline__ void fence_proxy_async_shared_cta(GM_PLACE)
{
    gm_sim_bulk_fence(file, line);
}
} // namespace experimental

} // namespace device

} // namespace cuda

#endif
