/*
 * Choices that are kept: which variant a call gets depends on its layout alone, so it is found once
 * per layout. Arguments are planned for every call anew, with its own addresses.
 */
#ifndef GPUMEM_KEPT_H
#define GPUMEM_KEPT_H

#include "gpumem.h"

enum {
    GM_KEPT_WORDS = 80,      /* of a call's description; longer ones are not kept */
    GM_KEPT_ADDRESSES = 256, /* bytes: addresses count by where they are in so many */
};

/* All that a choice may depend on. */
typedef struct gm_kept_key {
    int count; /* 0: the call is not one whose choice is kept */
    uint64_t hash;
    int64_t words[GM_KEPT_WORDS];
} gm_kept_key;

/* The variant, or the instance, that was chosen for such a call and that takes its arrays; NULL if
 * there is none. `asked` is the one asked for, or NULL. Fills the key in. */
const gm_variant *gm_kept_find(const gm_call *call, const gm_variant *asked, gm_kept_key *key);
/* Keeps it, until calls with other keys need the room. */
void gm_kept_store(const gm_kept_key *key, const gm_variant *variant);

#endif
