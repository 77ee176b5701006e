/* <cooperative_groups/reduce.h> */
#ifndef GPUMEM_INCLUDE_COOPERATIVE_GROUPS_REDUCE_H
#define GPUMEM_INCLUDE_COOPERATIVE_GROUPS_REDUCE_H

#include "sim/cuda/group_reduce.h"

#endif
