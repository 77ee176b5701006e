/* One access of the kernel thread that runs now; with file NULL the code address tells the line. */
#ifndef GPUMEM_HOOKS_H
#define GPUMEM_HOOKS_H

#include <stdint.h>

typedef enum gm_kind {
    GM_LOAD,
    GM_STORE,
    GM_PREFETCH, /* must be in bounds; moves nothing, so it is not counted */
} gm_kind;

void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                   const char *file, int line);

#endif
