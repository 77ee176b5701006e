/* CUDA's <device_launch_parameters.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
