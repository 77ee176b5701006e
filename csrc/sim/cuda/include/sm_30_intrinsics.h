/* CUDA's <sm_30_intrinsics.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
