/* CUDA's <sm_35_intrinsics.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
