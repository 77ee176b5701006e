/*
 * Variables of the device. A kernel file defines one with GM_CONSTANT or GM_VARIABLE, the ladder
 * names it, and launch hooks reach it through a backend; there is one per device, so that calls
 * take turns at it.
 */
#ifndef GPUMEM_SYMBOL_H
#define GPUMEM_SYMBOL_H

#include "turn.h"

typedef struct gm_symbol {
    const char *name;
    int64_t bytes;
    void *(*cuda)(void);   /* what the CUDA runtime knows it by; NULL when built without nvcc */
    void *(*plain)(void);  /* its address on the simulator, */
    void *(*traced)(void); /* and that of the traced kernel's own */
    gm_turn *turn;
} gm_symbol;

#endif
