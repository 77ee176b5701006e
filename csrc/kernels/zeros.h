/*
 * Counters that a kernel needs at 0, which a helper of its family sets there just before.
 *
 * A memset would do, but the kernel behind it is launched when the memset has ended. Behind the
 * helper its launch is under way by then: both rows say `programmatic_launch`.
 */
#ifndef GPUMEM_ZEROS_H
#define GPUMEM_ZEROS_H

#include <stdint.h>

enum { ZEROS_THREADS = 256, ZEROS_WORDS = 8 /* of a thread */ };

typedef struct zeros_args {
    unsigned *words;
    int64_t count;
} zeros_args;

#ifdef __cplusplus
#include "device.h"

GM_DEVICE void zeros_write(const zeros_args &a)
{
    const int64_t first = (int64_t)blockIdx.x * ZEROS_THREADS * ZEROS_WORDS + threadIdx.x;
    gm_wait_for_previous();
    gm_let_next_start();
#pragma unroll
    for (int k = 0; k < ZEROS_WORDS; k++) {
        const int64_t i = first + k * ZEROS_THREADS;
        if (i < a.count) {
            a.words[i] = 0;
        }
    }
}
#else
#include "backend/backend.h"

static inline gm_status zeros_launch(const gm_variant *helper, const gm_call *call, void *words,
                                     int64_t count)
{
    const int64_t of_block = ZEROS_THREADS * ZEROS_WORDS;
    gm_plan plan = {
        .grid = {(unsigned)(count / of_block + (count % of_block != 0)), 1, 1},
        .block = helper->block,
        .trace = call->trace,
        .args_size = sizeof(zeros_args),
    };
    *(zeros_args *)plan.args = (zeros_args){words, count};
    return call->backend->launch(helper, &plan, call->stream);
}
#endif

#endif
