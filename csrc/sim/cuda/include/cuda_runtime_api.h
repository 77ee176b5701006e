/* CUDA's <cuda_runtime_api.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
