/* <surface_indirect_functions.h> */
#ifndef GPUMEM_INCLUDE_SURFACE_INDIRECT_FUNCTIONS
#define GPUMEM_INCLUDE_SURFACE_INDIRECT_FUNCTIONS

#include "sim/cuda/texture.h"

#endif
