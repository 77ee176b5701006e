/*
 * An observer of traced kernels: it counts something, or checks a rule.
 *
 * An observer is one file in csrc/sim/observers and one line in observers.def. It keeps a state of
 * its own for each launch and counters of its own for each source line; no other code knows what
 * is in them. The trace calls its hooks; the report adds up its counters under their names.
 */
#ifndef GPUMEM_SIM_OBSERVER_H
#define GPUMEM_SIM_OBSERVER_H

#include "sim/requests.h"
#include "sim/trace.h"

/* An int64_t among an observer's counters of a source line, and the name that reports give it.
 * Observers may count different lines under one name. */
typedef struct gm_counter {
    const char *name;
    size_t offset;
} gm_counter;

typedef enum gm_take {
    GM_REFUSES,      /* something may be amiss: the observer has to be told of each access */
    GM_TAKES_PARTLY, /* nothing is amiss, but it has to be told, too */
    GM_TAKES,
} gm_take;

enum { GM_COUNTERS = 4 }; /* with names, of an observer */

/* All hooks may be NULL. A status other than GM_OK stops the kernel: GM_ERROR_SIMULATION at the
 * access, or where gm_trace_place says. */
struct gm_observer {
    const char *name;
    size_t state_bytes;   /* zeroed for each launch */
    size_t block_bytes;   /* see gm_block_state */
    size_t counter_bytes; /* per source line, zeroed at its first access, kept for all launches */
    gm_counter counters[GM_COUNTERS]; /* ends at the first without a name */
    unsigned accesses; /* spaces whose accesses it sees: bits GM_SEES, GM_SEES_PREFETCHES */
    unsigned actors;   /* whose accesses it sees: bits GM_SEES(actor); 0: everyone's */
    unsigned requests; /* spaces whose requests it sees */
    unsigned after;    /* sees accesses once one of these actors has made one: GM_SEES(actor);
                          0: from the start */
    bool unusual;      /* sees only accesses that are not aligned to their width, or not inside
                          one region (gm_spaces_find) */
    unsigned clean;    /* it need not see these of the threads' accesses to shared memory where
                          its use is clean (postponed.h): GM_SEES(kind) */
    bool by_shape;     /* a request adds to the counters of its line by its shape and phase alone
                          (shapes.h), and only to those that have names */
    bool early;        /* it sees only launches that may be early: see gm_trace_launch */
    bool about_order;  /* its faults are about missing order between threads */

    gm_status (*begin)(void *state, gm_trace *trace); /* of a launch */
    /* The launch is over: adds to what is known of it. */
    void (*finish)(const void *state, gm_trace_kernel *kernel);
    void (*end)(void *state, gm_trace *trace); /* frees what the state owns */
    void (*free_block)(void *block_state);     /* frees what a state of blocks owns */
    void (*free_counters)(void *counters);     /* frees what the counters own */

    gm_status (*block)(void *state, gm_trace *trace); /* a new block begins */
    gm_status (*block_end)(void *state, gm_trace *trace);
    gm_status (*barrier)(void *state, gm_trace *trace); /* all threads of the block have met */
    gm_status (*thread_end)(void *state, gm_trace *trace);
    gm_status (*sync)(void *state, gm_trace *trace, const gm_sync *sync);
    /* Each access as a thread makes it. */
    gm_status (*access)(void *state, gm_trace *trace, const gm_access *access);
    /* Takes the usual accesses of a request to global memory together (batches.h). All observers of
     * such accesses have `take`, or it is not used. */
    gm_take (*take)(void *state, gm_trace *trace, const gm_request *request);
    /* One of the observers refuses: undoes `take`, of that request and of those before it. */
    void (*put_back)(void *state, gm_trace *trace, const gm_request *request);
    /* Each request, once its warp has issued it whole; the counters are those of its line. */
    gm_status (*request)(void *state, gm_trace *trace, const gm_request *request, void *counters);
    /* The kernel is being stopped, but not for missing order: reports a fault that the observer
     * held back, if there is one that may be the cause. */
    gm_status (*stopped)(void *state, gm_trace *trace);
};

#define GM_SEES(space_or_actor) (1u << (space_or_actor))
enum {
    GM_SEES_PREFETCHES = 1 << 8,
    GM_SEES_REQUESTS = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_SHARED) |
                       GM_SEES(GM_SPACE_CONSTANT), /* of every space that has any */
};

#define GM_COUNTER(type, field)                                                                    \
    {                                                                                              \
        .name = #field, .offset = offsetof(type, field)                                            \
    }

/* All observers, in the order of observers.def. */
extern const gm_observer *const gm_observers[GM_OBSERVERS];

/* The state that an observer keeps of the block that runs now; GM_OBSERVER_name tells which. It is
 * zeroed when first used, and passed on to a later block when its block has ended. */
static inline void *gm_block_state(const gm_trace *trace, int observer)
{
    return trace->current->states[observer];
}

/* The counters that an observer keeps for a source line. */
void *gm_observer_counters(const gm_observer *observer, const gm_site *site);

#define GM_FIRST_OF(first, ...) first

/* Calls a hook of those observers that have it, up to the first fault that stops the kernel. The
 * first of the arguments is the trace. */
#define GM_NOTIFY(subscribers, status, hook, ...)                                                  \
    for (int i_ = 0; i_ < (subscribers).count && (status) == GM_OK; i_++) {                        \
        const gm_subscriber *to_ = &(subscribers).list[i_];                                        \
        if (to_->observer->hook) {                                                                 \
            (status) = gm_trace_keep(GM_FIRST_OF(__VA_ARGS__, 0),                                  \
                                     to_->observer->hook(to_->state, __VA_ARGS__));                \
        }                                                                                          \
    }

/* The coordinates of a thread and of a block by their numbers. */
gm_dim gm_trace_thread(const gm_trace *trace, int number);
gm_dim gm_trace_block_index(const gm_trace *trace, int64_t number);

/* A finding about two accesses: the other one's place belongs to it. */
static inline gm_status gm_find_beside(gm_status status, const gm_site *other)
{
    gm_error *error = gm_error_record();
    if (error) {
        error->other_file = other->file;
        error->other_line = other->line;
    }
    return status;
}

/* A mask of the bytes of the word at 4 * word that lie in [begin, end). */
static inline unsigned gm_bytes_of_word(uintptr_t word, uintptr_t begin, uintptr_t end)
{
    uintptr_t at = 4 * word;
    unsigned after = begin > at ? 0xFu << (begin - at) : 0xFu;
    unsigned before = end < at + 4 ? 0xFu >> (at + 4 - end) : 0xFu;
    return after & before & 0xFu;
}

#endif
