/*
 * From the linear tile of a narrow matrix with few columns to the strips of the output, in squares.
 * See strips.h for who has what, linear_tile.h for the tile.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_STORE_H
#define GPUMEM_TRANSPOSE_STRIPS_STORE_H

#include "strips.h"

/* ---- load: squares of the tile ------------------------------------------------------------- */

/* N rows of one word, the first at byte `at` of the tile; rows begin REST bytes beyond words. */
template <typename unit, int REST, typename type>
GM_DEVICE void strips_get_rows(char *tile, type layout, unsigned pitch, unsigned at,
                               uint32_t (&rows)[4 / sizeof(unit)])
{
    const unsigned N = 4 / sizeof(unit);
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned over = i * REST % 4, low = at + i * pitch - over;
        if (over == 0) {
            rows[i] = *(const uint32_t *)linear_place(tile, low, layout);
        } else { /* the layout is the order of memory */
            const uint32_t *words = (const uint32_t *)(tile + low);
            rows[i] = __funnelshift_r(words[0], words[1], 8 * over);
        }
    }
}

/* The same where some rows are not there: any others stand in for them. */
template <typename unit, typename type>
GM_DEVICE void strips_get_rows_within(char *tile, type layout, unsigned pitch, int k,
                                      unsigned length, unsigned group,
                                      uint32_t (&rows)[4 / sizeof(unit)])
{
    const int N = 4 / sizeof(unit);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned r = (unsigned)min(max(k + i, 0), (int)length - 1);
        const unsigned at = r * pitch + group * 4, over = at & 3;
        const uint32_t low = *(const uint32_t *)linear_place(tile, at - over, layout);
        const uint32_t high = *(const uint32_t *)linear_place(tile, at - over + 4, layout);
        rows[i] = __funnelshift_r(low, high, 8 * over);
    }
}

/* ---- store: steps of N strips -------------------------------------------------------------- */

/* N strips of the output, and where a warp is in them. */
template <typename unit> struct strips_output {
    enum { N = 4 / sizeof(unit) };
    char *address[N];            /* of the lane's word in the step's sectors */
    unsigned over[N];            /* bytes from a sector's begin to that of the strip */
    uint32_t before[N], held[N]; /* words of the step before, as transposed and as joined */
    unsigned count;              /* of strips that there are, at most N */
};

/* SHIFTED: not all strips begin with a sector: a lane joins its words with its neighbour's and
 * hands them on to the lane where they are in a sector. WHOLE: all words are inside of the strips.
 */
template <typename unit, bool SHIFTED, bool WHOLE>
GM_DEVICE void strips_store_step(strips_output<unit> &to,
                                 const uint32_t (&square)[4 / sizeof(unit)], int k, unsigned length,
                                 bool wanted)
{
    const unsigned size = sizeof(unit), N = 4 / size, all = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        if (j < to.count) {
            uint32_t word = square[j];
            if (SHIFTED) {
                const unsigned bits = 8 * to.over[j], lanes = to.over[j] / 4; /* modulo 32 */
                uint32_t shown = lane == 31 ? to.before[j] : word;
                to.before[j] = word;
                word = __funnelshift_l(__shfl_sync(all, shown, lane - 1), word, bits);
                shown = lane + lanes >= 32 ? to.held[j] : word;
                to.held[j] = word;
                word = __shfl_sync(all, shown, lane - lanes);
            }
            if (WHOLE) {
                *(uint32_t *)to.address[j] = word;
            } else if (wanted) {
                const int begin = k - (int)(to.over[j] / size);
                strip_store_word<unit>(to.address[j], strip_part_of<unit>(begin, length), word);
            }
        }
        to.address[j] += 128;
    }
}

/* All strips of a tile whose rows are `pitch` bytes, REST of them beyond words. What the first
 * sectors of a step still lack is held from the step before. */
template <typename unit, int REST, bool SHIFTED, typename type>
GM_DEVICE void strips_store(char *tile, type layout, unsigned pitch, char *out, int64_t out_pitch,
                            unsigned few, unsigned length)
{
    const unsigned size = sizeof(unit), N = 4 / size;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const unsigned groups = (few + N - 1) / N, bytes = (length - 1) * pitch + few * size;
    const unsigned steps = ((length + N - 1) / N + (SHIFTED ? TRANSPOSE_SECTOR / 4 : 0) + 31) / 32;
    /* Steps whose rows are all there, the bytes beside the last column included. */
    const unsigned full = bytes < 8 ? 0 : (bytes - 8) / (32 * N * pitch);
    const unsigned end = groups * steps * (warp + 1) / STRIPS_WARPS;

    for (unsigned at = groups * steps * warp / STRIPS_WARPS; at < end;) {
        const unsigned group = at / steps, first = at % steps;
        const unsigned last = min(steps, first + end - at);
        unsigned step = first - (SHIFTED && first > 0);
        strips_output<unit> to;
        to.count = min(few - group * N, N);
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            char *strip = out + (group * N + j) * out_pitch;
            to.over[j] = (unsigned)(uintptr_t)strip & (TRANSPOSE_SECTOR - 1);
            to.address[j] = strip - to.over[j] + step * 128 + lane * 4;
            to.before[j] = to.held[j] = 0;
        }
        for (; step < last; step++) {
            const int k = (int)((step * 32 + lane) * N);
            uint32_t rows[N], square[N];
            if (step < full) {
                strips_get_rows<unit, REST>(tile, layout, pitch, k * pitch + group * 4, rows);
            } else {
                strips_get_rows_within<unit>(tile, layout, pitch, k, length, group, rows);
            }
            transpose_words(rows, square);
            if (step < full && step >= first && (!SHIFTED || step > 0)) {
                strips_store_step<unit, SHIFTED, true>(to, square, k, length, true);
            } else {
                strips_store_step<unit, SHIFTED, false>(to, square, k, length, step >= first);
            }
        }
        at += last - first;
    }
}

#endif
