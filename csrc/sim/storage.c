/* Thread-local storage of the shared objects with kernels: who has it, and taking it. */
#define _GNU_SOURCE
#include "sim/storage.h"

#include <stdint.h>
#include <stdlib.h>

#include "fork_lock.h"
#include "per_thread.h"

/* The modules whose storage a host thread has, or some of them, by where they are: modules stay
 * loaded. */
typedef struct known {
    uintptr_t image[16];
    unsigned next;
} known;

GM_FORK_LOCK(taking); /* so that two threads do not count on the same memory */

static bool is_known(const known *mine, uintptr_t image)
{
    for (size_t i = 0; i < sizeof mine->image / sizeof *mine->image; i++) {
        if (mine->image[i] == image) {
            return true;
        }
    }
    return false;
}

/* glibc takes the storage by malloc. Only malloc itself knows whether there is memory: a thread has
 * reserves that count as taken. Several blocks, in case other threads take some meanwhile; and not
 * one large one, after whose release malloc would keep blocks up to that size. */
static bool has_room(size_t bytes)
{
#ifdef __GLIBC__
    enum { TIMES = 4, LIST = 64 * 1024 /* bytes, with the list of a thread's storages */ };
    void *volatile probe[TIMES]; /* volatile: the compiler would leave malloc out */
    bool room = true;
    for (int i = 0; i < TIMES; i++) {
        probe[i] = room ? malloc(bytes + LIST) : NULL;
        room = room && probe[i];
    }
    for (int i = TIMES - 1; i >= 0; i--) {
        free(probe[i]);
    }
    return room;
#else
    (void)bytes; /* other C libraries allocate it as they start a thread or load the object */
    return true;
#endif
}

/* Reaches a thread-local variable of the module, if there is room for all of them. */
static bool reach(const gm_module *module)
{
    pthread_mutex_lock(&taking);
    bool room = has_room(module->shared_bytes);
    if (room) {
        (void)module->lane();
    }
    pthread_mutex_unlock(&taking);
    return room;
}

static bool take(const gm_module *module)
{
    known *mine = gm_per_thread(GM_PART_MODULES, sizeof *mine);
    if (!mine || !gm_error_record() || !reach(module)) {
        return false;
    }
    mine->image[mine->next++ % (sizeof mine->image / sizeof *mine->image)] = module->image.begin;
    return true;
}

bool gm_storage_take(const gm_module *module)
{
    const known *mine = gm_per_thread_found(GM_PART_MODULES);
    return (mine && is_known(mine, module->image.begin)) || take(module);
}
