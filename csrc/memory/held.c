/* Owners of memory that wait for the device. */
#include "memory/held.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "fork_lock.h"

typedef struct held {
    struct held *next;
    const gm_backend *backend;
    gm_event done;
    void *owner;
    void (*forget)(void *owner);
} held;

/* Guards the queue; it asks the driver, but never waits for Python. */
GM_CHILD_LOCK(lock);
static held *first, **end = &first;
static atomic_bool any; /* so that nobody takes the lock for an empty queue */

/* A child has no device to wait for, and cannot release what belongs to the parent's. */
static void leave_to_parent(void)
{
    first = NULL;
    end = &first;
    atomic_store(&any, false);
}
GM_IN_CHILD(leave_to_parent);

static held *make(const gm_backend *backend)
{
    held *one = malloc(sizeof *one);
    if (!one || backend->event_create(&one->done) != GM_OK) {
        free(one);
        return NULL;
    }
    if (backend->event_record(one->done, NULL) != GM_OK) {
        backend->event_destroy(one->done);
        free(one);
        return NULL;
    }
    return one;
}

void gm_hold(const gm_backend *backend, void *owner, void (*forget)(void *owner))
{
    held *one = make(backend);
    if (!one) { /* then the host waits */
        backend->wait_all();
        forget(owner);
        return;
    }
    one->next = NULL;
    one->backend = backend;
    one->owner = owner;
    one->forget = forget;
    pthread_mutex_lock(&lock);
    *end = one;
    end = &one->next;
    atomic_store_explicit(&any, true, memory_order_release);
    pthread_mutex_unlock(&lock);
}

/* Is nothing to be waited for? After a failure the device works on nothing any more. */
static bool is_done(const held *one)
{
    bool done = false;
    return one->backend->event_done(one->done, &done) != GM_OK || done;
}

static held *take_done(void)
{
    held *one = NULL;
    pthread_mutex_lock(&lock);
    if (first && is_done(first)) {
        one = first;
        first = one->next;
        if (!first) {
            end = &first;
            atomic_store_explicit(&any, false, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return one;
}

void gm_release_held(void)
{
    if (!atomic_load_explicit(&any, memory_order_acquire)) {
        return;
    }
    gm_error before = *gm_last_error(); /* it may not have been raised yet */
    held *one;
    while ((one = take_done())) {
        one->backend->event_destroy(one->done);
        one->forget(one->owner);
        free(one);
    }
    gm_set_last_error(&before);
}
