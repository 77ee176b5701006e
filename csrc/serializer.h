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
    static gm_turn name;                                                                           \
    static void renew_##name(void)                                                                 \
    {                                                                                              \
        gm_turn_renew(&name);                                                                      \
    }                                                                                              \
    static __attribute__((constructor)) void begin_##name(void)                                    \
    {                                                                                              \
        gm_turn_renew(&name);                                                                      \
    }                                                                                              \
    GM_IN_CHILD(renew_##name)

void gm_turn_renew(gm_turn *turn);
/* Between the two other host threads wait. After a failure to take there is nothing to leave: a
 * signal handler cannot wait for the call that it interrupted. */
gm_status gm_turn_take(gm_turn *turn, const gm_call *call);
/* Returns the status that it is given, or why the next call could not be told to wait. */
gm_status gm_turn_leave(gm_turn *turn, const gm_call *call, gm_status status);

#endif
