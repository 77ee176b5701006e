/* Whose turn it is: a lock on the host, and on the device an event that the next call waits for. */
#define _GNU_SOURCE
#include "turn.h"

#include <errno.h>

#include "backend/backend.h"

static gm_status find_last(gm_turn *turn, const gm_call *call, void ***last)
{
    int device = 0;
    gm_status status = call->backend->current_device(&device);
    if (status == GM_OK && device >= GM_TURN_DEVICES) {
        status = gm_fail(GM_ERROR_UNAVAILABLE, "device %d is beyond the %d that can take turns",
                         device, GM_TURN_DEVICES);
    }
    *last = status == GM_OK ? &turn->last[device] : NULL;
    return status;
}

void gm_turn_renew(gm_turn *turn)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&turn->lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

gm_status gm_turn_take(gm_turn *turn, const gm_call *call)
{
    void **last;
    if (pthread_mutex_lock(&turn->lock) == EDEADLK) {
        return gm_fail(
            GM_ERROR_UNAVAILABLE,
            "%s uses what there is one of on a device, and the call that this one "
            "interrupts on its thread is using it: a signal handler has to call it later",
            call->family->name);
    }
    gm_status status = call->backend->asynchronous ? find_last(turn, call, &last) : GM_OK;
    if (status == GM_OK && call->backend->asynchronous) {
        status = *last ? call->backend->stream_follow(call->stream, *last)
                       : call->backend->event_create(last);
    }
    if (status != GM_OK) {
        pthread_mutex_unlock(&turn->lock);
    }
    return status;
}

gm_status gm_turn_leave(gm_turn *turn, const gm_call *call, gm_status status)
{
    void **last;
    if (call->backend->asynchronous) {
        gm_error before = *gm_last_error();
        gm_status told = find_last(turn, call, &last);
        if (told == GM_OK) {
            told = call->backend->event_record(*last, call->stream);
        }
        if (status != GM_OK) {
            *gm_last_error() = before;
        } else {
            status = told;
        }
    }
    pthread_mutex_unlock(&turn->lock);
    return status;
}
