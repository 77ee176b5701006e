/* A lock on the host, and on the device an event that the next call waits for. */
#define _GNU_SOURCE
#include "backend/serializer.h"

#include <errno.h>

#include "backend/backend.h"

static gm_status find_last(gm_serializer *serializer, const gm_call *call, void ***last)
{
    int device = 0;
    gm_status status = call->backend->current_device(&device);
    if (status == GM_OK && device >= GM_SERIALIZER_DEVICES) {
        status = gm_fail(GM_ERROR_UNAVAILABLE, "device %d is beyond the %d that can be serialized",
                         device, GM_SERIALIZER_DEVICES);
    }
    *last = status == GM_OK ? &serializer->last[device] : NULL;
    return status;
}

void gm_serializer_renew(gm_serializer *serializer)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&serializer->lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

gm_status gm_serializer_enter(gm_serializer *serializer, const gm_call *call)
{
    void **last;
    if (pthread_mutex_lock(&serializer->lock) == EDEADLK) {
        return gm_fail(
            GM_ERROR_UNAVAILABLE,
            "%s uses a variable that each device has once, and the call that this signal handler "
            "interrupts is using it: the handler has to make the call later",
            call->family->name);
    }
    gm_status status = call->backend->asynchronous ? find_last(serializer, call, &last) : GM_OK;
    if (status == GM_OK && call->backend->asynchronous) {
        status = *last ? call->backend->stream_follow(call->stream, *last)
                       : call->backend->event_create(last);
    }
    if (status != GM_OK) {
        pthread_mutex_unlock(&serializer->lock);
    }
    return status;
}

gm_status gm_serializer_leave(gm_serializer *serializer, const gm_call *call, gm_status status)
{
    void **last;
    if (call->backend->asynchronous) {
        gm_error before = *gm_last_error();
        gm_status recorded = find_last(serializer, call, &last);
        if (recorded == GM_OK) {
            recorded = call->backend->event_record(*last, call->stream);
        }
        if (status != GM_OK) {
            gm_set_last_error(&before);
        } else {
            status = recorded;
        }
    }
    pthread_mutex_unlock(&serializer->lock);
    return status;
}
