/*
 * Whether the threads of a block use shared memory cleanly between two barriers: a word is only
 * read, or one thread alone uses it, and what is read has been written before.
 *
 * Two bits per word are enough as long as no word is both read and stored to, or stored to twice.
 * Only then does it matter who used a word.
 */
#ifndef GPUMEM_SIM_CLEAN_H
#define GPUMEM_SIM_CLEAN_H

#include "sim/requests.h"
#include "sim/spaces.h"

typedef enum gm_cleanness {
    GM_UNCLEAN,
    GM_UNSURE, /* who used which word so far? */
    GM_CLEAN,
} gm_cleanness;

typedef enum gm_clean_mode {
    GM_KEEPS_BITS,
    GM_RECALLS, /* all accesses of the warp have been recalled, those to come included */
    GM_KEEPS_THREADS,
} gm_clean_mode;

typedef struct gm_clean {
    gm_clean_mode mode;
    uint32_t interval;                 /* number of the time since the last barrier */
    uint64_t *written, *read, *stored; /* a bit per word: by the block; since the last barrier */
    uintptr_t chunks;                  /* of 64 words */
    uintptr_t low, high;               /* the chunks of `read` and `stored` that have any bits */
    struct gm_word_use *uses;          /* NULL until it matters */
} gm_clean;

/* A new block begins. */
void gm_clean_block(gm_clean *clean);
/* All threads of the block have met. */
void gm_clean_barrier(gm_clean *clean);
void gm_clean_free(gm_clean *clean);

/* Is the request, by a warp whose first thread has this number, clean? If that is unsure, all
 * accesses since the last barrier have to be recalled, and then it is asked again. Not clean also
 * when memory ran out. */
gm_cleanness gm_clean_request(gm_clean *clean, const gm_spaces *spaces, const gm_request *request,
                              uint32_t first_thread);
/* Recalling begins: what follows are accesses since the last barrier, in any order. */
bool gm_clean_recall(gm_clean *clean);
bool gm_clean_recall_access(gm_clean *clean, const gm_spaces *spaces, const gm_access *access,
                            bool writes, uint32_t thread);
/* The warp's requests are over. */
static inline void gm_clean_warp(gm_clean *clean)
{
    clean->mode = clean->mode == GM_RECALLS ? GM_KEEPS_THREADS : clean->mode;
}

/* The block has written here, without being asked whether that is clean. */
void gm_clean_stored(gm_clean *clean, const gm_spaces *spaces, uintptr_t address, uint32_t bytes);

#endif
