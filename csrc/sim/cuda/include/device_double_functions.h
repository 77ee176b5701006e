/* CUDA's <device_double_functions.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
