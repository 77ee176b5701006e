/*
 * Owners of other libraries' memory that the device still works on: nobody may reuse the memory
 * until it is done. They are released in the order in which they came, by whoever asks next.
 */
#ifndef GPUMEM_HELD_H
#define GPUMEM_HELD_H

#include "backend/backend.h"

/* Calls forget(owner) once the work that is on the current device's default stream now is done. */
void gm_hold(const gm_backend *backend, void *owner, void (*forget)(void *owner));
/* Lets go of those whose work is done. */
void gm_release_held(void);

#endif
