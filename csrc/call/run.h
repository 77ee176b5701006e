/*
 * Runs a call from its arrays to its result: chooses a variant, plans, moves arrays of the host to
 * the device and back, whole or in pieces, and launches.
 */
#ifndef GPUMEM_RUN_H
#define GPUMEM_RUN_H

#include "call/resolve.h"

/* Waits, on the device, for other work on the operands' memory, and checks the inputs' values. */
gm_status gm_run_check(const gm_run *run);
/* Launches a planned call; may be repeated. */
gm_status gm_run_launch(const gm_run *run);
/* Runs work on the operands that is no variant's: it queues it on the call's stream. */
gm_status gm_run_work(const gm_run *run, gm_status (*work)(const gm_call *call));
/* Runs a call once. If its arrays are the host's, the result is there when it returns. */
gm_status gm_run_call(gm_run *run);

#endif
