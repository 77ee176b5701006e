/* Clean use of shared memory: bits of words, and who used a word where bits do not tell enough. */
#include "sim/clean.h"

#include <stdlib.h>
#include <string.h>

#define WROTE (1u << 31)
#define MANY (WROTE - 1)

typedef struct gm_word_use {
    uint32_t interval; /* the last in which a thread used it */
    uint32_t user;     /* then: the thread, with WROTE if it wrote, or MANY that only read */
} gm_word_use;

void gm_clean_barrier(gm_clean *clean)
{
    if (clean->high > clean->low) {
        size_t bytes = (clean->high - clean->low) * sizeof *clean->read;
        memset(&clean->read[clean->low], 0, bytes);
        memset(&clean->stored[clean->low], 0, bytes);
    }
    clean->low = clean->chunks;
    clean->high = 0;
    clean->interval++;
    clean->mode = GM_KEEPS_BITS;
}

void gm_clean_block(gm_clean *clean)
{
    if (clean->written) {
        memset(clean->written, 0, clean->chunks * sizeof *clean->written);
    }
    gm_clean_barrier(clean);
}

void gm_clean_free(gm_clean *clean)
{
    free(clean->written);
    free(clean->read);
    free(clean->stored);
    free(clean->uses);
}

/* One chunk more than there are words, so that a mask may begin in the last. */
static bool make_bits(gm_clean *clean, const gm_spaces *spaces)
{
    if (!clean->stored) {
        clean->chunks = spaces->shared_span / 4 / 64 + 2;
        clean->low = clean->chunks;
        clean->written = calloc(clean->chunks, sizeof *clean->written);
        clean->read = calloc(clean->chunks, sizeof *clean->read);
        clean->stored =
            clean->written && clean->read ? calloc(clean->chunks, sizeof *clean->stored) : NULL;
    }
    return clean->stored;
}

/* ---- who used a word ----------------------------------------------------------------------- */

static inline bool load_word(const gm_clean *clean, gm_word_use *word, uint32_t thread)
{
    if (word->interval != clean->interval) {
        *word = (gm_word_use){clean->interval, thread};
    } else if (word->user != MANY && (word->user & ~WROTE) != thread) {
        if (word->user & WROTE) {
            return false;
        }
        word->user = MANY;
    }
    return true;
}

static inline bool store_word(const gm_clean *clean, gm_word_use *word, uint32_t thread)
{
    bool alone = word->interval != clean->interval || (word->user & ~WROTE) == thread;
    *word = (gm_word_use){clean->interval, thread | WROTE};
    return alone;
}

/* The words at `at`, an offset in shared memory. */
static inline bool use(const gm_clean *clean, uintptr_t at, uint32_t bytes, bool writes,
                       uint32_t thread)
{
    gm_word_use *word = &clean->uses[at / 4], *past = word + bytes / 4;
    bool alone = true;
    for (; word < past; word++) {
        alone &= writes ? store_word(clean, word, thread) : load_word(clean, word, thread);
    }
    return alone;
}

bool gm_clean_recall(gm_clean *clean)
{
    if (!clean->uses) {
        clean->uses = calloc(clean->chunks * 64, sizeof *clean->uses);
    }
    clean->mode = GM_RECALLS;
    return clean->uses;
}

bool gm_clean_recall_access(gm_clean *clean, const gm_spaces *spaces, const gm_access *access,
                            bool writes, uint32_t thread)
{
    uintptr_t at = gm_shared_offset(spaces, access->address);
    return (at | access->bytes) % 4 == 0 && use(clean, at, access->bytes, writes, thread);
}

/* ---- bits ---------------------------------------------------------------------------------- */

/* The words of `mask` from chunk `at` on. */
static inline gm_cleanness use_bits(gm_clean *clean, uintptr_t at, uint64_t mask, bool writes)
{
    uint64_t *written = &clean->written[at], *read = &clean->read[at];
    uint64_t *stored = &clean->stored[at];
    if (writes) {
        *written |= mask;
    } else if (mask & ~*written) {
        return GM_UNCLEAN;
    }
    if (clean->mode != GM_KEEPS_BITS) {
        return GM_CLEAN;
    }
    if (mask & (writes ? *stored | *read : *stored)) {
        return GM_UNSURE;
    }
    *(writes ? stored : read) |= mask;
    clean->low = at < clean->low ? at : clean->low;
    clean->high = at >= clean->high ? at + 1 : clean->high;
    return GM_CLEAN;
}

/* Words that lie near each other, each of one lane if it is stored to. */
static gm_cleanness use_together(gm_clean *clean, uintptr_t first, uint64_t words, bool writes)
{
    uintptr_t at = first / 64, shift = first % 64;
    gm_cleanness is = use_bits(clean, at, words << shift, writes);
    uint64_t rest = shift ? words >> (64 - shift) : 0;
    return rest && is == GM_CLEAN ? use_bits(clean, at + 1, rest, writes) : is;
}

static gm_cleanness use_apart(gm_clean *clean, const gm_request *request, uintptr_t begin,
                              bool writes)
{
    gm_cleanness is = GM_CLEAN;
    for (int i = 0; i < request->lanes && is == GM_CLEAN; i++) {
        uintptr_t first = (request->address[i] - request->begin + begin) / 4;
        for (uint32_t n = 0; n < request->widest / 4 && is == GM_CLEAN; n++) {
            is = use_bits(clean, (first + n) / 64, UINT64_C(1) << (first + n) % 64, writes);
        }
    }
    return is;
}

/* ---- requests ------------------------------------------------------------------------------ */

static bool are_whole_words(const gm_request *request, uintptr_t begin)
{
    uintptr_t low = begin | request->widest;
    uint32_t different = 0;
    for (int i = 0; i < request->lanes; i++) {
        low |= request->address[i] - request->begin;
        different |= request->bytes[i] ^ request->widest;
    }
    return low % 4 == 0 && !different;
}

static bool is_by_one_thread(gm_clean *clean, const gm_request *request, uintptr_t begin,
                             bool writes, uint32_t first_thread)
{
    bool alone = true;
    for (int i = 0; i < request->lanes && alone; i++) {
        const uintptr_t *address = &request->address[i];
        if (!writes && i > 1 && address[0] == address[-1] && address[0] == address[-2]) {
            continue; /* two lanes have read there: many */
        }
        alone = use(clean, *address - request->begin + begin, request->widest, writes,
                    first_thread + request->lane[i]);
    }
    return alone;
}

gm_cleanness gm_clean_request(gm_clean *clean, const gm_spaces *spaces, const gm_request *request,
                              uint32_t first_thread)
{
    const gm_shape *shape = request->shape;
    const bool writes = request->site->kind != GM_LOAD;
    uintptr_t begin;
    gm_cleanness is = GM_UNCLEAN;
    if (!make_bits(clean, spaces) ||
        !gm_shared_range(spaces, request->begin, request->end, &begin)) {
        return GM_UNCLEAN;
    }
    if (shape && shape->words && begin % 4 == 0) {
        bool alone = !writes || shape->apart || clean->mode != GM_KEEPS_BITS;
        is = alone ? use_together(clean, begin / 4, shape->words, writes) : GM_UNSURE;
    } else if (are_whole_words(request, begin)) {
        is = use_apart(clean, request, begin, writes);
    }
    if (is == GM_CLEAN && clean->mode == GM_KEEPS_THREADS) {
        is = is_by_one_thread(clean, request, begin, writes, first_thread) ? GM_CLEAN : GM_UNCLEAN;
    }
    return is;
}

void gm_clean_stored(gm_clean *clean, const gm_spaces *spaces, uintptr_t address, uint32_t bytes)
{
    uintptr_t begin = gm_shared_offset(spaces, address);
    for (uintptr_t word = (begin + 3) / 4; clean->written && word < (begin + bytes) / 4; word++) {
        clean->written[word / 64] |= UINT64_C(1) << word % 64;
    }
}
