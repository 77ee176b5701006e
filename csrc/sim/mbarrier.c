/* An mbarrier, in the 64 bits that a kernel gives it. */
#include "sim/mbarrier.h"

#include <string.h>

#include "sim/hooks.h"

typedef struct mbarrier {
    int64_t missing : 23;   /* bytes that are expected but have not arrived */
    uint64_t expected : 20; /* threads that arrive in a phase */
    uint64_t pending : 20;  /* those that have yet to arrive in this phase */
    uint64_t phase : 1;     /* parity of the phase that is under way */
} mbarrier;

_Static_assert(sizeof(mbarrier) == sizeof(uint64_t), "an mbarrier is 64 bits");

enum { MOST_ARRIVALS = (1 << 20) - 1 };

static void report(gm_sync_kind kind, const uint64_t *barrier, const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = kind, .mbarrier = barrier, .file = file, .line = line});
}

static void store(uint64_t *barrier, mbarrier state, const char *file, int line)
{
    if (state.pending == 0 && state.missing == 0) {
        state.phase ^= 1;
        state.pending = state.expected;
        report(GM_MBARRIER_PHASE, barrier, file, line);
    }
    memcpy(barrier, &state, sizeof state);
}

static mbarrier load(const uint64_t *barrier)
{
    mbarrier state;
    memcpy(&state, barrier, sizeof state);
    return state;
}

void gm_sim_mbarrier_init_count(uint64_t *barrier, uint32_t count, const char *file, int line)
{
    if (count == 0 || count > MOST_ARRIVALS) {
        gm_sim_fault_of(GM_RULE_MBARRIER, file, line,
                        "an mbarrier is initialised for 1 to 1048575 arrivals");
    }
    report(GM_MBARRIER_INIT, barrier, file, line);
    store(barrier, (mbarrier){.expected = count, .pending = count}, file, line);
}

void gm_sim_mbarrier_init(uint64_t *barrier, const char *file, int line)
{
    gm_sim_mbarrier_init_count(barrier, 1, file, line);
}

static uint32_t arrive(uint64_t *barrier, uint32_t count, uint32_t bytes, bool drops,
                       const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = GM_MBARRIER_ARRIVE,
                           .mbarrier = barrier,
                           .expects = bytes > 0,
                           .file = file,
                           .line = line});
    mbarrier state = load(barrier);
    uint32_t phase = state.phase;
    if (count > state.pending) {
        gm_sim_fault_of(GM_RULE_MBARRIER, file, line,
                        "more arrivals at an mbarrier than it is initialised for, or it is not");
    }
    state.missing += (int32_t)bytes;
    state.pending -= count;
    state.expected -= drops ? count : 0;
    store(barrier, state, file, line);
    return phase;
}

uint32_t gm_sim_mbarrier_arrive(uint64_t *barrier, uint32_t count, const char *file, int line)
{
    return arrive(barrier, count, 0, false, file, line);
}

void gm_sim_mbarrier_drop(uint64_t *barrier, const char *file, int line)
{
    arrive(barrier, 1, 0, true, file, line);
}

uint32_t gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, const char *file, int line)
{
    return arrive(barrier, 1, bytes, false, file, line);
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
    report(GM_MBARRIER_WAIT, barrier, file, line);
}

void gm_sim_mbarrier_copy(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                          const char *file, int line)
{
    const void *code = __builtin_return_address(0);
    gm_sim_engine_access(code, (uintptr_t)global, bytes, GM_LOAD, NULL, file, line);
    gm_sim_engine_access(code, (uintptr_t)shared, bytes, GM_STORE, barrier, file, line);
    memcpy(shared, global, bytes);
}
