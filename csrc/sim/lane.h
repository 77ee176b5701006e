/*
 * The indices of the running thread, and the functions of the simulator that kernels call. Both C
 * (the simulator) and C++ (the kernels, through simt.h) include this.
 */
#ifndef GPUMEM_LANE_H
#define GPUMEM_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "rules.h"

#define GM_HIDDEN __attribute__((visibility("hidden")))

/* Not thread_local: C++ would call an initialiser that C does not define. */
#define GM_THREAD_LOCAL __thread

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gm_index {
    unsigned x, y, z;
} gm_index;

typedef struct gm_lane_state {
    gm_index thread_index, block_index, block_dim, grid_dim;
    void *dynamic_shared;
} gm_lane_state;

/* The thread that is running on this host thread. Kernels get it as a parameter of the same name,
 * which hides this variable and saves the thread-local access. */
#ifdef GM_USER_MODULE
/* Constant as long as a kernel runs: the compiler need not load an index twice. */
extern GM_HIDDEN GM_THREAD_LOCAL const gm_lane_state gm_lane;
#else
extern GM_HIDDEN GM_THREAD_LOCAL gm_lane_state gm_lane;
#endif

/* file and line are those of the call in the kernel. */
GM_HIDDEN void gm_sim_barrier(const char *file, int line);

/* A barrier that tells each thread for how many the predicate was not 0, or whether for all or any.
 */
typedef enum gm_reduction {
    GM_COUNT,
    GM_ALL,
    GM_ANY,
} gm_reduction;

GM_HIDDEN int gm_sim_barrier_reduce(int predicate, gm_reduction how, const char *file, int line);

/* All threads of a cooperative launch meet; in any other launch a fault. */
GM_HIDDEN void gm_sim_grid_barrier(const char *file, int line);

/* All lanes in mask meet. Each gives a value, and all values can be read afterwards. */
GM_HIDDEN void gm_sim_exchange(unsigned mask, uint64_t value, const char *file, int line);
GM_HIDDEN uint64_t gm_sim_exchanged(unsigned lane);
GM_HIDDEN unsigned gm_sim_lane(void);

/*
 * The lanes of the warp that are at this place (__activemask, coalesced groups). A lane that comes
 * here waits until the others wait or have ended, or have taken their turn; those that are here
 * then go on together. They are the lanes that hardware most often finds active here.
 */
GM_HIDDEN unsigned gm_sim_active_lanes(const char *file, int line);

/* Returns once the phase of this parity is complete; a fault if it never completes. */
GM_HIDDEN void gm_sim_wait_for_phase(const uint64_t *mbarrier, uint32_t parity, const char *file,
                                     int line);

/* A prefetch into the L2: the address has to be in bounds, and nothing is moved. */
GM_HIDDEN void gm_sim_prefetch(const void *address, const char *file, int line);

/* Atomic operations: what they do to the order of threads, and how shared memory makes them. The
 * caller then carries them out. */
typedef enum gm_atomic_kind {
    GM_ATOMIC_LOAD,
    GM_ATOMIC_STORE,
    GM_ATOMIC_UPDATE,      /* reads and writes in one step */
    GM_ATOMIC_COUNT,       /* the same, and adds the constant 1 */
    GM_ATOMIC_EXCHANGE_IF, /* the same, after a comparison */
    GM_ATOMIC_LOOP,        /* the same, but in shared memory a device loops until it succeeds */
} gm_atomic_kind;

typedef enum gm_order {
    GM_ORDER_RELAXED,
    GM_ORDER_ACQUIRE,
    GM_ORDER_RELEASE,
    GM_ORDER_ACQUIRE_RELEASE,
    GM_ORDER_SEQUENTIAL,
} gm_order;

/* The threads that an atomic operation or a fence is meant for. */
typedef enum gm_scope {
    GM_SCOPE_BLOCK,
    GM_SCOPE_DEVICE,
    GM_SCOPE_SYSTEM,
} gm_scope;

GM_HIDDEN void gm_sim_atomic(const void *address, uint32_t bytes, gm_atomic_kind kind,
                             gm_order order, gm_scope scope, const char *file, int line);
GM_HIDDEN void gm_sim_fence(gm_order order, gm_scope scope, const char *file, int line);

/* griddepcontrol.wait: what the kernel before has written is there now. */
GM_HIDDEN void gm_sim_wait_for_previous(const char *file, int line);

/* The thread has nothing to do for now (__nanosleep): others may run. */
GM_HIDDEN void gm_sim_yield(const char *file, int line);

typedef enum gm_local {
    GM_LOCAL_PLAIN,
    GM_LOCAL_STRUCTURE, /* a function that returns one may write it, which is not seen */
    GM_LOCAL_GUARD,     /* bytes beside an array that nobody may touch */
    GM_LOCAL_GUARD_END, /* the array's life ends, and so does its guard's */
} gm_local;

/* A local variable begins to live and has no initialiser: a traced thread may not read it before it
 * has written to it. */
#ifdef GM_BUILD_PLAIN
static inline void gm_sim_local(const volatile void *address, size_t bytes, gm_local what)
{
    (void)address, (void)bytes, (void)what;
}
#else
GM_HIDDEN void gm_sim_local(const volatile void *address, size_t bytes, gm_local what);
#endif

/* The device's heap. malloc, free, new and delete of a module lead here. */
GM_HIDDEN void *gm_sim_malloc(size_t bytes);
GM_HIDDEN void *gm_sim_malloc_aligned(size_t bytes, size_t alignment);
GM_HIDDEN void gm_sim_free(void *address);

/* A traced thread has ended. */
GM_HIDDEN void gm_sim_thread_end(void);

/* Stops the kernel with an error at this place. */
GM_HIDDEN __attribute__((noreturn)) void gm_sim_fault_of(gm_rule rule, const char *file, int line,
                                                         const char *what);
/* What the kernel asked for does not exist. */
GM_HIDDEN __attribute__((noreturn)) void gm_sim_fault(const char *file, int line, const char *what);

#ifdef __cplusplus
}
#endif

#endif
