/*
 * Serializes the use of something that each device has one of, such as a variable: what a call puts
 * on its stream runs after what earlier calls have put on theirs.
 */
#ifndef GPUMEM_SERIALIZER_H
#define GPUMEM_SERIALIZER_H

#include <pthread.h>

#include "fork_lock.h"
#include "gpumem.h"

enum { GM_SERIALIZER_DEVICES = 64 };

typedef struct gm_serializer {
    pthread_mutex_t lock;
    void *last[GM_SERIALIZER_DEVICES]; /* per device: the event after the latest call; NULL: none */
} gm_serializer;

/* Defines the serializer `name` of a file. Whoever enters writes anew what is serialized, so that a
 * forked child may begin with a new lock. */
#define GM_SERIALIZER(name)                                                                        \
    static gm_serializer name;                                                                     \
    static void renew_##name(void)                                                                 \
    {                                                                                              \
        gm_serializer_renew(&name);                                                                \
    }                                                                                              \
    GM_AT_START_AND_IN_CHILD(renew_##name)

void gm_serializer_renew(gm_serializer *serializer);
/* Until gm_serializer_leave other host threads wait here. Fails in a signal handler that interrupts
 * a call between the two on its own thread; after a failure there is nothing to leave. */
gm_status gm_serializer_enter(gm_serializer *serializer, const gm_call *call);
/* Returns the given status, or why the next call cannot be made to wait for this one. */
gm_status gm_serializer_leave(gm_serializer *serializer, const gm_call *call, gm_status status);

#endif
