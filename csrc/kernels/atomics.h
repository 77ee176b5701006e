/*
 * Atomic functions and fences, for the families whose kernels use them: CUDA's own, or the
 * simulator's, without which the other kernels compile faster.
 */
#ifndef GPUMEM_ATOMICS_H
#define GPUMEM_ATOMICS_H

#include "device.h"

#ifndef __CUDACC__
#include "sim/cuda/atomics.h"
#include "sim/cuda/fences.h"
#endif

#endif
