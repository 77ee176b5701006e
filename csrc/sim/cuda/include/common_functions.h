/* CUDA's <common_functions.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
