/*
 * Locks and fork. A child has the memory of its parent, but only the thread that forked: a lock
 * that another thread held stays taken there, for ever. So every lock says what becomes of it.
 *
 * GM_FORK_LOCK   Fork waits for it: the child finds it open, and what it guards whole. Whoever
 *                holds it waits for nobody, not even for the GIL, which the forking thread has.
 * GM_CHILD_LOCK  The child gets a new one. For holders who wait: for the GIL, a device, or the
 *                driver, which may fork by itself. What it guards is of no use to the child, such
 *                as the driver's handles; or written anew by whoever takes the lock; or renewed by
 *                a function of the file, see GM_IN_CHILD.
 */
#ifndef GPUMEM_FORK_LOCK_H
#define GPUMEM_FORK_LOCK_H

#include <pthread.h>

/* The function, which takes nothing, is called in every child. */
#define GM_IN_CHILD(function)                                                                      \
    static __attribute__((constructor)) void function##_minds_forks(void)                          \
    {                                                                                              \
        pthread_atfork(NULL, NULL, function);                                                      \
    }                                                                                              \
    _Static_assert(1, "a semicolon follows")

/* Both define the lock `name` of a file. */
#define GM_FORK_LOCK(name)                                                                         \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                       \
    static void name##_before_fork(void)                                                           \
    {                                                                                              \
        pthread_mutex_lock(&name);                                                                 \
    }                                                                                              \
    static void name##_after_fork(void)                                                            \
    {                                                                                              \
        pthread_mutex_unlock(&name);                                                               \
    }                                                                                              \
    static __attribute__((constructor)) void name##_minds_forks(void)                              \
    {                                                                                              \
        pthread_atfork(name##_before_fork, name##_after_fork, name##_after_fork);                  \
    }                                                                                              \
    _Static_assert(1, "a semicolon follows")

#define GM_CHILD_LOCK(name)                                                                        \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                       \
    static void renew_##name(void)                                                                 \
    {                                                                                              \
        pthread_mutex_init(&name, NULL);                                                           \
    }                                                                                              \
    GM_IN_CHILD(renew_##name)

#endif
