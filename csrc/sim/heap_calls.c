/* malloc and free, as kernels call them. */
#include <stdlib.h>

#include "sim/block.h"
#include "sim/heap.h"
#include "sim/lane.h"
#include "sim/locate.h"
#include "sim/thread.h"

static _Noreturn void fault(gm_block *block, const void *code, const char *what)
{
    const gm_site_record *at = gm_locate_line(block, (uintptr_t)code);
    gm_sim_fault_of(GM_RULE_FREED, at ? at->file : NULL, at ? at->line : 0, what);
    __builtin_unreachable();
}

/* Outside of kernels, in constructors of a module's variables, the host's functions. */
void *gm_sim_malloc(size_t bytes)
{
    gm_block *block = gm_thread_block();
    return block ? gm_heap_allocate(bytes, 1, block->grid->heap_launch) : malloc(bytes);
}

void *gm_sim_malloc_aligned(size_t bytes, size_t alignment)
{
    gm_block *block = gm_thread_block();
    return block ? gm_heap_allocate(bytes, alignment, block->grid->heap_launch)
                 : aligned_alloc(alignment, (bytes + alignment - 1) & -alignment);
}

void gm_sim_free(void *address)
{
    gm_block *block = gm_thread_block();
    const void *code = __builtin_return_address(0);
    gm_region region;
    if (!block) {
        free(address);
        return;
    }
    if (!address) {
        return;
    }
    switch (gm_heap_begins(address, &region)) {
    case GM_HEAP_FREED: fault(block, code, "frees memory that has been freed");
    case GM_HEAP_NONE:
        fault(block, code, "frees an address that neither malloc nor new has returned");
    case GM_HEAP_TAKEN: break;
    }
    gm_thread_freed(block, code, region);
    gm_heap_release(address);
}
