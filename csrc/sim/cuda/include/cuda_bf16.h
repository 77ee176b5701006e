/* __nv_bfloat16 and its functions. */
#include "sim/cuda/bfloat16.h"
