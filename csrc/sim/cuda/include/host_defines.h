/* CUDA's <host_defines.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
