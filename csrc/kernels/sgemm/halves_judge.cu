/*
 * sgemm / halves_judge, a helper: decides from the counts of all blocks that split whether a
 * product of halves is accurate enough. One block of its own; groups of its threads take a slab
 * each.
 */
#include "halves.h"

enum { THREADS = HALVES_JUDGES };

/* What a line has in all slabs: at most the sum of what the worst line of each slab has. */
typedef struct worst {
    int64_t missing, far;
} worst;

GM_DEVICE worst worst_of(const worst &x, const worst &y)
{
    const worst both = {max(x.missing, y.missing), max(x.far, y.far)};
    return both;
}

GM_DEVICE worst sum_of(const worst &x, const worst &y)
{
    const worst both = {x.missing + y.missing, x.far + y.far};
    return both;
}

/* In thread 0. */
GM_DEVICE worst find_worst(const halves_counts &x, worst (&shared)[THREADS])
{
    int group = THREADS;
    while (group > 1 && THREADS / group < x.slabs) {
        group /= 2;
    }
    const int slab = threadIdx.x / group;
    halves_count most = {0, 0};
    if (slab < x.slabs) {
#pragma unroll 4
        for (int64_t i = threadIdx.x % group; i < x.blocks; i += group) {
            most = halves_most(most, x.counted[slab * x.blocks + i]);
        }
    }
    worst found = {most.missing, most.far};
    shared[threadIdx.x] = found;
    for (int width = 1; width < THREADS; width *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * width) == 0) {
            const worst other = shared[threadIdx.x + width];
            found = width < group ? worst_of(found, other) : sum_of(found, other);
            shared[threadIdx.x] = found;
        }
    }
    return found;
}

GM_KERNEL(sgemm_halves_judge, sgemm_judge_args)
{
    __shared__ worst shared[2][THREADS];
    gm_wait_for_previous();
    const worst of_a = find_worst(a.a, shared[0]), of_b = find_worst(a.b, shared[1]);
    if (threadIdx.x == 0) {
        const worst both = sum_of(of_a, of_b);
        *a.verdict = !halves_suit(both.far, both.missing, a.depth);
    }
}
