/* The threads of a running block, and whether they meet as a barrier demands. */
#ifndef GPUMEM_SIM_BARRIERS_H
#define GPUMEM_SIM_BARRIERS_H

#include "sim/fiber.h"
#include "sim/lane.h"

typedef enum gm_strand_state {
    RUNNING,
    AT_BARRIER,
    AT_WARP,
    AT_PLACE, /* to see which lanes come here */
    AT_MBARRIER,
    GAVE_WAY, /* it spins; others have their turn */
    DONE,
} gm_strand_state;

/* One thread of the running block. Small, with what every thread needs in front: a plain run spends
 * only a few nanoseconds on each. */
typedef struct gm_strand {
    gm_fiber *fiber; /* its own once it has waited */
    gm_index index;
    gm_strand_state state;
    const char *file; /* where it waits */
    int line;
    union {
        unsigned mask;   /* AT_WARP: the lanes it waits for; AT_PLACE: those that are here */
        uint32_t parity; /* AT_MBARRIER: of the phase it waits for */
        bool vote;       /* AT_BARRIER with a predicate */
    };
    union {
        const uint64_t *mbarrier; /* AT_MBARRIER */
        uint64_t trail;           /* GAVE_WAY: where it was in its last turn */
    };
} gm_strand;

/* Do two threads wait at the same place? */
bool gm_same_place(const gm_strand *a, const gm_strand *b);

/* For threads that all wait at a barrier of the block or have ended, `done` of them. Returns -1 if
 * that is right; otherwise a thread at fault, and gm_last_error() says why. */
int gm_barrier_check(const gm_strand *strands, int threads, int done);

#endif
