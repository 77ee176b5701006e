/*
 * sgemm / halves_largest, a helper: the largest number of each line and slab of a factor whose
 * lines are contiguous.
 */
#include "halves.h"

enum { THREADS = HALVES_SPLITTERS, HIGH = THREADS / HALVES_LINES };

GM_KERNEL(sgemm_halves_largest, sgemm_halves_args)
{
    __shared__ uint32_t found[HIGH][HALVES_LINES];
    const int64_t strips = (a.from.lines + HALVES_LINES - 1) / HALVES_LINES;
    const int64_t slab = blockIdx.x / strips;
    const int x = threadIdx.x % HALVES_LINES, y = threadIdx.x / HALVES_LINES;
    const int64_t line = blockIdx.x % strips * HALVES_LINES + x;
    const int64_t end = min(a.depth, (slab + 1) * a.slab);
    uint32_t largest = 0;

    gm_wait_for_previous();
    if (line < a.from.lines) {
        const float *from = a.from.data + line * a.from.line_stride;
#pragma unroll 8
        for (int64_t k = slab * a.slab + y; k < end; k += HIGH) {
            largest = max(largest, halves_magnitude(from[k * a.from.depth_stride]));
        }
    }
    found[y][x] = largest;
    __syncthreads();
    if (y == 0 && line < a.from.lines) {
        for (int i = 1; i < HIGH; i++) {
            largest = max(largest, found[i][x]);
        }
        a.largest[slab * a.from.lines + line] = largest;
    }
}
