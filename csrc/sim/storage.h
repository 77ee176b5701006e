/*
 * Thread-local storage of the shared objects with kernels: is there memory for it?
 *
 * glibc allocates the thread-local variables of a shared object at a thread's first access to one,
 * and ends the process if it finds no memory. So whoever is about to be the first asks before.
 */
#ifndef GPUMEM_SIM_STORAGE_H
#define GPUMEM_SIM_STORAGE_H

#include <stdbool.h>

#include "sim/module.h"

/* Gives this host thread a module's thread-local storage, the simulator's own, and an error record,
 * unless it has them. False: out of memory. */
bool gm_storage_take(const gm_module *module);

#endif
