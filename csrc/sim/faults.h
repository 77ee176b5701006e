/*
 * Faults that the processor reports: a signal in a kernel stops the kernel, not the process.
 *
 * The handlers run on a stack of their own, since a fault may be a stack that is full. A signal
 * that does not come from a kernel goes to the handler that was there before: Python's, or the
 * user's.
 */
#ifndef GPUMEM_SIM_FAULTS_H
#define GPUMEM_SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpumem.h"

struct gm_block;

/* A signal that stopped a kernel; signal 0: none. */
typedef struct gm_fault {
    int signal, code;
    uintptr_t address, pc, sp, caller; /* caller: 0 where it is not known */
} gm_fault;

/* The calling host thread is about to run this block, or none (NULL). */
void gm_faults_watch(struct gm_block *block);
/* The block that the calling host thread runs. May be called in a signal handler. */
struct gm_block *gm_faults_block(void);

/* Says in gm_last_error() what the signal was about. */
void gm_faults_describe(const struct gm_block *block, const gm_fault *fault);

#endif
