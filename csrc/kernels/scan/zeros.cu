/*
 * scan / zeros, a helper: what the kernel behind it counts in.
 */
#include "zeros.h"

GM_KERNEL(scan_zeros, zeros_args)
{
    zeros_write(a);
}
