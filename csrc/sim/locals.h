/*
 * Local variables without initialiser: which of their bytes the thread has not written yet; and
 * guards beside local arrays.
 *
 * They are known from where they begin to live until their function returns or their thread ends;
 * what else is on a thread's stack is not looked at.
 */
#ifndef GPUMEM_SIM_LOCALS_H
#define GPUMEM_SIM_LOCALS_H

#include <stddef.h>

#include "gpumem.h"
#include "sim/lane.h"
#include "sim/region.h"

typedef struct gm_locals gm_locals;

/* A load of what nothing has written; bytes 0: none. It is no fault until the thread does something
 * else than to hand the value to another lane, or another lane takes it. */
typedef struct gm_unset {
    uintptr_t address;
    uint32_t bytes;
    int thread;
    const char *file;
    int line;
} gm_unset;

/* For the threads of a block. NULL when memory ran out. */
gm_locals *gm_locals_create(int threads);
void gm_locals_destroy(gm_locals *locals);
/* A new block begins. */
void gm_locals_clear(gm_locals *locals);

gm_status gm_locals_add(gm_locals *locals, int thread, uintptr_t address, size_t bytes,
                        gm_local what);
/* A guard's life ends. */
void gm_locals_end_guard(gm_locals *locals, int thread, uintptr_t address);
/* Is there anything unwritten at all, or any guard? */
bool gm_locals_any(const gm_locals *locals);
void gm_locals_write(gm_locals *locals, uintptr_t address, size_t bytes);
/* Is none of these bytes written, all of them being of such variables? */
bool gm_locals_unwritten(const gm_locals *locals, uintptr_t address, size_t bytes);

/* Is one of these bytes a guard's? */
bool gm_locals_guarded(const gm_locals *locals, uintptr_t address, size_t bytes);

void gm_locals_function_begins(gm_locals *locals, int thread);
void gm_locals_function_ends(gm_locals *locals, int thread);
void gm_locals_thread_ends(gm_locals *locals, int thread);

#endif
