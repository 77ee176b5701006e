/* __half and its functions. */
#include "sim/cuda/half.h"
