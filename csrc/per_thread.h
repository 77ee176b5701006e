/*
 * What each host thread keeps for itself, on the heap.
 *
 * Not in thread-local variables: glibc allocates all of a shared object's at a thread's first
 * access to one of them, among ours the __shared__ arrays of the simulator's kernels, and ends the
 * process if there is no memory. Only the simulator has some, see sim/storage.h.
 */
#ifndef GPUMEM_PER_THREAD_H
#define GPUMEM_PER_THREAD_H

#include <stddef.h>

typedef enum gm_part {
    GM_PART_ERRORS,    /* error.c */
    GM_PART_CHOICES,   /* call/kept.c */
    GM_PART_PLANS,     /* kernels/permute/plan_kept.c */
    GM_PART_BANKS,     /* kernels/permute/plan_banks.c */
    GM_PART_PRODUCERS, /* python/producers.c */
    GM_PART_ADDRESSES, /* backend/cuda_memory.c */
    GM_PART_MODULES,   /* sim/storage.c */
    GM_PARTS,
} gm_part;

/* The calling thread's part of so many bytes, at first all zero; NULL: out of memory. It is freed
 * when the thread ends. */
void *gm_per_thread(gm_part part, size_t bytes);
/* The same if the thread has it; else NULL. */
void *gm_per_thread_found(gm_part part);

#endif
