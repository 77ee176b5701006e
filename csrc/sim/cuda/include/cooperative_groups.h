/* <cooperative_groups.h> */
#ifndef GPUMEM_INCLUDE_COOPERATIVE_GROUPS_H
#define GPUMEM_INCLUDE_COOPERATIVE_GROUPS_H

#include "sim/cuda/cooperative_groups.h"
#include "sim/cuda/group_grid.h"

#endif
