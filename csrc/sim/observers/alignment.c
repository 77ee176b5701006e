/*
 * Observer: a thread's access to an address that is not a multiple of its width. A device stops at
 * such an access; the host does not mind, so that nothing else would find it.
 */
#include "sim/observer.h"

static gm_status check(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    const gm_site *site = &trace->sites.list[access->site];
    bool is_width = access->bytes <= 16 && (access->bytes & (access->bytes - 1)) == 0;
    /* 16 bytes may be a structure whose alignment is 8: compilers report both alike. In global
     * memory such structures are in arrays, at multiples of 16. */
    uint32_t needed = access->bytes == 16 && site->space == GM_SPACE_SHARED ? 8 : access->bytes;
    if (is_width && access->address % needed != 0) {
        return gm_find(GM_RULE_MISALIGNED,
                       "%s of %u bytes at an address that is %u past a multiple of %u: misaligned",
                       gm_kind_name(site->kind), access->bytes,
                       (unsigned)(access->address % access->bytes), access->bytes);
    }
    return GM_OK;
}

const gm_observer gm_observer_alignment = {
    .name = "alignment",
    .accesses = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_SHARED),
    .actors = GM_SEES(GM_BY_THREAD),
    .unusual = true,
    .access = check,
};
