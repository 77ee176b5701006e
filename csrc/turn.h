/*
 * Taking turns at something that there is one of, such as a variable of the device: what a call
 * puts on its stream runs after what the calls before it have put on theirs.
 */
#ifndef GPUMEM_TURN_H
#define GPUMEM_TURN_H

#include <pthread.h>

#include "fork_lock.h"
#include "gpumem.h"

enum { GM_TURN_DEVICES = 64 };

typedef struct gm_turn {
    pthread_mutex_t lock;
    void *last[GM_TURN_DEVICES]; /* per device: the event after the call before; NULL: none yet */
} gm_turn;

/* Defines the turn `name` of a file. Whoever has it writes anew what there is one of. */
#define GM_TURN(name)                                                                              \
    static gm_turn name = {.lock = PTHREAD_MUTEX_INITIALIZER};                                     \
    static void renew_##name(void)                                                                 \
    {                                                                                              \
        pthread_mutex_init(&name.lock, NULL);                                                      \
    }                                                                                              \
    GM_IN_CHILD(renew_##name)

/* Between the two other host threads wait. After a failure to take there is nothing to leave. */
gm_status gm_turn_take(gm_turn *turn, const gm_call *call);
/* Returns the status that it is given, or why the next call could not be told to wait. */
gm_status gm_turn_leave(gm_turn *turn, const gm_call *call, gm_status status);

#endif
