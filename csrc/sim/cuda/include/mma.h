/* <mma.h> */
#ifndef GPUMEM_INCLUDE_MMA
#define GPUMEM_INCLUDE_MMA

#include "sim/cuda/refused.h"

#endif
