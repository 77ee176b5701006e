/* CUDA's <sm_61_intrinsics.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
