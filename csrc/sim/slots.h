/*
 * Address ranges for allocations. Each lies in a slot of its own, at least half of which is left
 * empty: an access past an allocation reaches no other one. A slot is not used again soon, so that
 * an address can be told to belong to freed memory. Callers hold a lock of their own.
 */
#ifndef GPUMEM_SIM_SLOTS_H
#define GPUMEM_SIM_SLOTS_H

#include <stddef.h>

#include "sim/region.h"

typedef struct gm_slot {
    gm_region held;    /* what the caller keeps here, or kept last */
    uintptr_t address; /* of usable memory, on a page */
    struct gm_slot *next;
    int size_class;
    bool taken;
} gm_slot;

/* A slot for so many bytes; NULL: too many, or no address space is left. */
gm_slot *gm_slot_take(size_t bytes);
/* The memory may be read and written until the slot is taken again, and holds anything then. */
void gm_slot_give(gm_slot *slot);
/* Gives the memory of all free slots back to the host. */
void gm_slots_trim(void);
/* The slot, taken or not, in which an address lies; NULL: none. */
const gm_slot *gm_slot_at(uintptr_t address);

#endif
