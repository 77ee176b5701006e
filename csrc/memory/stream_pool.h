/*
 * Streams for transfers in several pieces. Streams are slow to make: sets that nobody uses are kept
 * in a pool. Two transfers at the same time have different sets.
 *
 * All pieces go to the device on one stream, one after another. On several streams the copies would
 * share the bus, and the first piece would arrive together with the last.
 */
#ifndef GPUMEM_STREAM_POOL_H
#define GPUMEM_STREAM_POOL_H

#include "backend/backend.h"

enum {
    GM_SLOTS = 3
}; /* pieces in flight: one on its way in, one in a kernel, one on its way out */

typedef struct gm_stream_set {
    const gm_backend *backend;
    int device;
    gm_stream upload, slot[GM_SLOTS];
    gm_event uploaded[GM_SLOTS]; /* only if the backend is asynchronous */
    struct gm_stream_set *next;
} gm_stream_set;

/* A set for the current device. */
gm_status gm_stream_pool_take(const gm_backend *backend, gm_stream_set **set);
void gm_stream_pool_give(gm_stream_set *set);
/* Further work on the slot's stream waits for what is on the upload stream now. */
gm_status gm_stream_set_await_upload(gm_stream_set *set, int slot);

#endif
