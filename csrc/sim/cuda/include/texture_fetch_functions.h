/* <texture_fetch_functions.h> */
#ifndef GPUMEM_INCLUDE_TEXTURE_FETCH_FUNCTIONS
#define GPUMEM_INCLUDE_TEXTURE_FETCH_FUNCTIONS

#include "sim/cuda/texture.h"

#endif
