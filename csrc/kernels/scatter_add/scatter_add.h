/*
 * scatter_add: out[index[k]] += in[k], where several k may have one index.
 */
#ifndef GPUMEM_SCATTER_ADD_H
#define GPUMEM_SCATTER_ADD_H

#include "gather/index.h"

/* Integers are added as unsigned: sums wrap around, with the same bits for both signs. */
enum { SCATTER_ADD_INT32, SCATTER_ADD_INT64, SCATTER_ADD_FLOAT32, SCATTER_ADD_FLOAT64 };
enum {
    SCATTER_ADD_SHARED = 48 * 1024, /* bytes of sums that a block of `shared` can hold */
    SCATTER_ADD_THREADS = 1024,     /* of such a block */
    SCATTER_ADD_UNROLL = 4, /* elements of a thread of `runs` that are on their way at a time */
};

typedef struct scatter_add_args {
    void *out;
    const void *index, *in;
    void *nowhere;              /* NULL, which the compiler does not know: see returning */
    int64_t length;             /* of out */
    int64_t count;              /* of index and in */
    int type, index_size, mode; /* mode: what becomes of an index out of range */
    volatile int *verdict;      /* of `checked`: see gather/index.h */
} scatter_add_args;

#ifdef __cplusplus
#include "atomics.h"

/* Calls function<number, integer, checked>(a) for the types of the elements and of the index, and
 * for an index that was checked or not: a division on the way to every place costs. */
#define SCATTER_ADD_BY_MODE(function, number, integer, a)                                          \
    if ((a).mode == GATHER_RAISE) {                                                                \
        function<number, integer, true>(a);                                                        \
    } else {                                                                                       \
        function<number, integer, false>(a);                                                       \
    }
#define SCATTER_ADD_BY_INDEX(function, number, a)                                                  \
    if ((a).index_size == 4) {                                                                     \
        SCATTER_ADD_BY_MODE(function, number, int32_t, a)                                          \
    } else {                                                                                       \
        SCATTER_ADD_BY_MODE(function, number, int64_t, a)                                          \
    }
#define SCATTER_ADD_BY_TYPE(function, a)                                                           \
    switch ((a).type) {                                                                            \
    case SCATTER_ADD_INT32: SCATTER_ADD_BY_INDEX(function, unsigned, a) break;                     \
    case SCATTER_ADD_INT64: SCATTER_ADD_BY_INDEX(function, unsigned long long, a) break;           \
    case SCATTER_ADD_FLOAT32: SCATTER_ADD_BY_INDEX(function, float, a) break;                      \
    case SCATTER_ADD_FLOAT64: SCATTER_ADD_BY_INDEX(function, double, a) break;                     \
    }

/* Loads an element at `first`, and others a block's width apart: all before any is looked at. */
template <int count, typename number, typename integer>
GM_DEVICE void scatter_add_load(const scatter_add_args &a, int64_t first, integer (&index)[count],
                                number (&element)[count])
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int64_t k = first + i * (int64_t)blockDim.x;
        index[i] = k < a.count ? ((const integer *)a.index)[k] : (integer)0;
        element[i] = k < a.count ? ((const number *)a.in)[k] : (number)0;
    }
}

/*
 * Lanes that follow each other with the same place add up their elements: is this the first of
 * them, which has the sum then? All lanes of a warp call this; those with no element at place -1.
 *
 *     place     3   3   3   5   9   9
 *     sum      a+b+c        d  e+f            steps of 1, 2, 4 ... lanes, as long as any needs one
 */
template <typename number, typename where>
GM_DEVICE bool scatter_add_first_of_run(where place, number *sum)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    const where before = __shfl_up_sync(all, place, 1);
    const unsigned firsts = __ballot_sync(all, lane == 0 || before != place);
    if (firsts != all) {
        const unsigned behind = firsts & 0xfffffffeu << lane;
        const int end = behind ? __ffs((int)behind) - 1 : 32;
        for (int step = 1; __any_sync(all, lane + step < end); step *= 2) {
            const number other = __shfl_down_sync(all, *sum, step);
            *sum += lane + step < end ? other : (number)0;
        }
    }
    return place >= 0 && (firsts >> lane & 1) != 0;
}

/* Adds all elements to `sums`, where places are of type `where`. A thread has `unroll` of them on
 * their way; neighbours with the same index are one addition, if they are `combined`. */
template <int unroll, bool combined, typename where, typename integer, bool checked,
          typename number>
GM_DEVICE void scatter_add_to(const scatter_add_args &a, number *sums)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x * unroll;
    const int64_t begin = (int64_t)blockIdx.x * blockDim.x * unroll + threadIdx.x;
    /* All lanes take part as long as there is an element for the first. */
    for (int64_t first = begin; first - threadIdx.x % 32 < a.count; first += step) {
        integer index[unroll];
        number element[unroll];
        scatter_add_load(a, first, index, element);
#pragma unroll
        for (int i = 0; i < unroll; i++) {
            const bool there = first + i * (int64_t)blockDim.x < a.count;
            const where place =
                there ? (where)gather_follow<checked>(index[i], a.length, a.mode) : (where)-1;
            if (combined ? scatter_add_first_of_run(place, &element[i]) : there) {
                atomicAdd(&sums[place], element[i]);
            }
        }
    }
}

/* Where element k of `in` is added. */
template <typename integer, bool checked>
GM_DEVICE int64_t scatter_add_place(const scatter_add_args &a, int64_t k)
{
    return gather_follow<checked>(((const integer *)a.index)[k], a.length, a.mode);
}
#endif

#endif
