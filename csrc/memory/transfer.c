/* Whole arrays, and how large a chunk is. */
#include "memory/transfer.h"

#include <stdatomic.h>

#include "memory/chunk.h"
#include "memory/lanes.h"
#include "memory/memory.h"
#include "memory/workers.h"

/* Several chunks have to be on their way at once; a small one costs more than it hides. */
enum {
    LEAST_CHUNK = 1024 * 1024,
    MOST_CHUNK = 16 * 1024 * 1024,
    CHUNKS = 8, /* at least, of what lies between */
};

static atomic_llong chunk;

int64_t gm_set_chunk(int64_t bytes)
{
    return atomic_exchange(&chunk, bytes);
}

int64_t gm_chunk(const gm_backend *backend, int64_t bytes, bool staged)
{
    int64_t wish = atomic_load(&chunk);
    if (wish > 0) {
        return wish;
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
    *gm_last_error() = before;
    return status;
}

/* A chunk of a lane is filled, or emptied, by the host only when its stream is idle. */
static gm_status through_ring(const gm_backend *backend, char *to, const char *from, int64_t bytes,
                              int64_t size, gm_direction direction)
{
    gm_lanes *lanes;
    void *staging[GM_LANES] = {NULL};
    char *pending[GM_LANES] = {NULL}; /* where a chunk that is coming in belongs */
    int64_t length[GM_LANES] = {0};
    gm_status status = gm_lanes_take(backend, &lanes);
    if (status != GM_OK) {
        return status;
    }
    for (int i = 0; status == GM_OK && i < GM_LANES; i++) {
        status = gm_host_allocate(backend, GM_PINNED, size, &staging[i]);
    }
    int lane = 0;
    for (int64_t at = 0; status == GM_OK && at < bytes; at += size, lane = (lane + 1) % GM_LANES) {
        int64_t count = bytes - at < size ? bytes - at : size;
        status = backend->wait(lanes->stream[lane]);
        if (status != GM_OK) {
            break;
        }
        if (direction == GM_TO_DEVICE) {
            gm_copy_rows_together(staging[lane], count, from + at, count, count, 1);
            status = backend->copy(to + at, staging[lane], count, direction, lanes->stream[lane]);
            continue;
        }
        if (pending[lane]) {
            gm_copy_rows_together(pending[lane], length[lane], staging[lane], length[lane],
                                  length[lane], 1);
        }
        status = backend->copy(staging[lane], from + at, count, direction, lanes->stream[lane]);
        pending[lane] = to + at;
        length[lane] = count;
    }
    for (int i = 0; i < GM_LANES; i++, lane = (lane + 1) % GM_LANES) {
        status = gm_finish(backend, lanes->stream[lane], status);
        if (status == GM_OK && pending[lane]) {
            gm_copy_rows_together(pending[lane], length[lane], staging[lane], length[lane],
                                  length[lane], 1);
        }
    }
    for (int i = 0; i < GM_LANES; i++) {
        gm_host_release(staging[i]);
    }
    gm_lanes_give(lanes);
    return status;
}

gm_status gm_transfer(const gm_backend *backend, void *to, const void *from, int64_t bytes,
                      gm_memory_kind kind, gm_direction direction, gm_stream stream)
{
    int64_t size = gm_chunk(backend, bytes, true);
    if (kind != GM_PAGEABLE || bytes <= size / 4) {
        gm_status status = backend->copy(to, from, bytes, direction, stream);
        return gm_finish(backend, stream, status);
    }
    /* What is on the stream comes first. */
    gm_status status = backend->wait(stream);
    return status == GM_OK ? through_ring(backend, to, from, bytes, size, direction) : status;
}

/* What is done to new memory between two looks at the poll hook. */
enum { STRETCH = 4 * 1024 * 1024 };

gm_status gm_transfer_new(const gm_backend *backend, void *to, const void *from, int64_t bytes,
                          gm_memory_kind kind, gm_stream stream)
{
    if (backend->asynchronous) {
        return gm_transfer(backend, to, from, bytes, kind, GM_TO_DEVICE, stream);
    }
    int64_t last = gm_coarse_now();
    gm_status status = GM_OK;
    for (int64_t at = 0, count; status == GM_OK && at < bytes; at += count) {
        count = bytes - at < STRETCH ? bytes - at : STRETCH;
        status = gm_transfer(backend, (char *)to + at, (const char *)from + at, count, kind,
                             GM_TO_DEVICE, stream);
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
