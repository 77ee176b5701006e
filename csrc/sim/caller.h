/*
 * What a kernel has in its registers and where its stack ends, when it has called the simulator:
 * without the frames of the simulator's own functions, in which anything may be left over.
 */
#ifndef GPUMEM_SIM_CALLER_H
#define GPUMEM_SIM_CALLER_H

#include <stdint.h>

typedef struct gm_caller {
    uint64_t registers; /* a hash of those that a call preserves */
    uintptr_t sp;       /* 0: the kernel was not found */
} gm_caller;

/* `code` is the return address of the kernel's call. */
gm_caller gm_caller_of(const void *code);

#endif
