/* <cuda_pipeline.h> */
#ifndef GPUMEM_INCLUDE_CUDA_PIPELINE
#define GPUMEM_INCLUDE_CUDA_PIPELINE

#include "sim/cuda/async.h"

#endif
