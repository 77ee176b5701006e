/* The pool is a list of idle sets. */
#include "memory/stream_pool.h"

#include <stdlib.h>

#include "fork_lock.h"

GM_CHILD_LOCK(lock);
static gm_stream_set *idle;

/* The driver of a forked child does not know the parent's streams. */
static void forget_idle(void)
{
    idle = NULL;
}
GM_IN_CHILD(forget_idle);

static void destroy(gm_stream_set *set)
{
    for (int i = 0; i < GM_SLOTS; i++) {
        if (set->slot[i]) {
            set->backend->stream_destroy(set->slot[i]);
        }
        if (set->uploaded[i]) {
            set->backend->event_destroy(set->uploaded[i]);
        }
    }
    if (set->upload) {
        set->backend->stream_destroy(set->upload);
    }
    free(set);
}

static gm_stream_set *take_idle(const gm_backend *backend, int device)
{
    pthread_mutex_lock(&lock);
    gm_stream_set **at = &idle;
    while (*at && ((*at)->backend != backend || (*at)->device != device)) {
        at = &(*at)->next;
    }
    gm_stream_set *found = *at;
    if (found) {
        *at = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static gm_status create(const gm_backend *backend, int device, gm_stream_set **set)
{
    gm_stream_set *made = calloc(1, sizeof *made);
    if (!made) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the streams of a transfer");
    }
    made->backend = backend;
    made->device = device;
    gm_status status = backend->stream_create(&made->upload);
    for (int i = 0; status == GM_OK && i < GM_SLOTS; i++) {
        status = backend->stream_create(&made->slot[i]);
        if (status == GM_OK && backend->asynchronous) {
            status = backend->event_create(&made->uploaded[i]);
        }
    }
    if (status != GM_OK) {
        destroy(made);
        return status;
    }
    *set = made;
    return GM_OK;
}

gm_status gm_stream_pool_take(const gm_backend *backend, gm_stream_set **set)
{
    int device;
    gm_status status = backend->current_device(&device);
    if (status != GM_OK) {
        return status;
    }
    *set = take_idle(backend, device);
    return *set ? GM_OK : create(backend, device, set);
}

void gm_stream_pool_give(gm_stream_set *set)
{
    pthread_mutex_lock(&lock);
    set->next = idle;
    idle = set;
    pthread_mutex_unlock(&lock);
}

gm_status gm_stream_set_await_upload(gm_stream_set *set, int slot)
{
    const gm_backend *backend = set->backend;
    if (!backend->asynchronous) {
        return GM_OK;
    }
    gm_status status = backend->event_record(set->uploaded[slot], set->upload);
    return status == GM_OK ? backend->stream_follow(set->slot[slot], set->uploaded[slot]) : status;
}
