/* Transfers of contiguous bytes, and the size of their chunks. */
#include "memory/transfer.h"

#include "memory/host.h"
#include "memory/stream_pool.h"
#include "memory/workers.h"

/* Several chunks are in flight at once; each has a fixed cost, which a small one does not repay. */
enum {
    LEAST_CHUNK = 1024 * 1024,
    MOST_CHUNK = 16 * 1024 * 1024,
    CHUNKS = 8, /* at least, for sizes between these limits */
};

int64_t gm_chunk_bytes(const gm_backend *backend, int64_t asked, int64_t bytes, bool staged)
{
    if (asked > 0) {
        return asked;
    }
    if (!backend->asynchronous) {
        return INT64_MAX;
    }
    int64_t size = staged ? MOST_CHUNK : bytes / CHUNKS;
    return size < LEAST_CHUNK ? LEAST_CHUNK : size > MOST_CHUNK ? MOST_CHUNK : size;
}

gm_status gm_finish(const gm_backend *backend, gm_stream stream, gm_status status)
{
    gm_error before = *gm_last_error();
    gm_status waited = backend->wait(stream);
    if (status == GM_OK) {
        return waited;
    }
    gm_set_last_error(&before);
    return status;
}

/* A chunk of the ring: the host fills or empties it only while its stream is idle. */
typedef struct ring_slot {
    gm_stream stream;
    void *staging;
    char *target;   /* on the host, of a chunk that comes from the device; NULL: none */
    int64_t length; /* of that chunk */
} ring_slot;

static void deliver(const ring_slot *slot)
{
    if (slot->target) {
        gm_copy_rows_together(slot->target, slot->length, slot->staging, slot->length, slot->length,
                              1);
    }
}

static gm_status move_chunk(const gm_backend *backend, ring_slot *slot, char *to, const char *from,
                            int64_t count, gm_direction direction)
{
    gm_status status = backend->wait(slot->stream);
    if (status != GM_OK) {
        return status;
    }
    if (direction == GM_TO_DEVICE) {
        gm_copy_rows_together(slot->staging, count, from, count, count, 1);
        return backend->copy(to, slot->staging, count, direction, slot->stream);
    }
    deliver(slot);
    slot->target = to;
    slot->length = count;
    return backend->copy(slot->staging, from, count, direction, slot->stream);
}

static gm_status through_ring(const gm_backend *backend, char *to, const char *from, int64_t bytes,
                              int64_t size, gm_direction direction)
{
    gm_stream_set *set;
    ring_slot slots[GM_SLOTS] = {{.stream = NULL}};
    gm_status status = gm_stream_pool_take(backend, &set);
    if (status != GM_OK) {
        return status;
    }
    for (int i = 0; status == GM_OK && i < GM_SLOTS; i++) {
        slots[i].stream = set->slot[i];
        status = gm_host_allocate(backend, GM_PINNED, size, &slots[i].staging);
    }
    int at = 0;
    for (int64_t done = 0; status == GM_OK && done < bytes; done += size) {
        int64_t count = bytes - done < size ? bytes - done : size;
        status = move_chunk(backend, &slots[at], to + done, from + done, count, direction);
        at = (at + 1) % GM_SLOTS;
    }
    for (int i = 0; i < GM_SLOTS; i++, at = (at + 1) % GM_SLOTS) {
        status = gm_finish(backend, set->slot[at], status);
        if (status == GM_OK) {
            deliver(&slots[at]);
        }
    }
    for (int i = 0; i < GM_SLOTS; i++) {
        gm_host_release(slots[i].staging);
    }
    gm_stream_pool_give(set);
    return status;
}

gm_status gm_transfer(const gm_route *route, void *to, const void *from, int64_t bytes,
                      gm_direction direction)
{
    const gm_backend *backend = route->backend;
    int64_t size = gm_chunk_bytes(backend, route->chunk, bytes, true);
    if (route->kind != GM_PAGEABLE || bytes <= size / 4) {
        gm_status status = backend->copy(to, from, bytes, direction, route->stream);
        return gm_finish(backend, route->stream, status);
    }
    gm_status status = backend->wait(route->stream); /* the ring has streams of its own */
    return status == GM_OK ? through_ring(backend, to, from, bytes, size, direction) : status;
}

enum { STRETCH = 4 * 1024 * 1024 }; /* bytes between two calls of the poll hook */

gm_status gm_transfer_new(const gm_route *route, void *to, const void *from, int64_t bytes)
{
    if (route->backend->asynchronous) {
        return gm_transfer(route, to, from, bytes, GM_TO_DEVICE);
    }
    int64_t last = gm_coarse_now();
    gm_status status = GM_OK;
    for (int64_t at = 0, count; status == GM_OK && at < bytes; at += count) {
        count = bytes - at < STRETCH ? bytes - at : STRETCH;
        status = gm_transfer(route, (char *)to + at, (const char *)from + at, count, GM_TO_DEVICE);
        if (status == GM_OK) {
            status = gm_poll_after(&last, gm_coarse_now());
        }
    }
    return status;
}

gm_status gm_touch_new(const gm_backend *backend, void *memory, int64_t bytes)
{
    enum { PAGE = 4096 };
    volatile char *byte = memory;
    int64_t last = gm_coarse_now();
    gm_status status = GM_OK;
    for (int64_t at = 0; !backend->asynchronous && status == GM_OK && at < bytes; at += PAGE) {
        byte[at] = byte[at];
        if (at % STRETCH == 0) {
            status = gm_poll_after(&last, gm_coarse_now());
        }
    }
    return status;
}
