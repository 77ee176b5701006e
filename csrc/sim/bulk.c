/*
 * The bulk copy engine on the simulator: a copy is complete when the call returns, so a wait
 * either passes at once or would never end.
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

static void store(uint64_t *barrier, mbarrier state)
{
    if (state.pending == 0 && state.missing == 0) {
        state.phase ^= 1;
        state.pending = 1;
    }
    memcpy(barrier, &state, sizeof state);
}

static mbarrier load(const uint64_t *barrier)
{
    mbarrier state;
    memcpy(&state, barrier, sizeof state);
    return state;
}

void gm_sim_mbarrier_init(uint64_t *barrier)
{
    store(barrier, (mbarrier){.pending = 1});
}

void gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes)
{
    mbarrier state = load(barrier);
    state.missing += (int32_t)bytes;
    state.pending = 0;
    store(barrier, state);
}

void gm_sim_mbarrier_complete(uint64_t *barrier, uint32_t bytes)
{
    mbarrier state = load(barrier);
    state.missing -= (int32_t)bytes;
    store(barrier, state);
}

void gm_sim_mbarrier_wait(uint64_t *barrier, uint32_t parity, const char *file, int line)
{
    if (load(barrier).phase == parity) {
        gm_sim_fault(file, line, "waits on an mbarrier whose bytes never come");
    }
}

static void check_multiples(uintptr_t bits, const char *file, int line)
{
    if (bits % 16 != 0) {
        gm_sim_fault(file, line, "a bulk copy whose addresses or size are no multiples of 16");
    }
}

static void move(void *to, const void *from, uint32_t bytes, const void *code, const char *file,
                 int line)
{
    check_multiples((uintptr_t)to | (uintptr_t)from | bytes, file, line);
    gm_sim_access(code, (uintptr_t)from, bytes, GM_LOAD, file, line);
    gm_sim_access(code, (uintptr_t)to, bytes, GM_STORE, file, line);
    memcpy(to, from, bytes);
}

void gm_sim_bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                      const char *file, int line)
{
    move(shared, global, bytes, __builtin_return_address(0), file, line);
    gm_sim_mbarrier_complete(barrier, bytes);
}

void gm_sim_bulk_store(void *global, const void *shared, uint32_t bytes, const char *file, int line)
{
    move(global, shared, bytes, __builtin_return_address(0), file, line);
}

void gm_sim_bulk_prefetch(const void *global, uint32_t bytes, const char *file, int line)
{
    check_multiples((uintptr_t)global | bytes, file, line);
    gm_sim_access(__builtin_return_address(0), (uintptr_t)global, bytes, GM_PREFETCH, file, line);
}
