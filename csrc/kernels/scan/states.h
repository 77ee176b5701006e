/*
 * scan: what tiles publish about themselves, for tiles behind them that wait for it.
 *
 * A state and 32 bits of a value are one word of 64 bits, which is stored and loaded whole, so that
 * no fence is needed. A number of 64 bits is two such words.
 */
#ifndef GPUMEM_SCAN_STATES_H
#define GPUMEM_SCAN_STATES_H

#include <string.h>

#include "scan.h"

enum { NOTHING, SUM, PREFIX }; /* of the tile's elements; of all up to its end */

/* The number of this block's tile, in the order in which blocks start, to all threads. */
GM_DEVICE int64_t next_tile(const scan_args &a)
{
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) {
        ticket = a.tiles > 1 ? atomicAdd(a.tickets, 1u) : 0;
    }
    __syncthreads();
    return ticket;
}

/* Takes the next tile and replaces its elements by their sums within their warps. Returns its
 * number, and what is below the warp in the tile. */
template <typename tile>
GM_DEVICE int64_t scan_next_tile(const scan_args &a, tile &t, typename tile::number *below,
                                 typename tile::number *of_block)
{
    const int64_t number = next_tile(a);
    scan_load(a, number, t);
    *below = scan_warps_below(scan_rows(t, (typename tile::number)0), of_block);
    return number;
}

template <typename number>
GM_DEVICE void publish(const scan_args &a, int64_t tile, int state, number value)
{
    enum { WORDS = sizeof(number) / 4 };
    uint32_t bits[WORDS];
    memcpy(bits, &value, sizeof bits);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        gm_store_relaxed(&a.states[tile * WORDS + i], (unsigned long long)state << 32 | bits[i]);
    }
}

/* A tile whose two words are of different states has not yet published the second: NOTHING. */
template <typename number> GM_DEVICE int look_at(const scan_args &a, int64_t tile, number *value)
{
    enum { WORDS = sizeof(number) / 4 };
    uint32_t bits[WORDS];
    int state = NOTHING;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const unsigned long long word = gm_load_relaxed(&a.states[tile * WORDS + i]);
        const int found = (int)(word >> 32);
        state = i == 0 || found == state ? found : NOTHING;
        bits[i] = (uint32_t)word;
    }
    memcpy(value, bits, sizeof bits);
    return state;
}

/* Until the tile has published something. What is before the first one is known to be 0. */
template <typename number> GM_DEVICE int wait_for(const scan_args &a, int64_t tile, number *value)
{
    int state = PREFIX;
    *value = 0;
    for (int times = 1; tile >= 0 && (state = look_at(a, tile, value)) == NOTHING; times++) {
        gm_wait_a_little(times);
    }
    return state;
}

#endif
