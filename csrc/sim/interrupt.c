/* Interruption: the flag that stops all host threads of a run, and the poll hook. */
#include "sim/interrupt.h"

void gm_interrupt_init(gm_interrupt *interrupt, atomic_bool *stop, bool polls)
{
    *interrupt = (gm_interrupt){
        .stop = stop,
        .polls = polls,
        .last_look = 0, /* long ago: the first warp counts as slow until it has shown its speed */
        .last_poll = gm_coarse_now(),
    };
}

gm_status gm_interrupt_check(gm_interrupt *interrupt)
{
    int64_t now = gm_coarse_now();
    if (atomic_load_explicit(interrupt->stop, memory_order_relaxed)) {
        return GM_ERROR_INTERRUPTED;
    }
    interrupt->slow = now != interrupt->last_look;
    interrupt->last_look = now;
    return interrupt->polls ? gm_poll_after(&interrupt->last_poll, now) : GM_OK;
}
