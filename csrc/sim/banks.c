/*
 * Observer: how many passes a request to shared memory takes, and how few it could.
 *
 * There are 32 banks of 4 bytes. Accesses of up to 4 bytes are served for the whole warp at once,
 * of 8 bytes for each half, of 16 for each quarter: 128 bytes at most. A group takes as many
 * passes as its busiest bank has different words to give; lanes that ask for the same word get it
 * together. At best each group with an active lane takes one.
 */
#include "sim/trace.h"

enum { BANKS = 32, BANK_BYTES = 4 };

typedef struct group {
    int count[BANKS]; /* of different words asked of the bank */
    uintptr_t word[BANKS][GM_WARP];
    int passes;
} group;

static void ask(group *g, uintptr_t word)
{
    unsigned bank = word % BANKS;
    int count = g->count[bank];
    for (int i = 0; i < count; i++) {
        if (g->word[bank][i] == word) {
            return;
        }
    }
    if (count < GM_WARP) {
        g->word[bank][count] = word;
        g->count[bank] = count + 1;
        g->passes = g->passes > count + 1 ? g->passes : count + 1;
    }
}

/* Bytes that one instruction moves per lane: wider or odd accesses take several. */
static uint32_t instruction_bytes(const gm_request *request)
{
    uintptr_t bits = 16;
    for (int i = 0; i < request->lanes; i++) {
        bits |= request->bytes[i];
    }
    return (uint32_t)(bits & -bits);
}

static gm_status banks_request(void *state, gm_trace *trace, const gm_request *request)
{
    (void)state;
    gm_site *site = request->site;
    if (site->space != GM_SPACE_SHARED || site->actor == GM_BY_ENGINE) {
        return GM_OK;
    }
    uint32_t piece = instruction_bytes(request), widest = 0;
    uint8_t group_lanes = (uint8_t)(piece <= BANK_BYTES ? GM_WARP : GM_WARP * BANK_BYTES / piece);
    for (int i = 0; i < request->lanes; i++) {
        widest = request->bytes[i] > widest ? request->bytes[i] : widest;
        uintptr_t begin = request->address[i], end = begin + request->bytes[i];
        if (begin >= trace->shared_static.begin && end <= trace->shared_static.end) {
            trace->shared_low = begin < trace->shared_low ? begin : trace->shared_low;
            trace->shared_high = end > trace->shared_high ? end : trace->shared_high;
        }
    }
    for (uint32_t at = 0; at < widest; at += piece) {
        for (int i = 0; i < request->lanes;) {
            group g = {.passes = 0};
            int end = (request->lane[i] / group_lanes + 1) * group_lanes;
            for (; i < request->lanes && request->lane[i] < end; i++) {
                if (at < request->bytes[i]) {
                    uintptr_t first = gm_shared_offset(trace, request->address[i] + at);
                    for (uintptr_t word = first / BANK_BYTES;
                         word <= (first + piece - 1) / BANK_BYTES; word++) {
                        ask(&g, word);
                    }
                }
            }
            site->passes += g.passes;
            site->fewest += g.passes > 0;
        }
    }
    return GM_OK;
}

const gm_observer gm_banks_observer = {.name = "banks", .request = banks_request};
