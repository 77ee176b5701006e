/* <cooperative_groups/scan.h> */
#ifndef GPUMEM_INCLUDE_COOPERATIVE_GROUPS_SCAN_H
#define GPUMEM_INCLUDE_COOPERATIVE_GROUPS_SCAN_H

#include "sim/cuda/group_reduce.h"

#endif
