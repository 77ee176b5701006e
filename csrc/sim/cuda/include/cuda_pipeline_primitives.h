/* <cuda_pipeline_primitives.h> */
#ifndef GPUMEM_INCLUDE_CUDA_PIPELINE_PRIMITIVES
#define GPUMEM_INCLUDE_CUDA_PIPELINE_PRIMITIVES

#include "sim/cuda/async.h"

#endif
