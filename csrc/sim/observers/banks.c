/*
 * Observer: how many passes a request to shared memory takes, and how few it could.
 *
 * There are 32 banks of 4 bytes, which serve a group of lanes at once: the whole warp where lanes
 * access up to 4 bytes, half of it for 8 bytes, a quarter for 16. Of loads of 8 and 16 bytes they
 * serve twice as many lanes if neighbours ask for the same: all active lanes n and n ^ 1, or all n
 * and n ^ 2. A group takes as many passes as its busiest bank has to give different words; lanes
 * that ask for one word get it together. At best a group with an active lane takes one pass.
 *
 * Lanes that update one word atomically take turns, in rounds: a round serves one lane of each
 * word, and takes as many passes as its busiest bank has words that still have a lane to serve.
 * A round of compare-and-swaps takes twice as many, and so does the best one. Additions of the
 * constant 1 are combined (ATOMS.POPC.INC): such lanes are served together. A device does so only
 * if the result is not used, which cannot be seen here. Updates that are loops on a device (of
 * floats, and of 8 bytes but for exchanges) are counted as one, with all lanes of a word together.
 */
#include <string.h>

#include "sim/observer.h"

enum { BANKS = 32, BANK_BYTES = 4 };

typedef struct banks {
    int64_t passes, fewest;
} banks;

typedef struct group {
    int count[BANKS]; /* different words of the bank */
    uintptr_t word[BANKS][GM_WARP];
    int lanes[BANKS][GM_WARP]; /* that want the word */
    int words[GM_WARP][BANKS]; /* that a bank serves in a round; without turns there is one round */
    int round_passes[GM_WARP]; /* of the busiest bank */
    int passes;
} group;

static void begin_group(group *g, bool in_turns)
{
    const size_t rounds = in_turns ? GM_WARP : 1;
    memset(g->count, 0, sizeof g->count);
    memset(g->words, 0, rounds * sizeof g->words[0]);
    memset(g->round_passes, 0, rounds * sizeof g->round_passes[0]);
    g->passes = 0;
}

static void ask(group *g, uintptr_t word, bool in_turns)
{
    unsigned bank = word % BANKS;
    int i = 0, round;
    while (i < g->count[bank] && g->word[bank][i] != word) {
        i++;
    }
    if (i == GM_WARP) {
        return;
    }
    if (i == g->count[bank]) {
        g->word[bank][i] = word;
        g->lanes[bank][i] = 0;
        g->count[bank]++;
    } else if (!in_turns) {
        return;
    }
    round = g->lanes[bank][i]++;
    if (round < GM_WARP && ++g->words[round][bank] > g->round_passes[round]) {
        g->round_passes[round]++;
        g->passes++;
    }
}

/* Bytes that one instruction moves per lane. Wider or odd accesses take several instructions. */
static uint32_t instruction_bytes(const gm_request *request)
{
    uintptr_t bits = 16;
    for (int i = 0; i < request->lanes; i++) {
        bits |= request->bytes[i];
    }
    return (uint32_t)(bits & -bits);
}

/* Does each bank have at most one of the words? */
static bool spans_the_banks(const gm_spaces *spaces, const gm_request *request)
{
    uintptr_t first, bytes = request->end - request->begin;
    return gm_shared_range(spaces, request->begin, request->end, &first) &&
           (first + bytes - 1) / BANK_BYTES - first / BANK_BYTES < BANKS;
}

/* Do all active lanes n and n ^ apart ask for the same? */
static bool neighbours_agree(const gm_request *request, int apart)
{
    int at[GM_WARP];
    memset(at, -1, sizeof at);
    for (int i = 0; i < request->lanes; i++) {
        at[request->lane[i]] = i;
    }
    for (int lane = 0; lane < GM_WARP; lane++) {
        int one = at[lane], other = at[lane ^ apart];
        if (one >= 0 && other >= 0 && request->address[one] != request->address[other]) {
            return false;
        }
    }
    return true;
}

/* How many lanes are served at once that access so many bytes each. */
static uint8_t lanes_at_once(const gm_request *request, uint32_t piece)
{
    if (piece <= BANK_BYTES) {
        return GM_WARP;
    }
    const bool twice = request->site->kind == GM_LOAD &&
                       (neighbours_agree(request, 1) || neighbours_agree(request, 2));
    return (uint8_t)((twice ? 2 : 1) * GM_WARP * BANK_BYTES / piece);
}

static gm_status count(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    banks *of_line = counters;
    (void)state;
    if (request->site->actor == GM_BY_ENGINE) {
        return GM_OK;
    }
    uint32_t piece = instruction_bytes(request);
    const bool in_turns = request->site->service != GM_TOGETHER;
    const int64_t each = in_turns ? (int64_t)request->site->service : 1;
    if (!in_turns && request->widest == piece && piece <= BANK_BYTES &&
        spans_the_banks(&trace->spaces, request)) {
        of_line->passes++;
        of_line->fewest++;
        return GM_OK;
    }
    const uint8_t group_lanes = lanes_at_once(request, piece);
    for (uint32_t at = 0; at < request->widest; at += piece) {
        for (int i = 0; i < request->lanes;) {
            group g;
            begin_group(&g, in_turns);
            int end = (request->lane[i] / group_lanes + 1) * group_lanes;
            for (; i < request->lanes && request->lane[i] < end; i++) {
                if (at < request->bytes[i]) {
                    uintptr_t first = gm_shared_offset(&trace->spaces, request->address[i] + at);
                    for (uintptr_t word = first / BANK_BYTES;
                         word <= (first + piece - 1) / BANK_BYTES; word++) {
                        ask(&g, word, in_turns);
                    }
                }
            }
            of_line->passes += each * g.passes;
            of_line->fewest += g.passes > 0 ? each : 0;
        }
    }
    return GM_OK;
}

const gm_observer gm_observer_banks = {
    .name = "banks",
    .counter_bytes = sizeof(banks),
    .counters = {{"passes", offsetof(banks, passes)}, {"fewest_passes", offsetof(banks, fewest)}},
    .requests = GM_SEES(GM_SPACE_SHARED),
    .request = count,
    .by_shape = true,
};
