/*
 * What each host thread keeps for itself, on the heap.
 *
 * Not in thread-local variables: glibc allocates all of a shared object's at a thread's first
 * access to one of them, among ours the __shared__ arrays of the simulator's kernels, and ends the
 * process if there is no memory. Only the simulator has some, see sim/storage.h.
 */
#ifndef GPUMEM_PER_THREAD_H
#define GPUMEM_PER_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Of so many bytes, in whole words of 8: where these differ in one bit, the upper bits differ, as a
 * rule. */
uint64_t gm_hash_words(const void *words, size_t bytes);

/* A part that is a table of 32 slots, which begin with a key of whole words without padding, not
 * all of them zero: that of a key. Not `known`: the slot is to be filled, the key, too. NULL: out
 * of memory. */
void *gm_per_thread_slot(gm_part part, size_t slot_bytes, const void *key, size_t key_bytes,
                         bool *known);

#endif
