/*
 * What the running thread of a traced kernel does, told to the trace: its accesses, those of the
 * copies it asks for, and the events that order them. Without a trace they all do nothing.
 *
 * code is the return address in the kernel; with file NULL it tells the source line.
 */
#ifndef GPUMEM_HOOKS_H
#define GPUMEM_HOOKS_H

#include <stdint.h>

typedef enum gm_kind {
    GM_LOAD,
    GM_STORE,
    GM_PREFETCH, /* must be in bounds; moves nothing, so it is not counted */
} gm_kind;

void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                   const char *file, int line);

/* ---- copies by an engine: bulk and tensor ------------------------------------------------------
 *
 * One contiguous piece of a copy, to be told before its bytes are moved; a copy of several rows
 * tells each. A store to shared memory belongs to the phase of `mbarrier` that is not complete
 * yet: threads may touch those bytes once they, or someone ordered before them, have waited for
 * that phase. A load from shared memory lasts until the thread's GM_ENGINE_WAIT_READ that covers
 * the group it is committed to (GM_ENGINE_COMMIT); mbarrier is then NULL.
 */
void gm_sim_engine_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                          const void *mbarrier, const char *file, int line);

/* ---- __pipeline_memcpy_async ------------------------------------------------------------------
 */

void gm_sim_pipeline_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                            const char *file, int line);

/* ---- what orders them --------------------------------------------------------------------------
 */

typedef enum gm_sync_kind {
    GM_MBARRIER_INIT,
    GM_MBARRIER_ARRIVE, /* before the arrival counts */
    GM_MBARRIER_PHASE,  /* the arrivals and bytes of this phase are complete: the next begins */
    GM_MBARRIER_WAIT,   /* the thread has waited for the last complete phase */
    GM_ENGINE_COMMIT,
    GM_ENGINE_WAIT_READ, /* but for the last `pending` groups */
    GM_PIPELINE_COMMIT,
    GM_PIPELINE_WAIT, /* but for the last `pending` groups */
} gm_sync_kind;

typedef struct gm_sync {
    gm_sync_kind kind;
    const void *mbarrier;
    unsigned pending;
    const char *file;
    int line;
} gm_sync;

void gm_sim_sync(const gm_sync *sync);

#endif
