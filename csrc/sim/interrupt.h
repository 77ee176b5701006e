/* Whether a run of the simulator should stop, asked for between its threads. */
#ifndef GPUMEM_SIM_INTERRUPT_H
#define GPUMEM_SIM_INTERRUPT_H

#include <stdatomic.h>

#include "gpumem.h"

/* One host thread's view. */
typedef struct gm_interrupt {
    atomic_bool *stop;            /* shared by the host threads of a run */
    bool polls;                   /* may call the poll hook */
    bool slow;                    /* warps take milliseconds: ask after every thread */
    int64_t last_look, last_poll; /* nanoseconds */
} gm_interrupt;

void gm_interrupt_init(gm_interrupt *interrupt, atomic_bool *stop, bool polls);

/* GM_ERROR_INTERRUPTED if the run should stop. To be called on the host thread's own stack: the
 * poll hook may run Python. */
gm_status gm_interrupt_check(gm_interrupt *interrupt);

#endif
