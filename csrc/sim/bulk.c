/*
 * The bulk copy engine on the simulator: a copy is complete when the call returns, so a thread
 * has to wait only for others that have not run yet.
 */
#include "sim/bulk.h"

#include <string.h>

#include "sim/hooks.h"
#include "sim/lane.h"

/* An mbarrier for one arriving thread: the phase, whether the thread has yet to arrive, and
 * the bytes that are expected but have not come. */
typedef struct mbarrier {
    int32_t missing;
    uint16_t pending;
    uint16_t phase;
} mbarrier;

_Static_assert(sizeof(mbarrier) == sizeof(uint64_t), "an mbarrier is 64 bits");

/* What happened, told to whoever traces the kernel. */
static void tell(gm_sync_kind kind, const uint64_t *barrier, const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = kind, .mbarrier = barrier, .file = file, .line = line});
}

static void store(uint64_t *barrier, mbarrier state, const char *file, int line)
{
    if (state.pending == 0 && state.missing == 0) {
        state.phase ^= 1;
        state.pending = 1;
        tell(GM_MBARRIER_PHASE, barrier, file, line);
    }
    memcpy(barrier, &state, sizeof state);
}

static mbarrier load(const uint64_t *barrier)
{
    mbarrier state;
    memcpy(&state, barrier, sizeof state);
    return state;
}

void gm_sim_mbarrier_init(uint64_t *barrier, const char *file, int line)
{
    tell(GM_MBARRIER_INIT, barrier, file, line);
    store(barrier, (mbarrier){.pending = 1}, file, line);
}

void gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, const char *file, int line)
{
    tell(GM_MBARRIER_ARRIVE, barrier, file, line);
    mbarrier state = load(barrier);
    state.missing += (int32_t)bytes;
    state.pending = 0;
    store(barrier, state, file, line);
}

void gm_sim_mbarrier_complete(uint64_t *barrier, uint32_t bytes, const char *file, int line)
{
    mbarrier state = load(barrier);
    state.missing -= (int32_t)bytes;
    store(barrier, state, file, line);
}

bool gm_sim_mbarrier_passed(const uint64_t *barrier, uint32_t parity)
{
    return load(barrier).phase != parity;
}

void gm_sim_mbarrier_wait(uint64_t *barrier, uint32_t parity, const char *file, int line)
{
    if (!gm_sim_mbarrier_passed(barrier, parity)) {
        gm_sim_wait_for_phase(barrier, parity, file, line);
    }
    tell(GM_MBARRIER_WAIT, barrier, file, line);
}

static void check_multiples(uintptr_t bits, const char *file, int line)
{
    if (bits % 16 != 0) {
        gm_sim_fault(file, line, "a bulk copy whose addresses or size are no multiples of 16");
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
    tell(GM_ENGINE_COMMIT, NULL, file, line);
}

void gm_sim_bulk_wait_read(const char *file, int line)
{
    tell(GM_ENGINE_WAIT_READ, NULL, file, line);
}

void gm_sim_bulk_prefetch(const void *global, uint32_t bytes, const char *file, int line)
{
    check_multiples((uintptr_t)global | bytes, file, line);
    gm_sim_engine_access(__builtin_return_address(0), (uintptr_t)global, bytes, GM_PREFETCH, NULL,
                         file, line);
}
