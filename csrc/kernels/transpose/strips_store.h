/*
 * From the piece of a narrow matrix to the runs of its few columns: N rows by N columns are turned
 * in registers, lanes have rows one after the other. See flat.h for the piece, runs.h for words.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_STORE_H
#define GPUMEM_TRANSPOSE_STRIPS_STORE_H

#include "strips.h"

/* N rows of one word, whose first begins at byte `at` of the piece. */
template <typename unit, int REST, typename place>
GM_DEVICE void runs_get_rows(char *piece, place how, unsigned pitch, unsigned at,
                             uint32_t (&rows)[4 / sizeof(unit)])
{
    const unsigned N = 4 / sizeof(unit);
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned over = i * REST % 4, low = at + i * pitch - over;
        if (over == 0) {
            rows[i] = *(const uint32_t *)flat_place(piece, low, how);
        } else { /* nothing has changed places */
            const uint32_t *words = (const uint32_t *)(piece + low);
            rows[i] = __funnelshift_r(words[0], words[1], 8 * over);
        }
    }
}

/* The same where not all rows are there: any others instead. */
template <typename unit, typename place>
GM_DEVICE void runs_get_rows_of(char *piece, place how, unsigned pitch, int k, unsigned here,
                                unsigned group, uint32_t (&rows)[4 / sizeof(unit)])
{
    const int N = 4 / sizeof(unit);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned r = (unsigned)min(max(k + i, 0), (int)here - 1);
        const unsigned at = r * pitch + group * 4, over = at & 3;
        const uint32_t low = *(const uint32_t *)flat_place(piece, at - over, how);
        const uint32_t high = *(const uint32_t *)flat_place(piece, at - over + 4, how);
        rows[i] = __funnelshift_r(low, high, 8 * over);
    }
}

/* N runs of the output, and where a warp is in them. */
template <typename unit> struct runs_place {
    enum { N = 4 / sizeof(unit) };
    char *address[N];            /* of the lane's word in the step's sectors */
    unsigned over[N];            /* bytes by which a run begins after a sector does */
    uint32_t before[N], held[N]; /* of the step before, as turned and as joined */
    unsigned count;              /* of runs that there are */
};

/* HANDED: not all runs begin with a sector. WHOLE: all the words of a step are inside of them. */
template <typename unit, bool HANDED, bool WHOLE>
GM_DEVICE void runs_store_step(runs_place<unit> &to, const uint32_t (&turned)[4 / sizeof(unit)],
                               int k, unsigned here, bool wanted)
{
    const unsigned size = sizeof(unit), N = 4 / size, all = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
        if (j < to.count) {
            uint32_t word = turned[j];
            if (HANDED) {
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
                runs_store_word<unit>(to.address[j], runs_part_of<unit>(begin, here), word);
            }
        }
        to.address[j] += 128;
    }
}

/*
 * Few columns: from the piece, whose rows are `pitch` bytes, REST of them beyond words, to runs.
 * A warp has steps of 32 words, of N runs at a time, one after the other: what a sector that the
 * step begins with still lacks is held from the step before.
 */
template <typename unit, int REST, bool HANDED, typename place>
GM_DEVICE void runs_store(char *piece, place how, unsigned pitch, char *out, int64_t out_pitch,
                          unsigned few, unsigned here)
{
    const unsigned size = sizeof(unit), N = 4 / size;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const unsigned groups = (few + N - 1) / N, bytes = (here - 1) * pitch + few * size;
    const unsigned steps = ((here + N - 1) / N + (HANDED ? TRANSPOSE_SECTOR / 4 : 0) + 31) / 32;
    /* Steps of which all rows are there, and what is read beside the last column. */
    const unsigned full = bytes < 8 ? 0 : (bytes - 8) / (32 * N * pitch);
    const unsigned end = groups * steps * (warp + 1) / RUNS_WARPS;

    for (unsigned at = groups * steps * warp / RUNS_WARPS; at < end;) {
        const unsigned group = at / steps, first = at % steps;
        const unsigned last = min(steps, first + end - at);
        unsigned step = first - (HANDED && first > 0);
        runs_place<unit> to;
        to.count = min(few - group * N, N);
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            char *run = out + (group * N + j) * out_pitch;
            to.over[j] = (unsigned)(uintptr_t)run & (TRANSPOSE_SECTOR - 1);
            to.address[j] = run - to.over[j] + step * 128 + lane * 4;
            to.before[j] = to.held[j] = 0;
        }
        for (; step < last; step++) {
            const int k = (int)((step * 32 + lane) * N);
            uint32_t rows[N], turned[N];
            if (step < full) {
                runs_get_rows<unit, REST>(piece, how, pitch, k * pitch + group * 4, rows);
            } else {
                runs_get_rows_of<unit>(piece, how, pitch, k, here, group, rows);
            }
            runs_turn(rows, turned);
            if (step < full && step >= first && (!HANDED || step > 0)) {
                runs_store_step<unit, HANDED, true>(to, turned, k, here, true);
            } else {
                runs_store_step<unit, HANDED, false>(to, turned, k, here, step >= first);
            }
        }
        at += last - first;
    }
}

#endif
