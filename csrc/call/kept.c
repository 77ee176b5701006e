/* Choices that are kept, each thread's own: there is no lock, and nothing is shared. */
#include "call/kept.h"

#include <string.h>

#include "per_thread.h"

enum { SLOT_BITS = 5, SLOTS = 1 << SLOT_BITS };

typedef struct slot {
    const gm_variant *variant; /* NULL: an empty slot */
    gm_kept_key key;
} slot;

/* ---- the key ------------------------------------------------------------------------------- */

static int64_t word_of(const void *pointer)
{
    return (int64_t)(uintptr_t)pointer;
}

/* Two words, and two for each dimension; returns where the next one goes. */
static int64_t *write_array(const gm_array *array, int64_t *at)
{
    if (array->absent) {
        *at++ = -1; /* no itemsize */
        return at;
    }
    *at++ = array->itemsize;
    *at++ = (int64_t)((uintptr_t)array->data % GM_KEPT_ADDRESSES) | (int64_t)array->memory << 8 |
            (int64_t)(unsigned char)array->kind << 16 | (int64_t)array->contiguous << 24 |
            (int64_t)array->ndim << 32;
    for (int d = 0; d < array->ndim; d++) {
        *at++ = array->shape[d];
        *at++ = array->strides[d];
    }
    return at;
}

static void make_key(const gm_call *call, const gm_variant *asked, gm_kept_key *key)
{
    const gm_family *family = call->family;
    int room = GM_KEPT_WORDS - 4 - family->parameter_count - 2 - 2 * call->out.ndim;
    key->count = 0;
    for (int i = 0; i < family->input_count; i++) {
        room -= 2 + (call->in[i].absent ? 0 : 2 * call->in[i].ndim);
    }
    if (!family->keeps_choice || call->trace || room < 0) {
        return;
    }
    int64_t *at = key->words;
    *at++ = word_of(family);
    *at++ = word_of(asked);
    *at++ = word_of(call->backend);
    *at++ = word_of(call->device);
    for (int i = 0; i < family->parameter_count; i++) {
        *at++ = call->parameters[i].integer;
    }
    for (int i = 0; i < family->input_count; i++) {
        at = write_array(&call->in[i], at);
    }
    at = write_array(&call->out, at);
    key->count = (int)(at - key->words);
    key->hash = gm_hash_words(key->words, (size_t)key->count * sizeof *key->words);
}

/* ---- slots --------------------------------------------------------------------------------- */

/* NULL: out of memory, so that nothing is kept. */
static slot *slot_of(const gm_kept_key *key)
{
    slot *slots = gm_per_thread(GM_PART_CHOICES, SLOTS * sizeof *slots);
    return slots ? &slots[key->hash >> (64 - SLOT_BITS)] : NULL;
}

const gm_variant *gm_kept_find(const gm_call *call, const gm_variant *asked, gm_kept_key *key)
{
    make_key(call, asked, key);
    if (key->count == 0) {
        return NULL;
    }
    const slot *kept = slot_of(key);
    const bool same =
        kept && kept->variant && kept->key.count == key->count &&
        memcmp(kept->key.words, key->words, (size_t)key->count * sizeof *key->words) == 0;
    return same ? kept->variant : NULL;
}

void gm_kept_store(const gm_kept_key *key, const gm_variant *variant)
{
    slot *kept = key->count > 0 ? slot_of(key) : NULL;
    if (kept) {
        kept->key.count = key->count;
        memcpy(kept->key.words, key->words, (size_t)key->count * sizeof *key->words);
        kept->variant = variant;
    }
}
