/*
 * Barriers of the block: all threads have to reach the same one. Checked in plain runs as well as
 * in traced ones.
 */
#include "sim/barriers.h"

#include <string.h>

#include "gpumem.h"

bool gm_same_place(const gm_strand *a, const gm_strand *b)
{
    return a->line == b->line && (a->file == b->file || strcmp(a->file, b->file) == 0);
}

/* Since Volta a barrier waits only for threads that have not ended, but a thread that ended without
 * it has diverged from those that wait: compute-sanitizer's synccheck reports it, and so do we. */
int gm_barrier_check(const gm_strand *strands, int threads, int done)
{
    if (done > 0) {
        int waits = 0, ended = 0;
        while (strands[waits].state != AT_BARRIER) {
            waits++;
        }
        while (strands[ended].state != DONE) {
            ended++;
        }
        gm_index e = strands[ended].index;
        gm_find(GM_RULE_BARRIER,
                "a barrier that not all threads of the block reach: thread (%u, %u, %u) has ended",
                e.x, e.y, e.z);
        return waits;
    }
    for (int t = 1; t < threads; t++) {
        if (!gm_same_place(&strands[t], &strands[0])) {
            gm_index first = strands[0].index;
            gm_find(GM_RULE_BARRIER,
                    "a barrier that not all threads of the block reach: thread (%u, %u, %u) waits "
                    "at another barrier, %s:%d",
                    first.x, first.y, first.z, strands[0].file, strands[0].line);
            return t;
        }
    }
    return -1;
}
