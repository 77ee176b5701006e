/* <cuda/pipeline>: asynchronous copies in stages, of a thread or of a block. */
#ifndef GPUMEM_CUDA_PIPELINE_OBJECTS_H
#define GPUMEM_CUDA_PIPELINE_OBJECTS_H

#include "sim/cuda/barrier_objects.h"
#include "sim/cuda/warp.h"
#include "sim/pipeline.h"

namespace cuda {

enum class pipeline_role {
    producer,
    consumer,
};

template <thread_scope scope, uint8_t stages> struct pipeline_shared_state {
    static_assert(scope == thread_scope_block,
                  "the simulator has pipelines of a block or of a thread");
    uint64_t produced[stages], consumed[stages];
};

/* Of a block. A stage has two barriers: one at which its producers have arrived once it is full,
 * and one for its consumers, once it is free again. */
template <thread_scope scope> class pipeline {
    uint64_t *produced, *consumed;
    unsigned stages, head, tail;
    bool head_parity, tail_parity;

  public:
    __forceinline__ pipeline(uint64_t *full, uint64_t *free, unsigned count)
        : produced(full), consumed(free), stages(count), head(0), tail(0), head_parity(true),
          tail_parity(false)
    {
    }
    pipeline(pipeline &&) = default;
    pipeline(const pipeline &) = delete;
    pipeline &operator=(const pipeline &) = delete;

    __forceinline__ void producer_acquire(GM_PLACE)
    {
        gm_sim_mbarrier_wait(&consumed[head], head_parity, file, line);
    }

    __forceinline__ void producer_commit(GM_PLACE)
    {
        gm_sim_mbarrier_arrive(&produced[head], 1, file, line);
        head = head + 1 == stages ? 0 : head + 1;
        head_parity ^= head == 0;
    }

    __forceinline__ void consumer_wait(GM_PLACE)
    {
        gm_sim_mbarrier_wait(&produced[tail], tail_parity, file, line);
    }

    __forceinline__ void consumer_release(GM_PLACE)
    {
        gm_sim_mbarrier_arrive(&consumed[tail], 1, file, line);
        tail = tail + 1 == stages ? 0 : tail + 1;
        tail_parity ^= tail == 0;
    }

    __forceinline__ bool quit()
    {
        return true;
    }

    __forceinline__ void gm_copy(void *shared, const void *global, size_t bytes, const char *file,
                                 int line)
    {
        gm_sim_mbarrier_copy(shared, global, (uint32_t)bytes, &produced[head], file, line);
    }
};

/* Of a thread: its own groups of copies. */
template <> class pipeline<thread_scope_thread> {
    unsigned committed = 0, consumed = 0;

  public:
    pipeline() = default;
    pipeline(pipeline &&) = default;
    pipeline(const pipeline &) = delete;
    pipeline &operator=(const pipeline &) = delete;

    __forceinline__ void producer_acquire()
    {
    }

    __forceinline__ void producer_commit(GM_PLACE)
    {
        gm_sim_pipeline_commit(file, line);
        committed++;
    }

    __forceinline__ void consumer_wait(GM_PLACE)
    {
        if (consumed != committed) {
            consumed++;
            gm_sim_pipeline_wait(committed - consumed, file, line);
        }
    }

    __forceinline__ void consumer_release()
    {
    }

    __forceinline__ bool quit()
    {
        return true;
    }

    __forceinline__ void gm_wait_prior(unsigned pending, const char *file, int line)
    {
        gm_sim_pipeline_wait(pending, file, line);
        consumed = committed - pending < consumed ? consumed : committed - pending;
    }

    __forceinline__ void gm_copy(void *shared, const void *global, size_t bytes, const char *file,
                                 int line)
    {
        gm_sim_pipeline_copy(shared, global, bytes, 0, file, line);
    }
};

static __forceinline__ pipeline<thread_scope_thread> make_pipeline()
{
    return {};
}

template <typename group, thread_scope scope, uint8_t stages>
static inline pipeline<scope> gm_make_pipeline(const group &threads,
                                               pipeline_shared_state<scope, stages> *state,
                                               unsigned producers, unsigned consumers,
                                               const char *file, int line)
{
    if (threads.thread_rank() == 0) {
        for (unsigned i = 0; i < stages; i++) {
            gm_sim_mbarrier_init_count(&state->produced[i], producers, file, line);
            gm_sim_mbarrier_init_count(&state->consumed[i], consumers, file, line);
        }
    }
    threads.sync(file, line);
    return pipeline<scope>(state->produced, state->consumed, stages);
}

/* All threads produce and consume. */
template <typename group, thread_scope scope, uint8_t stages>
static inline pipeline<scope> make_pipeline(const group &threads,
                                            pipeline_shared_state<scope, stages> *state, GM_PLACE)
{
    unsigned all = (unsigned)threads.size();
    return gm_make_pipeline(threads, state, all, all, file, line);
}

template <typename group, thread_scope scope, uint8_t stages>
static inline pipeline<scope> make_pipeline(const group &threads,
                                            pipeline_shared_state<scope, stages> *state,
                                            size_t producers, GM_PLACE)
{
    return gm_make_pipeline(threads, state, (unsigned)producers,
                            (unsigned)(threads.size() - producers), file, line);
}

template <typename group, thread_scope scope, uint8_t stages>
static inline pipeline<scope> make_pipeline(const group &threads,
                                            pipeline_shared_state<scope, stages> *state,
                                            pipeline_role role, GM_PLACE)
{
    if (threads.size() != gm_block_threads()) {
        gm_sim_fault(file, line, "a pipeline with roles is made by all threads of the block");
    }
    int producers = gm_sim_barrier_reduce(role == pipeline_role::producer, GM_COUNT, file, line);
    return gm_make_pipeline(threads, state, (unsigned)producers,
                            (unsigned)threads.size() - (unsigned)producers, file, line);
}

template <uint8_t pending>
static __forceinline__ void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &pipe,
                                                         GM_PLACE)
{
    pipe.gm_wait_prior(pending, file, line);
}

GM_REFUSE_FUNCTION(pipeline_producer_commit,
                   "the simulator cannot hand a pipeline's copies to a barrier: give the barrier "
                   "to memcpy_async instead")

template <typename group, typename to, typename from, typename length, thread_scope scope>
static __forceinline__ void memcpy_async(const group &threads, to *shared, const from *global,
                                         length bytes, pipeline<scope> &pipe, GM_PLACE)
{
    gm_copy_in_parts<gm_copy_part<to, length>()>(
        threads, shared, global,
        bytes, [&](void *here, const void *there, size_t part) __attribute__((always_inline)) {
            pipe.gm_copy(here, there, part, file, line);
        });
}

template <typename to, typename from, typename length, thread_scope scope>
static __forceinline__ void memcpy_async(to *shared, const from *global, length bytes,
                                         pipeline<scope> &pipe, GM_PLACE)
{
    memcpy_async(gm_one_thread(), shared, global, bytes, pipe, file, line);
}

} // namespace cuda

#endif
