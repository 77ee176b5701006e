/*
 * copy: out = a, byte for byte.
 *
 * Every kernel takes any number of bytes: it moves whole units of its own width, and the first
 * threads of the grid copy the bytes that are left.
 */
#ifndef GPUMEM_COPY_H
#define GPUMEM_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "divisor.h"

typedef struct copy_args {
    const char *in;
    char *out;
    int64_t bytes;
} copy_args;

/* shifted: the vectors of the result from a line on; what is before them are `head` bytes. */
typedef struct copy_shifted_args {
    const char *in;
    char *out;
    int64_t bytes, head, vectors;
} copy_shifted_args;

/* Layouts with strides: axes in the order of the result's, the outermost first, merged where they
 * run on together on both sides. Each one that is left has at least two units, so that 32 of them
 * are more than memory holds. */
enum { COPY_MAX_DIMS = 32 };

/* Of a contiguous result. */
typedef struct copy_strided_args {
    const char *in;
    char *out;
    int64_t units; /* of `width` bytes */
    int width;     /* 1, 2, 4, 8 or 16 */
    int ndim;
    int64_t extent[COPY_MAX_DIMS];
    int64_t stride[COPY_MAX_DIMS]; /* bytes */
} copy_strided_args;

/* Of a result of any layout. */
typedef struct copy_scatter_args {
    const char *in;
    char *out;
    int64_t units; /* of `width` bytes */
    int width;     /* 1, 2, 4, 8 or 16 */
    int ndim;
    bool near; /* all of both sides is less than 2 GiB away from the first unit */
    union {
        gm_divisor divisor[COPY_MAX_DIMS]; /* where `units` is below 2^31, */
        int64_t extent[COPY_MAX_DIMS];     /* and where it is not */
    };
    int64_t from[COPY_MAX_DIMS], to[COPY_MAX_DIMS]; /* bytes from a unit to the next */
} copy_scatter_args;

/* The dtypes of convert. */
typedef enum copy_number {
    COPY_BOOL,
    COPY_I8,
    COPY_U8,
    COPY_I16,
    COPY_U16,
    COPY_I32,
    COPY_U32,
    COPY_I64,
    COPY_U64,
    COPY_F16,
    COPY_F32,
    COPY_F64,
    COPY_C64,
    COPY_C128,
} copy_number;

typedef struct copy_convert_args {
    copy_scatter_args sides;  /* a unit is an element; `width` has no meaning */
    int from, to;             /* of the enum above */
    int from_bytes, to_bytes; /* of a number */
    int from_unit, to_unit;   /* of it, or of a complex one's real part */
} copy_convert_args;

/* Conversions of numbers that are side by side on both sides. A vector has as many as make 16 bytes
 * of the wider dtype, and is aligned in the result. A block converts a tile of vectors. */
typedef struct copy_flat_args {
    const char *in;    /* the first vector, or an aligned address `shift` bytes before it */
    char *out;         /* the first vector */
    int shift;         /* bytes */
    int vector;        /* numbers of a vector */
    int64_t vectors;   /* of all tiles */
    unsigned tiles;    /* all full but the last one, */
    int last;          /* which has so many vectors */
    int64_t head, end; /* numbers before the first vector, and from its first one to the last */
    int from, to;      /* of the enum above */
    int from_bytes, to_bytes; /* of a number */
} copy_flat_args;

/* A thread has COPY_FLAT_LONG vectors of which it loads 16 bytes, or COPY_FLAT_SHORT of fewer. */
enum { COPY_FLAT_THREADS = 256, COPY_FLAT_LONG = 2, COPY_FLAT_SHORT = 4 };

#ifdef __cplusplus
#include "device.h"

/* The bytes after the last whole unit: fewer than a block has threads. */
GM_DEVICE void copy_tail(const copy_args &a, int64_t done)
{
    int64_t i = done + gm_grid_index();
    if (i < a.bytes) {
        a.out[i] = a.in[i];
    }
}

/* A struct per thread and step, part by part: no wider than the alignment of the struct allows. */
template <typename record> GM_DEVICE void copy_records(const copy_args &a)
{
    enum { PARTS = sizeof(record::part) / sizeof(record::part[0]) };
    const record *in = (const record *)a.in;
    record *out = (record *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(record);
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        record held;
        for (int k = 0; k < PARTS; k++) {
            held.part[k] = in[i].part[k];
        }
        for (int k = 0; k < PARTS; k++) {
            out[i].part[k] = held.part[k];
        }
    }
    copy_tail(a, n * (int64_t)sizeof(record));
}
#endif

#endif
