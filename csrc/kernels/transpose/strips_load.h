/*
 * From the runs of a narrow matrix's few rows to its piece: in squares of N by N, or element by
 * element. See flat.h for the piece, runs.h for words.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_LOAD_H
#define GPUMEM_TRANSPOSE_STRIPS_LOAD_H

#include "strips.h"

/* A word of a run whose elements all are, or some of which may not be (CARE), in the input. */
template <typename unit, bool CARE> GM_DEVICE uint32_t runs_word(const char *from, runs_part part)
{
    if (CARE) {
        return runs_load_word<unit>(from, part);
    }
    return part.first < part.last ? *(const uint32_t *)from : 0;
}

/* Few rows, a multiple of N: from runs to the piece, in squares. Where a run's words are not all
 * aligned, a step is a lane less, which shows its neighbour what the next step has as well. */
template <typename unit, bool CARE>
GM_DEVICE void runs_load_squares(char *piece, flat_swizzled how, const char *from, int64_t in_pitch,
                                 unsigned few, unsigned here)
{
    const unsigned size = sizeof(unit), N = 4 / size, batch = 8 / N, all = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(all, threadIdx.x / 32, 0);
    const unsigned pitch = few * size, groups = few / N;
    const bool joined = (((uintptr_t)from | (uintptr_t)in_pitch) & 3) != 0;
    const unsigned lanes = joined ? 31 : 32;
    const unsigned steps = ((here + N - 1) / N + lanes - 1) / lanes;
    unsigned at = groups * steps * warp / RUNS_WARPS, group = at / steps, step = at % steps;
    const unsigned end = groups * steps * (warp + 1) / RUNS_WARPS;
    const char *run = from + group * (N * in_pitch);

    while (at < end) {
        uint32_t rows[batch][N];
        unsigned k[batch], column[batch], over[batch]; /* `over` of N rows, a byte each */
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            const char *row = run;
            k[b] = (step * lanes + lane) * N;
            column[b] = group * 4;
            over[b] = 0;
#pragma unroll
            for (unsigned i = 0; i < N; i++) {
                const unsigned bytes = (unsigned)(uintptr_t)row & 3;
                const int first = (int)k[b] - (int)(bytes / size);
                const runs_part part = runs_part_of<unit>(first, at + b < end ? here : 0);
                rows[b][i] = runs_word<unit, CARE>(row + first * (int)size, part);
                over[b] |= bytes << (8 * i + 3);
                row += in_pitch;
            }
            step++;
            if (step == steps) {
                step = 0;
                group++;
                run = row;
            }
        }
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            uint32_t turned[N];
            if (joined) {
#pragma unroll
                for (unsigned i = 0; i < N; i++) {
                    const uint32_t next = __shfl_down_sync(all, rows[b][i], 1);
                    rows[b][i] = __funnelshift_r(rows[b][i], next, over[b] >> 8 * i);
                }
            }
            runs_turn(rows[b], turned);
#pragma unroll
            for (unsigned j = 0; j < N; j++) {
                if (at + b < end && lane < lanes && k[b] + j < here) {
                    const unsigned place = (k[b] + j) * pitch + column[b];
                    *(uint32_t *)flat_place(piece, place, how) = turned[j];
                }
            }
        }
        at += batch;
    }
}

/* Few rows, any others: words of runs to the piece, element by element. */
template <typename unit, bool CARE>
GM_DEVICE void runs_load(char *piece, const char *from, int64_t in_pitch, unsigned few,
                         unsigned here)
{
    const unsigned size = sizeof(unit), N = 4 / size, batch = 8;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const int pitch = (int)(few * size);
    /* The first word of a run may have one element only. */
    const unsigned steps = ((here + 2 * N - 2) / N + 31) / 32;
    unsigned at = few * steps * warp / RUNS_WARPS, step = at % steps, c = at / steps;
    const unsigned end = few * steps * (warp + 1) / RUNS_WARPS;
    const char *run = from + c * in_pitch;

    while (at < end) {
        uint32_t word[batch];
        int k[batch];
        char *to[batch];
        unsigned whole = 0; /* a bit for each whose elements all are in the run */
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            const unsigned over = (unsigned)(uintptr_t)run & 3;
            k[b] = (int)((step * 32 + lane) * N) - (int)(over / size);
            k[b] = at + b < end ? k[b] : (int)here; /* none */
            to[b] = piece + k[b] * pitch + c * size;
            word[b] = 0;
            if (k[b] < (int)here) {
                const char *address = run + k[b] * (int)size;
                word[b] = CARE ? runs_load_word<unit>(address, runs_part_of<unit>(k[b], here))
                               : *(const uint32_t *)address;
            }
            if (at + b < end && step > 0 && (step + 1) * 32 * N <= here) {
                whole |= 1u << b;
            }
            step++;
            if (step == steps) {
                step = 0;
                c++;
                run += in_pitch;
            }
        }
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            if (whole >> b & 1) {
#pragma unroll
                for (int i = 0; i < (int)N; i++) {
                    *(unit *)(to[b] + i * pitch) = (unit)(word[b] >> 8 * size * i);
                }
            } else {
#pragma unroll
                for (int i = 0; i < (int)N; i++) {
                    if ((unsigned)(k[b] + i) < here) {
                        *(unit *)(to[b] + i * pitch) = (unit)(word[b] >> 8 * size * i);
                    }
                }
            }
        }
        at += batch;
    }
}

#endif
