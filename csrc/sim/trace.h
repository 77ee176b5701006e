/*
 * The trace of the kernels of a call: takes in every access and event of their threads, finds its
 * space and source line, and passes it on to the observers, which count and check.
 */
#ifndef GPUMEM_SIM_TRACE_H
#define GPUMEM_SIM_TRACE_H

#include "gpumem.h"
#include "sim/findings.h"
#include "sim/hooks.h"
#include "sim/locals.h"
#include "sim/module.h"
#include "sim/postponed.h"
#include "sim/releases.h"
#include "sim/requests.h"
#include "sim/sites.h"
#include "sim/spaces.h"
#include "sim/vector_clock.h"

typedef struct gm_observer gm_observer;

enum {
#define OBSERVER(name) GM_OBSERVER_##name,
#include "sim/observers.def"
#undef OBSERVER
    GM_OBSERVERS,
};

/* One kernel of a call: the variant's own, or a helper's. */
typedef struct gm_trace_kernel {
    const char *name, *doc;
    gm_dim grid, block;
    int64_t shared_bytes, threads, warps, barriers;
    gm_region shared_used; /* of its __shared__ variables; begin >= end: none */
} gm_trace_kernel;

typedef struct gm_trace_launch {
    const gm_module *module;
    gm_dim grid, block;
    const void *args;
    size_t args_size;
    size_t shared_bytes; /* dynamic */
    bool early;          /* blocks may start before the kernel before this one has ended */
} gm_trace_launch;

/* A block in flight: what the trace and the observers keep of it while other blocks run. */
typedef struct gm_trace_block {
    struct gm_trace_block *next; /* in the list of all of the launch */
    bool open;
    gm_dim index;
    int64_t number;
    gm_block_memory memory;
    gm_vector_clock *clock;
    gm_locals *locals;    /* NULL: there are none, and no function has reported its begin */
    gm_releases releases; /* through shared memory */
    gm_warp_stream stream;
    gm_postponed postponed;
    void *states[GM_OBSERVERS]; /* of observers with block_bytes */
} gm_trace_block;

/* An observer that has a hook, with its state of the launch and where its counters of a site are.
 */
typedef struct gm_subscriber {
    const gm_observer *observer;
    void *state;
    size_t counters;
} gm_subscriber;

typedef struct gm_subscribers {
    gm_subscriber list[GM_OBSERVERS];
    int count;
} gm_subscribers;

struct gm_trace {
    /* The result. */
    gm_trace_kernel *kernels; /* in the order of their launches */
    int kernel_count;
    gm_sites sites;
    gm_findings *findings; /* NULL: the first finding stops the kernel */

    /* While a launch runs: what observers may read. */
    gm_dim grid, block;
    gm_spaces spaces;
    gm_dim block_index; /* this and what follows: of the block that runs now */
    int64_t block_number;
    gm_vector_clock *clock;
    int thread, warp, block_threads; /* thread: the number, in its block, of the one that runs */
    const gm_access_call *call;      /* the access that is being observed */
    int64_t request_number;
    bool early;        /* see gm_trace_launch */
    char grid_barrier; /* its address stands for the barriers of the grid */

    /* The place of a fault, if it is not at the access; thread -1: not set. */
    struct {
        const char *file;
        int line, thread;
        bool elsewhere; /* not in the block that runs now, but in `block` */
        gm_dim block;
    } fault;

    /* The trace's own. */
    gm_status warp_status; /* of the last gm_trace_warp: reported with the next flush */
    gm_releases releases;  /* through global memory */
    gm_trace_block *blocks, *current;
    gm_warp_stream *stream; /* of the block that runs now */
    gm_subscribers all;
    /* Those of the frequent events. */
    gm_subscribers on_access[GM_SPACES][GM_ACTORS], on_request[GM_SPACES], on_thread_end;
    gm_subscribers on_shape[GM_SPACES]; /* requests; see gm_observer.by_shape */
    size_t counted[GM_COUNTED];         /* the counters of these observers among those of a site */
    int counted_count;
    gm_subscribers on_usual[GM_SPACES]; /* accesses of threads; see gm_observer.unusual */
    unsigned loud; /* spaces whose usual accesses are told to observers at once: GM_SEES(space) */
    bool may_postpone, may_batch;
    int64_t batch;   /* number of the last one, see batches.h */
    unsigned actors; /* that have made accesses in this launch */
    gm_unset unset;  /* that the running thread has loaded, and not used so far */
    gm_region aside; /* around the last private access: all of it is private and not observed */
};

static inline void gm_subscribers_add(gm_subscribers *to, gm_subscriber subscriber)
{
    to->list[to->count++] = subscriber;
}

/* The place of a fault that is elsewhere than at the access: call it beside gm_fail. */
static inline void gm_trace_place(gm_trace *trace, const char *file, int line, int thread)
{
    trace->fault.file = file;
    trace->fault.line = line;
    trace->fault.thread = thread;
    trace->fault.elsewhere = false;
}
/* And then, if it is in another block than the one that runs now: */
static inline void gm_trace_place_in(gm_trace *trace, gm_dim block)
{
    trace->fault.elsewhere = true;
    trace->fault.block = block;
}

gm_trace *gm_trace_create(void);
void gm_trace_destroy(gm_trace *trace);

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch);
/* Records what the launch came to, with what observers add to it. */
gm_status gm_trace_finish(gm_trace *trace, gm_trace_kernel kernel);
/* Frees what the launch needed; also after gm_trace_begin has failed. */
void gm_trace_end(gm_trace *trace);

/*
 * Several blocks may be in flight, each on a host thread of its own; one runs at a time. Open makes
 * a new block the one that runs now; the calling host thread is to run it. Select changes over to
 * another open block, between two events. Close ends the block that runs now: another has to be
 * opened or selected before the next event.
 */
gm_status gm_trace_block_open(gm_trace *trace, gm_dim index, int64_t number,
                              gm_region shared_dynamic, const gm_fiber_pool *stacks);
void gm_trace_block_select(gm_trace *trace, gm_trace_block *block);
gm_status gm_trace_block_close(gm_trace *trace);

/* The events of the block that runs now. */
gm_status gm_trace_barrier(gm_trace *trace);
/* These lanes of a warp have met. */
void gm_trace_warp(gm_trace *trace, int first_thread, unsigned lanes);
gm_status gm_trace_access(gm_trace *trace, int thread, const gm_access_call *call);
/* The same for a thread's own load or store, identified by its return address. */
gm_status gm_trace_own_access(gm_trace *trace, int thread, const void *code, uintptr_t address,
                              uint32_t bytes, gm_kind kind);

/* The step that such an access repeats, in which it is taken in; NULL: none. Those by one `code`
 * are all of one width and kind. */
static inline gm_step *gm_trace_repeats(gm_trace *trace, const void *code, uintptr_t address)
{
    gm_step *step = trace->stream->next;
    return gm_stream_repeat(trace->stream, code, address) ? step : NULL;
}

/* Tells the observers of an access that was taken in, unless it interests nobody now. */
gm_status gm_trace_repeated(gm_trace *trace, int thread, gm_step *step, uintptr_t address);

/* Is it a private access that nobody asks for? */
static inline bool gm_trace_ignores(const gm_trace *trace, uintptr_t address)
{
    return gm_region_holds(trace->spaces.block.lane, address) ||
           gm_region_holds(trace->aside, address);
}

/* A strong access hands on what the thread's fences keep, or takes what was handed on there. */
gm_status gm_trace_hand_over(gm_trace *trace, int thread, const gm_access_call *call,
                             gm_order order);
gm_status gm_trace_fence(gm_trace *trace, int thread, gm_order order, gm_scope scope);
/* Lists who sees accesses, given who has made any so far in the launch; or nobody. */
void gm_trace_list_access_subscribers(gm_trace *trace);
void gm_trace_forget_access_subscribers(gm_trace *trace);
/* If all findings are wanted and the kernel can go on after this one: keeps it, and returns GM_OK.
 */
gm_status gm_trace_keep(gm_trace *trace, gm_status status);
/* An observer stops the kernel at an access. Returns the status of this or an earlier fault. */
gm_status gm_trace_stop(gm_trace *trace, const gm_observer *by, const gm_access *at,
                        gm_status status);
/* Lists the spaces of which observers are told at once, given what the block that runs now
 * postpones. */
void gm_trace_list_loud(gm_trace *trace);
/* From now on, checks of shared memory are postponed, if they can be, or not. */
void gm_trace_postpone(gm_trace *trace, bool on);
gm_status gm_trace_sync(gm_trace *trace, int thread, const gm_sync *sync);
gm_status gm_trace_thread_end(gm_trace *trace, int thread);
/* A thread frees memory of the heap, which lies in this region. */
gm_status gm_trace_freed(gm_trace *trace, int thread, const void *code, gm_region region);
/* A local variable without initialiser begins to live. */
gm_status gm_trace_local(gm_trace *trace, int thread, uintptr_t address, size_t bytes,
                         gm_local what);
/* The load of a local variable without a value is a fault. */
gm_status gm_trace_fail_unset(gm_trace *trace, const gm_unset *unset);
/* The running thread does something that may depend on all it has loaded. */
static inline gm_status gm_trace_uses_all(gm_trace *trace)
{
    return trace->unset.bytes ? gm_trace_fail_unset(trace, &trace->unset) : GM_OK;
}
gm_status gm_trace_function(gm_trace *trace, int thread, bool begins);
/* All lanes of a warp wait or have ended: their accesses become requests. */
gm_status gm_trace_flush(gm_trace *trace, int warp);

#endif
