/* <cub/warp/warp_reduce.cuh> */
#ifndef GPUMEM_INCLUDE_CUB_WARP_WARP_REDUCE_CUH
#define GPUMEM_INCLUDE_CUB_WARP_WARP_REDUCE_CUH

#include "sim/cuda/refused.h"

#endif
