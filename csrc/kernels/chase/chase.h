/*
 * chase: at = next[at], again and again, by one thread. Each load needs the result of the one
 * before, so its time is the latency of what holds the chain.
 */
#ifndef GPUMEM_CHASE_H
#define GPUMEM_CHASE_H

#include <stdint.h>

enum {
    CHASE_CONSTANT_BYTES = 65536, /* all that a module has of constant memory */
    CHASE_LOADERS = 256,          /* threads that bring the chain to shared memory */
    CHASE_CLUSTER = 2,            /* blocks: one that has the chain, one that follows it */
};

/* Values of the chain are below its length: int32 is read as uint32. */
typedef struct chase_args {
    const uint32_t *next;
    uint32_t *out;
    int64_t length;
    uint32_t start;
    int steps;
} chase_args;

#ifdef __cplusplus
#include "device.h"
#endif

#endif
