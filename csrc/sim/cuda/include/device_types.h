/* CUDA's <device_types.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
