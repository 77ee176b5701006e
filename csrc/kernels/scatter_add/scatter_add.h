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

/* Where element k of `in` is added. */
template <typename integer, bool checked>
GM_DEVICE int64_t scatter_add_place(const scatter_add_args &a, int64_t k)
{
    return gather_follow<checked>(((const integer *)a.index)[k], a.length, a.mode);
}
#endif

#endif
