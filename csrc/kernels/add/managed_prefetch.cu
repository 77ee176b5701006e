/*
 * add / managed_prefetch: the pages are there before the kernel asks.
 *
 * Follows  managed, whose kernel stops at each page that the host has.
 * Idea     cudaMemPrefetchAsync moves whole arrays ahead of the kernel on the same stream, in large
 *          pieces; the page of the result moves empty, and then back towards the host.
 */
#include "add.h"

GM_KERNEL(add_managed_prefetch, add_args)
{
    add_arrays(a);
}
