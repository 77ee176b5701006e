/* <surface_functions.h> */
#ifndef GPUMEM_INCLUDE_SURFACE_FUNCTIONS
#define GPUMEM_INCLUDE_SURFACE_FUNCTIONS

#include "sim/cuda/texture.h"

#endif
