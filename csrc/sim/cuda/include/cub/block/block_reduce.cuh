/* <cub/block/block_reduce.cuh> */
#ifndef GPUMEM_INCLUDE_CUB_BLOCK_BLOCK_REDUCE_CUH
#define GPUMEM_INCLUDE_CUB_BLOCK_BLOCK_REDUCE_CUH

#include "sim/cuda/refused.h"

#endif
