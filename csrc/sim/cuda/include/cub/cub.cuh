/* <cub/cub.cuh> */
#ifndef GPUMEM_INCLUDE_CUB_CUB_CUH
#define GPUMEM_INCLUDE_CUB_CUB_CUH

#include "sim/cuda/refused.h"

#endif
