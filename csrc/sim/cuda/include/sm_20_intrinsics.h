/* CUDA's <sm_20_intrinsics.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
