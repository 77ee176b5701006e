/*
 * Variables of the device. A kernel file defines one with GM_CONSTANT or GM_VARIABLE, the ladder
 * names it, and launch hooks access it through a backend. Each device has it once, so its use is
 * serialized.
 */
#ifndef GPUMEM_SYMBOL_H
#define GPUMEM_SYMBOL_H

#include "backend/serializer.h"

typedef struct gm_symbol {
    const char *name;
    int64_t bytes;
    void *(*cuda)(void);   /* its handle for the CUDA runtime; NULL if built without nvcc */
    void *(*plain)(void);  /* its address on the simulator, for plain kernels */
    void *(*traced)(void); /* and for traced ones */
    gm_serializer *serializer;
} gm_symbol;

#endif
