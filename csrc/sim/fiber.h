/* Fibers: stacks that a host thread can switch between. */
#ifndef GPUMEM_FIBER_H
#define GPUMEM_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/region.h"

typedef struct gm_fiber {
    void *context; /* where it continues while it is not running */
    struct gm_fiber *next;
    char *stack;
    size_t stack_bytes;
} gm_fiber;

/* Stacks for many fibers, allocated in slabs, with guard pages between them. */
typedef struct gm_fiber_pool {
    struct gm_fiber_slab *slabs;
    gm_fiber *idle;
} gm_fiber_pool;

typedef void (*gm_fiber_entry)(gm_fiber *fiber, void *argument);

/* A fiber whose first switch calls entry; NULL when memory ran out. */
gm_fiber *gm_fiber_take(gm_fiber_pool *pool, gm_fiber_entry entry, void *argument);
void gm_fiber_give(gm_fiber_pool *pool, gm_fiber *fiber);
/* Is the address on a stack of the pool, or in the guard before it? The region is both. */
bool gm_fiber_owns(const gm_fiber_pool *pool, uintptr_t address, gm_region *stack);
void gm_fiber_pool_free(gm_fiber_pool *pool);

/* Saves the running context in *from and continues at `to`. */
void gm_fiber_switch(void **from, void *to);

#endif
