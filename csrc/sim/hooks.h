/*
 * What the running thread of a traced kernel reports: its accesses, those of the copies that it
 * asks for, and the events that order them. Without a trace these functions do nothing.
 */
#ifndef GPUMEM_SIM_HOOKS_H
#define GPUMEM_SIM_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/lane.h"

typedef enum gm_kind {
    GM_LOAD,
    GM_STORE,
    GM_PREFETCH, /* has to be in bounds, moves nothing and is not counted */
    GM_UPDATE,   /* an atomic operation that reads and writes */
} gm_kind;

/* Strong accesses do not race with each other, if their scopes include both threads. */
typedef enum gm_strength {
    GM_PLAIN,
    GM_VOLATILE,
    GM_ATOMIC,
} gm_strength;

typedef enum gm_actor {
    GM_BY_THREAD,
    GM_BY_BYTES,    /* a thread's copy of bytes, at any alignment: of a structure, or memcpy */
    GM_BY_ENGINE,   /* a bulk or tensor copy: not a request of a warp to the banks */
    GM_BY_PIPELINE, /* __pipeline_memcpy_async */
    GM_ACTORS,
} gm_actor;

/* How the banks of shared memory serve lanes that want the same word: the passes of a turn. */
typedef enum gm_service {
    GM_TOGETHER = 0, /* no turns */
    GM_IN_TURNS = 1,
    GM_IN_LONG_TURNS = 2,
} gm_service;

/* One access as the kernel makes it. */
typedef struct gm_access_call {
    const void *code; /* return address in the kernel; where file is NULL it identifies the line */
    uintptr_t address;
    uint32_t bytes;
    gm_kind kind;
    const char *file;
    int line;
    gm_actor actor;
    const void *mbarrier; /* of an engine's store to shared memory */
    gm_strength strength;
    gm_scope scope; /* of a strong access */
    gm_service service;
} gm_access_call;

/* A thread's own load or store, with its line unknown, or an access with its line given. */
void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                   const char *file, int line);

/* The same for a strong access, which may also order other accesses. */
void gm_sim_strong_access(const gm_access_call *call, gm_order order);

/* The same for a copy of bytes, whose address needs no alignment. */
void gm_sim_bytes_access(const void *code, uintptr_t address, size_t bytes, gm_kind kind,
                         const char *file, int line);

/* A function that is not inlined begins, or ends. */
void gm_sim_function(bool begins);

/*
 * One contiguous piece of a bulk or tensor copy, reported before its bytes are moved; a copy of
 * several rows reports each row. A store to shared memory belongs to the current phase of
 * `mbarrier`: a thread may touch those bytes once it has waited for that phase, or is ordered
 * after a thread that has. A load from shared memory, whose mbarrier is NULL, lasts until the
 * thread's GM_ENGINE_WAIT_READ that covers the group to which GM_ENGINE_COMMIT adds it.
 */
void gm_sim_engine_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                          const void *mbarrier, const char *file, int line);

/* The load or the store of __pipeline_memcpy_async. */
void gm_sim_pipeline_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                            const char *file, int line);

/* ---- what orders accesses ------------------------------------------------------------------- */

typedef enum gm_sync_kind {
    GM_MBARRIER_INIT,
    GM_MBARRIER_ARRIVE, /* reported before the arrival counts */
    GM_MBARRIER_PHASE,  /* all arrivals and bytes of this phase are in: the next phase begins */
    GM_MBARRIER_WAIT,   /* the thread has waited for the last complete phase */
    GM_ENGINE_COMMIT,
    GM_ENGINE_FENCE,     /* between the thread's accesses to shared memory and the engine's */
    GM_ENGINE_WAIT_READ, /* for all but the last `pending` groups */
    GM_PIPELINE_COMMIT,
    GM_PIPELINE_WAIT, /* for all but the last `pending` groups */
    GM_PREVIOUS_WAIT, /* for the kernel before, in a launch that may be early */
} gm_sync_kind;

typedef struct gm_sync {
    gm_sync_kind kind;
    const void *mbarrier;
    unsigned pending;
    bool expects; /* an arrival that announces an engine's bytes */
    const char *file;
    int line;
} gm_sync;

void gm_sim_sync(const gm_sync *sync);

#endif
