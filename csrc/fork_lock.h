/*
 * Fork: what a forked child may do, and the locks that make it so.
 *
 * A child has its parent's memory, but only the thread that forked.
 *   - The simulator goes on working: what its locks guard is consistent in the child.
 *   - CUDA does not survive fork. Each call fails and says so, releasing does nothing, and handles
 *     of the driver (streams, events) are forgotten. If the parent never opened CUDA, or was
 *     refused, the child may open it, or is refused likewise.
 *   - The parent's worker threads do not exist in the child, which starts its own.
 *
 * A lock that another thread held during fork would stay locked in the child for ever. So a lock is
 * one of:
 *   GM_FORK_LOCK   Fork waits for it: in the child it is open, and what it guards is consistent.
 *                  Whoever holds it may not wait for anything, not even for the GIL, which the
 *                  forking thread has.
 *   GM_CHILD_LOCK  The child gets a new lock. For holders that wait: for the GIL, a device or the
 *                  driver, which may fork itself. What it guards is useless in the child, such as
 *                  handles of the driver; or whoever locks it writes it anew; or a function of the
 *                  file resets it, see GM_IN_CHILD.
 */
#ifndef GPUMEM_FORK_LOCK_H
#define GPUMEM_FORK_LOCK_H

#include <pthread.h>

/* Calls a function without arguments in every child. */
#define GM_IN_CHILD(function)                                                                      \
    static __attribute__((constructor)) void function##_handles_forks(void)                        \
    {                                                                                              \
        pthread_atfork(NULL, NULL, function);                                                      \
    }                                                                                              \
    _Static_assert(1, "a semicolon follows")

/* Calls it when the module is loaded, too. */
#define GM_AT_START_AND_IN_CHILD(function)                                                         \
    static __attribute__((constructor)) void function##_at_start(void)                             \
    {                                                                                              \
        function();                                                                                \
    }                                                                                              \
    GM_IN_CHILD(function)

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
    static __attribute__((constructor)) void name##_handles_forks(void)                            \
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
