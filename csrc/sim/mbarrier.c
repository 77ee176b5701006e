/* An mbarrier for one arriving thread, in the 64 bits that a kernel gives it. */
#include "sim/mbarrier.h"

#include <string.h>

#include "sim/hooks.h"

typedef struct mbarrier {
    int32_t missing;  /* bytes that are expected but have not arrived */
    uint16_t pending; /* the thread has yet to arrive */
    uint16_t phase;   /* parity of the phase that is under way */
} mbarrier;

_Static_assert(sizeof(mbarrier) == sizeof(uint64_t), "an mbarrier is 64 bits");

static void report(gm_sync_kind kind, const uint64_t *barrier, const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = kind, .mbarrier = barrier, .file = file, .line = line});
}

static void store(uint64_t *barrier, mbarrier state, const char *file, int line)
{
    if (state.pending == 0 && state.missing == 0) {
        state.phase ^= 1;
        state.pending = 1;
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

void gm_sim_mbarrier_init(uint64_t *barrier, const char *file, int line)
{
    report(GM_MBARRIER_INIT, barrier, file, line);
    store(barrier, (mbarrier){.pending = 1}, file, line);
}

void gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, const char *file, int line)
{
    report(GM_MBARRIER_ARRIVE, barrier, file, line);
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
    report(GM_MBARRIER_WAIT, barrier, file, line);
}
