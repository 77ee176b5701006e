/* What each host thread keeps for itself: a list of its parts, behind a key. */
#include "per_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct parts {
    void *part[GM_PARTS];
} parts;

static pthread_key_t key;
static bool has_key;

static void free_parts(void *value)
{
    parts *mine = value;
    for (int i = 0; i < GM_PARTS; i++) {
        free(mine->part[i]);
    }
    free(mine);
}

static __attribute__((constructor)) void make_key(void)
{
    has_key = pthread_key_create(&key, free_parts) == 0;
}

void *gm_per_thread_found(gm_part part)
{
    const parts *mine = has_key ? pthread_getspecific(key) : NULL;
    return mine ? mine->part[part] : NULL;
}

static parts *make_parts(void)
{
    parts *mine = has_key ? calloc(1, sizeof *mine) : NULL;
    if (mine && pthread_setspecific(key, mine) != 0) {
        free(mine);
        mine = NULL;
    }
    return mine;
}

static void *make_part(gm_part part, size_t bytes)
{
    parts *mine = has_key ? pthread_getspecific(key) : NULL;
    if (!mine && !(mine = make_parts())) {
        return NULL;
    }
    return mine->part[part] = calloc(1, bytes);
}

void *gm_per_thread(gm_part part, size_t bytes)
{
    void *found = gm_per_thread_found(part);
    return found ? found : make_part(part, bytes);
}

uint64_t gm_hash_words(const void *words, size_t bytes)
{
    uint64_t hash = bytes, word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        memcpy(&word, (const char *)words + at, sizeof word);
        hash = ((hash << 27 | hash >> 37) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

void *gm_per_thread_slot(gm_part part, size_t slot_bytes, const void *key, size_t key_bytes,
                         bool *known)
{
    enum { BITS = 5, SLOTS = 1 << BITS };
    char *table = gm_per_thread(part, SLOTS * slot_bytes);
    *known = false;
    if (!table) {
        return NULL;
    }
    const uint64_t hash = gm_hash_words(key, key_bytes);
    char *slot = table + (hash >> (64 - BITS)) * slot_bytes;
    *known = memcmp(slot, key, key_bytes) == 0;
    return slot;
}
