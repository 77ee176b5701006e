/* A lock that a child of fork finds open, and what it guards whole: fork waits for it. */
#ifndef GPUMEM_FORK_LOCK_H
#define GPUMEM_FORK_LOCK_H

#include <pthread.h>

/* Defines the lock `name` of a file. */
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

#endif
