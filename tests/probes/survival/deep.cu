/* recursion whose depth is an element */
#include "../probe.h"

/* Adds up the numbers up to n. Not the compiler's to turn into a loop. */
static __attribute__((noinline)) float deep(const float *step, int n)
{
    volatile int here = n;
    return n == 0 ? 0 : deep(step, n - (int)*step) + here;
}

GM_KERNEL(survival_deep, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = deep(a.in, (int)a.offset);
    }
}
