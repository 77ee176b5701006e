/* CUDA's <cuda_profiler_api.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
