/* <cooperative_groups/memcpy_async.h> */
#ifndef GPUMEM_INCLUDE_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define GPUMEM_INCLUDE_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "sim/cuda/group_copy.h"

#endif
