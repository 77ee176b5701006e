/* Observer: accesses of a thread to addresses that are no multiple of their width. A device
 * stops there; the host does not mind, so nothing else would notice. */
#include "sim/trace.h"

static gm_status alignment_access(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    const gm_site *site = &trace->sites[access->site];
    bool is_width = access->bytes <= 16 && (access->bytes & (access->bytes - 1)) == 0;
    if (site->actor == GM_BY_THREAD && is_width && access->address % access->bytes != 0) {
        return gm_fail(GM_ERROR_SIMULATION,
                       "%s of %u bytes at an address that is %u past a multiple of %u: misaligned",
                       gm_kind_name(site->kind), access->bytes,
                       (unsigned)(access->address % access->bytes), access->bytes);
    }
    return GM_OK;
}

const gm_observer gm_alignment_observer = {
    .name = "alignment",
    .accesses = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_SHARED),
    .access = alignment_access,
};
