/* <cub/block/block_scan.cuh> */
#ifndef GPUMEM_INCLUDE_CUB_BLOCK_BLOCK_SCAN_CUH
#define GPUMEM_INCLUDE_CUB_BLOCK_BLOCK_SCAN_CUH

#include "sim/cuda/refused.h"

#endif
