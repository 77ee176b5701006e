/*
 * From strips of the input to the linear tile of a narrow matrix with few rows: in squares, or
 * element by element. See strips.h for who has what, linear_tile.h for the tile.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_LOAD_H
#define GPUMEM_TRANSPOSE_STRIPS_LOAD_H

#include "strips.h"

/* A word of a strip; CHECKED: some of its elements may be outside of the input. */
template <typename unit, bool CHECKED>
GM_DEVICE uint32_t strip_fetch(const char *from, strip_part part)
{
    if (CHECKED) {
        return strip_load_word<unit>(from, part);
    }
    return part.first < part.last ? *(const uint32_t *)from : 0;
}

/* A multiple of N strips, in squares. Where they are not all aligned to words, the last lane only
 * has what its neighbour needs of the next word: a step is 31 words. */
template <typename unit, bool CHECKED>
GM_DEVICE void strips_load_squares(char *tile, linear_swizzled layout, const char *from,
                                   int64_t in_pitch, unsigned few, unsigned length)
{
    const unsigned size = sizeof(unit), N = 4 / size, batch = 8 / N, all = 0xffffffffu;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(all, threadIdx.x / 32, 0);
    const unsigned pitch = few * size, groups = few / N;
    const bool joined = (((uintptr_t)from | (uintptr_t)in_pitch) & 3) != 0;
    const unsigned lanes = joined ? 31 : 32;
    const unsigned steps = ((length + N - 1) / N + lanes - 1) / lanes;
    unsigned at = groups * steps * warp / STRIPS_WARPS, group = at / steps, step = at % steps;
    const unsigned end = groups * steps * (warp + 1) / STRIPS_WARPS;
    const char *strip = from + group * (N * in_pitch);

    while (at < end) {
        uint32_t rows[batch][N];
        unsigned k[batch], column[batch], over[batch]; /* `over`: of N strips, a byte each */
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            const char *row = strip;
            k[b] = (step * lanes + lane) * N;
            column[b] = group * 4;
            over[b] = 0;
#pragma unroll
            for (unsigned i = 0; i < N; i++) {
                const unsigned bytes = (unsigned)(uintptr_t)row & 3;
                const int first = (int)k[b] - (int)(bytes / size);
                const strip_part part = strip_part_of<unit>(first, at + b < end ? length : 0);
                rows[b][i] = strip_fetch<unit, CHECKED>(row + first * (int)size, part);
                over[b] |= bytes << (8 * i + 3);
                row += in_pitch;
            }
            step++;
            if (step == steps) {
                step = 0;
                group++;
                strip = row;
            }
        }
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            uint32_t square[N];
            if (joined) {
#pragma unroll
                for (unsigned i = 0; i < N; i++) {
                    const uint32_t next = __shfl_down_sync(all, rows[b][i], 1);
                    rows[b][i] = __funnelshift_r(rows[b][i], next, over[b] >> 8 * i);
                }
            }
            transpose_words(rows[b], square);
#pragma unroll
            for (unsigned j = 0; j < N; j++) {
                if (at + b < end && lane < lanes && k[b] + j < length) {
                    const unsigned place = (k[b] + j) * pitch + column[b];
                    *(uint32_t *)linear_place(tile, place, layout) = square[j];
                }
            }
        }
        at += batch;
    }
}

/* Any number of strips: words, element by element. */
template <typename unit, bool CHECKED>
GM_DEVICE void strips_load_elements(char *tile, const char *from, int64_t in_pitch, unsigned few,
                                    unsigned length)
{
    const unsigned size = sizeof(unit), N = 4 / size, batch = 8;
    const unsigned lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const int pitch = (int)(few * size);
    /* The first word of a strip may have one element. */
    const unsigned steps = ((length + 2 * N - 2) / N + 31) / 32;
    unsigned at = few * steps * warp / STRIPS_WARPS, step = at % steps, c = at / steps;
    const unsigned end = few * steps * (warp + 1) / STRIPS_WARPS;
    const char *strip = from + c * in_pitch;

    while (at < end) {
        uint32_t word[batch];
        int k[batch];
        char *to[batch];
        unsigned whole = 0; /* a bit for each word that is inside of its strip */
#pragma unroll
        for (unsigned b = 0; b < batch; b++) {
            const unsigned over = (unsigned)(uintptr_t)strip & 3;
            k[b] = (int)((step * 32 + lane) * N) - (int)(over / size);
            k[b] = at + b < end ? k[b] : (int)length; /* none */
            to[b] = tile + k[b] * pitch + c * size;
            word[b] = 0;
            if (k[b] < (int)length) {
                const char *address = strip + k[b] * (int)size;
                word[b] = CHECKED
                              ? strip_load_word<unit>(address, strip_part_of<unit>(k[b], length))
                              : *(const uint32_t *)address;
            }
            if (at + b < end && step > 0 && (step + 1) * 32 * N <= length) {
                whole |= 1u << b;
            }
            step++;
            if (step == steps) {
                step = 0;
                c++;
                strip += in_pitch;
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
                    if ((unsigned)(k[b] + i) < length) {
                        *(unit *)(to[b] + i * pitch) = (unit)(word[b] >> 8 * size * i);
                    }
                }
            }
        }
        at += batch;
    }
}

#endif
