/* Which bytes of an allocation something has written: those up to one, and a bit for each other. */
#include "sim/written.h"

#include <stdlib.h>
#include <string.h>

static atomic_llong plain_launches;

gm_written *gm_written_create(gm_region region)
{
    gm_written *written = calloc(1, sizeof *written);
    if (written) {
        written->region = region;
        written->prefix = region.begin;
        written->plain_launches = atomic_load(&plain_launches);
        atomic_init(&written->users, 1);
    }
    return written;
}

gm_written *gm_written_keep(gm_written *written)
{
    if (written) {
        atomic_fetch_add(&written->users, 1);
    }
    return written;
}

void gm_written_drop(gm_written *written)
{
    if (written && atomic_fetch_sub(&written->users, 1) == 1) {
        free(written->bits);
        free(written);
    }
}

void gm_written_by_plain_launch(void)
{
    atomic_fetch_add(&plain_launches, 1);
}

static bool is_all(const gm_written *written)
{
    return written->all || written->plain_launches != atomic_load(&plain_launches);
}

/* Those of the eight bits at 8 * index that lie in [begin, end). */
static unsigned char mask_of(uintptr_t index, uintptr_t begin, uintptr_t end)
{
    unsigned first = begin > 8 * index ? (unsigned)(begin - 8 * index) : 0;
    unsigned past = end < 8 * index + 8 ? (unsigned)(end - 8 * index) : 8;
    return (unsigned char)(0xFFu << first & 0xFFu >> (8 - past));
}

void gm_written_add(gm_written *written, uintptr_t begin, uintptr_t end)
{
    gm_region region = written->region;
    begin = begin > region.begin ? begin : region.begin;
    end = end < region.end ? end : region.end;
    if (begin >= end || is_all(written)) {
        return;
    }
    if (begin <= written->prefix) {
        written->prefix = end > written->prefix ? end : written->prefix;
        written->all = written->prefix == region.end;
        return;
    }
    if (!written->bits) {
        written->bits = calloc((region.end - region.begin) / 8 + 1, 1);
        if (!written->bits) {
            written->all = true;
            return;
        }
    }
    begin -= region.begin;
    end -= region.begin;
    const uintptr_t first = begin / 8, last = (end - 1) / 8;
    written->bits[first] |= mask_of(first, begin, end);
    written->bits[last] |= mask_of(last, begin, end);
    if (last > first + 1) {
        memset(&written->bits[first + 1], 0xFF, last - first - 1);
    }
}

uint32_t gm_written_missing(const gm_written *written, uintptr_t begin, uintptr_t end)
{
    uint32_t missing = 0;
    begin = begin > written->prefix ? begin : written->prefix;
    if (begin >= end || is_all(written)) {
        return 0;
    }
    if (!written->bits) {
        return (uint32_t)(end - begin);
    }
    begin -= written->region.begin;
    end -= written->region.begin;
    for (uintptr_t i = begin / 8; 8 * i < end; i++) {
        unsigned wanted = mask_of(i, begin, end);
        missing += (uint32_t)__builtin_popcount(wanted & ~(unsigned)written->bits[i]);
    }
    return missing;
}
