/*
 * scan: out[i] = the sum of a[0] to a[i].
 *
 * A block scans a tile. What its elements need beside that is the tile's base: the sum of all
 * elements before the tile.
 */
#ifndef GPUMEM_SCAN_H
#define GPUMEM_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor_map.h"

/* Integers are added as unsigned: sums wrap around, with the same bits for both signs. */
enum { SCAN_INT32, SCAN_INT64, SCAN_FLOAT32, SCAN_FLOAT64 };
enum {
    SCAN_THREADS = 256, /* of a block */
    SCAN_WARPS = SCAN_THREADS / 32,
    SCAN_BLOCKS = 4,        /* per multiprocessor, at least */
    SCAN_ROWS = 4,          /* vectors of a thread in a tile of vectors */
    SCAN_VECTOR_BYTES = 16, /* so that such a tile has 16 KiB */
    SCAN_TILE_BYTES = SCAN_THREADS * SCAN_ROWS * SCAN_VECTOR_BYTES,
    SCAN_RING_ROWS = 8, /* vectors of a thread of pipelined in a tile */
    SCAN_ROW_BYTES = SCAN_RING_ROWS * SCAN_VECTOR_BYTES,
    SCAN_LINE_BYTES = 128, /* of the caches */
    SCAN_RING_STAGES = 2,  /* of its tiles that arrive, beside one that is stored */
    SCAN_RING_BOX = 256,   /* threads whose rows the copy engine moves at once */
    SCAN_K32_THREADS = 256,
    SCAN_K64_THREADS = 512,
    SCAN_MOST_WARPS = 32, /* of a block of cluster */
    SCAN_WARP_ROWS = 4,   /* of a warp's part of its tile, which has 2 KiB */
    SCAN_WARP_BYTES = 32 * SCAN_WARP_ROWS * SCAN_VECTOR_BYTES,
};

typedef struct scan_args {
    const void *in;
    void *out;
    void *bases;                /* of each tile, or its sum, from which scan_sums makes the base */
    unsigned long long *states; /* of the tiles, where one pass does all; all 0 before */
    unsigned *tickets;          /* the same; 0 at the launch */
    int64_t count;
    int64_t tiles;
    int tile; /* elements */
    int type;
    bool vectors; /* both arrays are aligned to 16 bytes */
} scan_args;

/* Of pipelined: both arrays as rows of 128 bytes, for the tensor copy engine. They begin behind the
 * `head`, the elements before a line of the result or of the input. */
typedef struct scan_ring_args {
    scan_args scan;
    int64_t rows_in, rows_out; /* that the engine moves; 0 if it cannot */
    int head;
    gm_tensor_map in, out;
} scan_ring_args;

#ifdef __cplusplus
#include "atomics.h"
#include "sums.h"

/* Calls function<number, vector>(a) for the type of the elements. */
#define SCAN_BY_TYPE(function, a)                                                                  \
    switch ((a).type) {                                                                            \
    case SCAN_INT32: function<unsigned, uint4>(a); break;                                          \
    case SCAN_INT64: function<unsigned long long, ulonglong2>(a); break;                           \
    case SCAN_FLOAT32: function<float, float4>(a); break;                                          \
    case SCAN_FLOAT64: function<double, double2>(a); break;                                        \
    }

/* ---- warps and blocks ------------------------------------------------------------------------ */

/* The sum of this lane's value and those of the lanes below. */
template <typename number> GM_DEVICE number scan_warp(number value)
{
    const int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const number below = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) {
            value += below;
        }
    }
    return value;
}

/* From the inclusive sums of the lanes the exclusive ones. No subtraction: infinity minus infinity
 * is no number. */
template <typename number> GM_DEVICE number scan_lanes_below(number inclusive)
{
    const number below = __shfl_up_sync(0xffffffffu, inclusive, 1);
    return threadIdx.x % 32 > 0 ? below : (number)0;
}

/* From the sum of this warp the sum of the warps below, and that of the block. */
template <typename number> GM_DEVICE number scan_warps_below(number of_this, number *of_block)
{
    __shared__ number of_warp[SCAN_WARPS];
    const int warp = threadIdx.x / 32;
    number below = 0, all = 0;
    if (threadIdx.x % 32 == 0) {
        of_warp[warp] = of_this;
    }
    __syncthreads();
    for (int i = 0; i < SCAN_WARPS; i++) {
        below += i < warp ? of_warp[i] : (number)0;
        all += of_warp[i];
    }
    *of_block = all;
    return below;
}

/* ---- tiles of vectors ------------------------------------------------------------------------ */

GM_DEVICE void scan_unpack(const uint4 &v, unsigned (&part)[4])
{
    part[0] = v.x, part[1] = v.y, part[2] = v.z, part[3] = v.w;
}

GM_DEVICE void scan_unpack(const float4 &v, float (&part)[4])
{
    part[0] = v.x, part[1] = v.y, part[2] = v.z, part[3] = v.w;
}

GM_DEVICE void scan_unpack(const ulonglong2 &v, unsigned long long (&part)[2])
{
    part[0] = v.x, part[1] = v.y;
}

GM_DEVICE void scan_unpack(const double2 &v, double (&part)[2])
{
    part[0] = v.x, part[1] = v.y;
}

GM_DEVICE uint4 scan_pack(const unsigned (&part)[4])
{
    return make_uint4(part[0], part[1], part[2], part[3]);
}

GM_DEVICE float4 scan_pack(const float (&part)[4])
{
    return make_float4(part[0], part[1], part[2], part[3]);
}

GM_DEVICE ulonglong2 scan_pack(const unsigned long long (&part)[2])
{
    return make_ulonglong2(part[0], part[1]);
}

GM_DEVICE double2 scan_pack(const double (&part)[2])
{
    return make_double2(part[0], part[1]);
}

/*
 * A thread's part of a tile: a vector from each of its warp's rows. A row is 32 vectors side by
 * side, one per lane, so that loads and stores are whole lines, and a warp's rows follow each
 * other:
 *
 *     warp 0   row 0   lane 0, lane 1, … lane 31
 *              row 1   lane 0, lane 1, … lane 31
 *              …
 *     warp 1   row 0   …
 */
template <typename element, typename whole, int WIDTH, int HEIGHT> struct scan_tile {
    typedef element number;
    typedef whole vector;
    enum {
        THREADS = WIDTH,
        WARPS = THREADS / 32,
        ROWS = HEIGHT, /* of a warp, or vectors of a thread */
        PER_VECTOR = sizeof(vector) / sizeof(number),
        ELEMENTS = THREADS * ROWS * PER_VECTOR,
    };
    number part[ROWS][PER_VECTOR];
};

/* Where a vector of this thread begins in its tile, in elements. A tile of 32 threads is a warp's
 * own. */
template <typename tile> GM_DEVICE int scan_place(int row)
{
    const int warp = tile::WARPS > 1 ? threadIdx.x / 32 : 0, lane = threadIdx.x % 32;
    return ((warp * tile::ROWS + row) * 32 + lane) * tile::PER_VECTOR;
}

/* Is the tile whole, and are its vectors aligned? */
template <typename tile> GM_DEVICE bool scan_in_vectors(const scan_args &a, int64_t number)
{
    return a.vectors && (number + 1) * tile::ELEMENTS <= a.count;
}

template <typename tile> GM_DEVICE void scan_load(const scan_args &a, int64_t number, tile &t)
{
    typedef typename tile::vector vector;
    const typename tile::number *in = (const typename tile::number *)a.in;
    const int64_t first = number * tile::ELEMENTS;
    if (scan_in_vectors<tile>(a, number)) {
#pragma unroll
        for (int row = 0; row < tile::ROWS; row++) {
            const vector v = *(const vector *)(in + first + scan_place<tile>(row));
            scan_unpack(v, t.part[row]);
        }
        return;
    }
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
        const int64_t place = first + scan_place<tile>(row);
#pragma unroll
        for (int k = 0; k < tile::PER_VECTOR; k++) {
            t.part[row][k] = place + k < a.count ? in[place + k] : (typename tile::number)0;
        }
    }
}

/* Adds the base to the sums of a tile. */
template <typename tile> GM_DEVICE void scan_raise(tile &t, typename tile::number base)
{
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
#pragma unroll
        for (int k = 0; k < tile::PER_VECTOR; k++) {
            t.part[row][k] += base;
        }
    }
}

template <typename tile>
GM_DEVICE void scan_store(const scan_args &a, int64_t number, const tile &t)
{
    typename tile::number *out = (typename tile::number *)a.out;
    const int64_t first = number * tile::ELEMENTS;
    if (scan_in_vectors<tile>(a, number)) {
#pragma unroll
        for (int row = 0; row < tile::ROWS; row++) {
            *(typename tile::vector *)(out + first + scan_place<tile>(row)) =
                scan_pack(t.part[row]);
        }
        return;
    }
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
        const int64_t place = first + scan_place<tile>(row);
#pragma unroll
        for (int k = 0; k < tile::PER_VECTOR; k++) {
            if (place + k < a.count) {
                out[place + k] = t.part[row][k];
            }
        }
    }
}

/* Replaces the elements by `below` and the sums of the warp's elements up to them; returns it and
 * the warp's sum. The scans of the rows are independent: the shuffles of one hide the latency of
 * another's. */
template <typename tile>
GM_DEVICE typename tile::number scan_rows(tile &t, typename tile::number below)
{
    typename tile::number inclusive[tile::ROWS];
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
#pragma unroll
        for (int k = 1; k < tile::PER_VECTOR; k++) {
            t.part[row][k] += t.part[row][k - 1];
        }
        inclusive[row] = scan_warp(t.part[row][tile::PER_VECTOR - 1]);
    }
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
        const typename tile::number before = below + scan_lanes_below(inclusive[row]);
#pragma unroll
        for (int k = 0; k < tile::PER_VECTOR; k++) {
            t.part[row][k] += before;
        }
        below += __shfl_sync(0xffffffffu, inclusive[row], 31);
    }
    return below;
}
#endif

#endif
