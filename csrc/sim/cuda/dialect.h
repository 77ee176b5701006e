/*
 * All that a user's source finds without including anything, as it does under nvcc. gpumem's own
 * kernels do without it: most of their compilation would be the host's headers.
 */
#ifndef GPUMEM_CUDA_DIALECT_H
#define GPUMEM_CUDA_DIALECT_H

/* First, since some of the names below are macros. As C++'s own headers: they put all overloads of
 * abs, isnan, pow, … in the global namespace too. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "sim/cuda/conversions.h"
#include "sim/cuda/functions.h"
#include "sim/cuda/host.h"
#include "sim/cuda/rounding.h"
#include "sim/cuda/simd.h"
#include "sim/cuda/traps.h"

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __NVCC__ 1
#define __CUDA_ARCH__ 900
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

#endif
