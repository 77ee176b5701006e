/* CUDA's <driver_types.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
