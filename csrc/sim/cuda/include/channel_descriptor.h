/* CUDA's <channel_descriptor.h>: nothing that sources do not find without it. */
#include "sim/simt.h"
