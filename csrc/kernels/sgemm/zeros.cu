/*
 * sgemm / zeros, a helper: what the blocks behind it say to each other.
 */
#include "zeros.h"

GM_KERNEL(sgemm_zeros, zeros_args)
{
    zeros_write(a);
}
