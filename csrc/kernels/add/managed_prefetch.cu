/*
 * add / managed_prefetch: the pages migrate before the kernel starts.
 *
 * Follows  managed, whose kernel stalls at each page that is on the host.
 * Idea     cudaMemPrefetchAsync moves whole arrays ahead of the kernel on the same stream, in large
 *          pieces, and the result back to the host afterwards.
 */
#include "add.h"

GM_KERNEL(add_managed_prefetch, add_args)
{
    add_arrays(a);
}
