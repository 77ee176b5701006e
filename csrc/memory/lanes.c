/* Streams are slow to make: they wait in a list. */
#include "memory/lanes.h"

#include <stdlib.h>

#include "fork_lock.h"

GM_CHILD_LOCK(lock);
static gm_lanes *idle;

/* A child's driver knows none of its parent's streams. */
static void forget_idle(void)
{
    idle = NULL;
}
GM_IN_CHILD(forget_idle);

static void destroy(gm_lanes *lanes)
{
    for (int i = 0; i < GM_LANES; i++) {
        if (lanes->stream[i]) {
            lanes->backend->stream_destroy(lanes->stream[i]);
        }
        if (lanes->arrived[i]) {
            lanes->backend->event_destroy(lanes->arrived[i]);
        }
    }
    if (lanes->in) {
        lanes->backend->stream_destroy(lanes->in);
    }
    free(lanes);
}

gm_status gm_lanes_take(const gm_backend *backend, gm_lanes **lanes)
{
    int device;
    gm_status status = backend->current_device(&device);
    if (status != GM_OK) {
        return status;
    }
    pthread_mutex_lock(&lock);
    gm_lanes **at = &idle;
    while (*at && ((*at)->backend != backend || (*at)->device != device)) {
        at = &(*at)->next;
    }
    *lanes = *at;
    if (*lanes) {
        *at = (*lanes)->next;
    }
    pthread_mutex_unlock(&lock);
    if (*lanes) {
        return GM_OK;
    }
    gm_lanes *made = calloc(1, sizeof *made);
    if (!made) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the streams of a transfer");
    }
    made->backend = backend;
    made->device = device;
    status = backend->stream_create(&made->in);
    for (int i = 0; status == GM_OK && i < GM_LANES; i++) {
        status = backend->stream_create(&made->stream[i]);
        if (status == GM_OK && backend->asynchronous) {
            status = backend->event_create(&made->arrived[i]);
        }
    }
    if (status != GM_OK) {
        destroy(made);
        return status;
    }
    *lanes = made;
    return GM_OK;
}

gm_status gm_lanes_arrive(gm_lanes *lanes, int lane)
{
    const gm_backend *backend = lanes->backend;
    if (!backend->asynchronous) {
        return GM_OK;
    }
    gm_status status = backend->event_record(lanes->arrived[lane], lanes->in);
    return status == GM_OK ? backend->stream_follow(lanes->stream[lane], lanes->arrived[lane])
                           : status;
}

void gm_lanes_give(gm_lanes *lanes)
{
    pthread_mutex_lock(&lock);
    lanes->next = idle;
    idle = lanes;
    pthread_mutex_unlock(&lock);
}
