/*
 * At full speed kernels call nothing while they spin: a timer interrupts them.
 *
 * Code of a module that is loaded at run time can be interrupted anywhere; the simulator and the
 * libraries never are. The signal is SIGURG: it is ignored by default, so that a late one does no
 * harm, and hardly anything uses it. A handler that was there before still gets what is not ours.
 */
#ifndef GPUMEM_SIM_PREEMPT_H
#define GPUMEM_SIM_PREEMPT_H

#include <stdbool.h>

struct gm_block;

/* A timer for the calling host thread. */
typedef struct gm_preempt {
    void *timer; /* a timer_t */
    bool made, fast;
} gm_preempt;

/* The calling host thread begins or stops to run blocks of a grid. */
void gm_preempt_begin(gm_preempt *preempt, const struct gm_block *block);
void gm_preempt_end(gm_preempt *preempt);
/* Some threads spin: interrupt often. */
void gm_preempt_often(gm_preempt *preempt, bool often);

#endif
