/* CUDA's <sm_32_intrinsics.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
