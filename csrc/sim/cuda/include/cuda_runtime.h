/* CUDA's <cuda_runtime.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
