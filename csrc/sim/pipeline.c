/* __pipeline_memcpy_async on the simulator: the copy is complete when the call returns. */
#include "sim/pipeline.h"

#include <string.h>

#include "sim/hooks.h"

void gm_sim_pipeline_copy(void *shared, const void *global, size_t size, size_t zfill,
                          const char *file, int line)
{
    const void *code = __builtin_return_address(0);
    if (size != 4 && size != 8 && size != 16) {
        gm_sim_fault(file, line, "an asynchronous copy of a size other than 4, 8 or 16 bytes");
    }
    if (zfill > size) {
        gm_sim_fault(file, line,
                     "an asynchronous copy that fills more bytes with zero than its size");
    }
    if (((uintptr_t)shared | (uintptr_t)global) % size != 0) {
        gm_sim_fault_of(GM_RULE_MISALIGNED, file, line,
                        "an asynchronous copy whose addresses are not multiples of its size");
    }
    if (zfill < size) {
        gm_sim_pipeline_access(code, (uintptr_t)global, (uint32_t)(size - zfill), GM_LOAD, file,
                               line);
    }
    gm_sim_pipeline_access(code, (uintptr_t)shared, (uint32_t)size, GM_STORE, file, line);
    memcpy(shared, global, size - zfill);
    memset((char *)shared + (size - zfill), 0, zfill);
}

void gm_sim_pipeline_commit(const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = GM_PIPELINE_COMMIT, .file = file, .line = line});
}

void gm_sim_pipeline_wait(size_t pending, const char *file, int line)
{
    gm_sim_sync(&(gm_sync){
        .kind = GM_PIPELINE_WAIT, .pending = (unsigned)pending, .file = file, .line = line});
}
