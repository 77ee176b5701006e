/* CUDA's <sm_60_atomic_functions.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
