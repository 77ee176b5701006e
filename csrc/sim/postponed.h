/*
 * Checks of shared memory that are postponed, and mostly never made.
 *
 * Between two barriers of a block most kernels use shared memory cleanly: a word is only read, or
 * one thread alone uses it, and what is read has been written before. Then observers that look for
 * races and for uninitialised reads find nothing, so that they are not asked at each access. Warp
 * by warp, the accesses are compared with what the block has done so far, and kept. As soon as they
 * are not clean, or the order of threads changes otherwise than at a barrier, the observers are
 * told of all of them, in the order in which they were made, and from then on of each at once.
 */
#ifndef GPUMEM_SIM_POSTPONED_H
#define GPUMEM_SIM_POSTPONED_H

#include "sim/clean.h"
#include "sim/requests.h"

typedef struct gm_trace gm_trace;

/* Of a block. */
typedef struct gm_postponed {
    bool on;    /* observers have not been told of accesses since the last barrier */
    bool clean; /* all requests since then are */
    gm_clean use;
    bool batched;         /* nor of accesses to global memory in the warp's stream */
    bool used;            /* the warp that has just run made any */
    int wait;             /* warps until there are batches again */
    bool telling;         /* observers, of the warp's stream */
    int64_t told;         /* accesses of it so far */
    gm_warp_stream *kept; /* what warps have done since the last barrier */
    int count, room;
} gm_postponed;

/* A new block begins, or all threads of the block have met. */
void gm_postponed_block(gm_trace *trace);
void gm_postponed_barrier(gm_trace *trace);
void gm_postponed_free(gm_postponed *postponed);

/* One request to shared memory of the warp that has just run. */
void gm_postponed_check(gm_trace *trace, const gm_request *request);
/* All its requests have been checked: keeps them, or tells the observers. */
gm_status gm_postponed_flush(gm_trace *trace);
/* From now on, with an empty stream, accesses to global memory are told in batches if they can be.
 */
void gm_postponed_batch(gm_trace *trace);
/* Tells the observers of all accesses to global memory so far. */
gm_status gm_postponed_tell_global(gm_trace *trace);
/* Tells the observers of all accesses so far. Call this before the order of threads changes, and
 * before a fault is reported. */
gm_status gm_postponed_tell(gm_trace *trace);
/* The block stores to shared memory, and observers are told at once. */
void gm_postponed_stored(gm_trace *trace, uintptr_t address, uint32_t bytes);

#endif
