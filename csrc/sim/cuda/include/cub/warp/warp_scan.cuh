/* <cub/warp/warp_scan.cuh> */
#ifndef GPUMEM_INCLUDE_CUB_WARP_WARP_SCAN_CUH
#define GPUMEM_INCLUDE_CUB_WARP_WARP_SCAN_CUH

#include "sim/cuda/refused.h"

#endif
