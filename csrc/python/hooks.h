/* What C code below the binding asks Python for, see gm_poll and gm_library_paths. */
#ifndef GPUMEM_PYTHON_HOOKS_H
#define GPUMEM_PYTHON_HOOKS_H

#include "python/python.h"

/* Handles signals; true if a handler raised an exception. */
bool gm_python_poll(void);
/* Asks gpumem.machine.libraries where a library may be. */
void gm_python_library_paths(const char *name, char *paths, size_t room);

#endif
