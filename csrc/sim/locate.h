/* Where a fault is: adds kernel, line, block and thread to the message of an error. */
#ifndef GPUMEM_SIM_LOCATE_H
#define GPUMEM_SIM_LOCATE_H

#include "sim/block.h"

/* Of the thread in the module's gm_lane. */
gm_status gm_locate_here(gm_block *block, const char *file, int line);
gm_status gm_locate_thread(gm_block *block, int thread, const char *file, int line);
/* Of a fault that the trace has found, at the place that it gives. */
gm_status gm_locate_traced(gm_block *block, gm_status status);
/* Of a thread that spins where this code reports an access; NULL: where it waits. */
gm_status gm_locate_spin(gm_block *block, int thread, const void *code);
/* Of a signal or an error that has stopped a thread of the block. */
gm_status gm_locate_failure(gm_block *block);
/* The last line before this code that reports an access; NULL: none is near. */
const gm_site_record *gm_locate_line(const gm_block *block, uintptr_t code);

#endif
