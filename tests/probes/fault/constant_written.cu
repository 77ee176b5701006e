/* a store to constant memory through a pointer */
#include "../probe.h"

GM_CONSTANT(float, written_table, 16)

GM_KERNEL(fault_constant_written, probe_args)
{
    float *hidden = (float *)&written_table[a.offset];
    hidden[threadIdx.x % 16] = a.in[0];
}
