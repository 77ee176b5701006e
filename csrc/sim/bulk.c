/*
 * The bulk copy engine on the simulator. A copy is complete when the call returns, so that a thread
 * only ever waits for threads that have not run yet.
 */
#include "sim/bulk.h"

#include <string.h>

#include "sim/hooks.h"

static void report(gm_sync_kind kind, const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = kind, .file = file, .line = line});
}

static void check_multiples(uintptr_t bits, const char *file, int line)
{
    if (bits % 16 != 0) {
        gm_sim_fault_of(GM_RULE_MISALIGNED, file, line,
                        "a bulk copy whose addresses or size are not multiples of 16");
    }
}

void gm_sim_bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                      const char *file, int line)
{
    const void *code = __builtin_return_address(0);
    check_multiples((uintptr_t)shared | (uintptr_t)global | bytes, file, line);
    gm_sim_engine_access(code, (uintptr_t)global, bytes, GM_LOAD, NULL, file, line);
    gm_sim_engine_access(code, (uintptr_t)shared, bytes, GM_STORE, barrier, file, line);
    memcpy(shared, global, bytes);
    gm_sim_mbarrier_complete(barrier, bytes, file, line);
}

void gm_sim_bulk_store(void *global, const void *shared, uint32_t bytes, const char *file, int line)
{
    const void *code = __builtin_return_address(0);
    check_multiples((uintptr_t)shared | (uintptr_t)global | bytes, file, line);
    gm_sim_engine_access(code, (uintptr_t)shared, bytes, GM_LOAD, NULL, file, line);
    gm_sim_engine_access(code, (uintptr_t)global, bytes, GM_STORE, NULL, file, line);
    memcpy(global, shared, bytes);
    report(GM_ENGINE_COMMIT, file, line);
}

void gm_sim_bulk_wait_read(const char *file, int line)
{
    report(GM_ENGINE_WAIT_READ, file, line);
}

void gm_sim_bulk_fence(const char *file, int line)
{
    report(GM_ENGINE_FENCE, file, line);
}

void gm_sim_bulk_prefetch(const void *global, uint32_t bytes, const char *file, int line)
{
    check_multiples((uintptr_t)global | bytes, file, line);
    gm_sim_engine_access(__builtin_return_address(0), (uintptr_t)global, bytes, GM_PREFETCH, NULL,
                         file, line);
}
