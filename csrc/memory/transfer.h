/*
 * Transfers between arrays of the host and of the device.
 *
 * The copy engines access page-locked memory only. Pageable memory goes through a ring of
 * page-locked chunks: host threads fill one chunk while earlier ones are on the bus.
 */
#ifndef GPUMEM_TRANSFER_H
#define GPUMEM_TRANSFER_H

#include "backend/backend.h"

/* How bytes move between host and device. */
typedef struct gm_route {
    const gm_backend *backend;
    gm_stream stream;    /* they move after what is on this stream */
    gm_memory_kind kind; /* of the memory on the host */
    int64_t chunk;       /* bytes that move at a time; 0: depends on the size, see gm_chunk_bytes */
} gm_route;

/* Moves contiguous bytes; returns when they have arrived. */
gm_status gm_transfer(const gm_route *route, void *to, const void *from, int64_t bytes,
                      gm_direction direction);

/* The next two are for device memory that was just allocated and that nobody else uses. On the
 * simulator it is host memory whose pages the system maps at the first access: that can take a
 * second for a few hundred MiB, so these functions call the poll hook meanwhile. */
/* As gm_transfer to the device. */
gm_status gm_transfer_new(const gm_route *route, void *to, const void *from, int64_t bytes);
/* Maps the pages; does not change their contents. */
gm_status gm_touch_new(const gm_backend *backend, void *memory, int64_t bytes);

/* How many of `bytes` bytes move at a time: the chunk asked for, or, if that is 0, a default, which
 * is INT64_MAX on the simulator. Staged chunks go through the host's threads; waking these for a
 * small chunk costs more than it gains. */
int64_t gm_chunk_bytes(const gm_backend *backend, int64_t asked, int64_t bytes, bool staged);

/* Waits for the stream, after an error too; the first error is returned. */
gm_status gm_finish(const gm_backend *backend, gm_stream stream, gm_status status);

#endif
