/* One access of the kernel thread that runs now; with file NULL the code address tells the line. */
#ifndef GPUMEM_HOOKS_H
#define GPUMEM_HOOKS_H

#include <stdint.h>

void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, int is_store,
                   const char *file, int line);

#endif
