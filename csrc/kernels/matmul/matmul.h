/*
 * matmul: stacks of products, each of which is the product of two matrices.
 *
 * Both factors are described alike: `lines`, the rows of A and the columns of B, of `depth` numbers
 * each, which are multiplied and summed. A transposed view has its two strides exchanged, so that
 * one kernel computes all four products. A vector is a factor of one line.
 *
 *                     B    depth x lines           element k of line i of a factor is
 *                     |                            data[i * line_stride + k * depth_stride]
 *     A ------------- C    A: lines x depth
 *
 * The axes of a stack are merged where they can be. Along an axis on which a factor is repeated,
 * its step is 0: NumPy's broadcasting costs no copies. The results are contiguous, one after the
 * other.
 *
 * On the host the compiler should unroll and vectorise a thread's products:
 * Build    plain -O3
 */
#ifndef GPUMEM_MATMUL_H
#define GPUMEM_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

#include "sgemm/sgemm.h"

enum { MATMUL_AXES = 16 }; /* of a stack, after merging */

/* As sgemm describes it. along_depth: the depth is closer in memory than the lines are, though it
 * may have gaps. */
typedef sgemm_factor matmul_factor;

typedef struct matmul_args {
    matmul_factor a, b;
    int64_t depth;
    float *out;
    bool out_vectors; /* rows of the results begin at multiples of 16 bytes */
    int64_t products;
    /* Several blocks may share the depth of a tile: y of the grid. */
    int64_t share;            /* steps of each share but the last */
    int64_t partial;          /* elements from one share's sums to the next */
    int64_t tiles_x, tiles_y; /* over a result; of thin and narrow: blocks along the lines are y,
                               * and of whole both are */
    bool turned;              /* a and b have changed places: the results are written transposed */
    int helpers;              /* of thin: warps of a line, a power of two, */
    int tile_lines;           /* lines of a block, a power of two, */
    int log_lines;            /* whose logarithm this is, */
    int cluster;              /* and blocks that share a tile as a cluster; 0: no clusters */
    bool once;                /* of thin, narrow, whole: what is loaded should not stay in the L2 */
    bool spread;              /* of thin: a warp's lines are MATMUL_THIN_ROWS apart */
    /* Of the stack, last: what every thread reads lies together. */
    int axes; /* the innermost one first */
    int64_t extent[MATMUL_AXES], step_a[MATMUL_AXES], step_b[MATMUL_AXES];
} matmul_args;

/* For add_shares: out[i] is the sum of sums[i + s * partial] over all shares s. */
typedef struct matmul_add_shares_args {
    const float *sums;
    float *out;
    int64_t count, partial;
    int shares, log_sharers; /* see add_shares.h */
    bool vectors;
} matmul_add_shares_args;

enum {
    MATMUL_THREADS = 256,      /* of a block, but for some tiles */
    MATMUL_THIN_MOST = 4,      /* right-hand sides that a thread of thin has sums for, */
    MATMUL_THIN_ROWS = 4,      /* lines of a warp, where the depth is contiguous, */
    MATMUL_THIN_SPREAD = 16,   /* of so many if they are spread, */
    MATMUL_THIN_LINES = 32,    /* and lines of a block without helpers; */
    MATMUL_THIN_WIDE = 128,    /* the most of one whose lines are contiguous, */
    MATMUL_THIN_NARROW = 16,   /* and the fewest; */
    MATMUL_THIN_BATCH = 8,     /* loads of a thread on their way, where lines are contiguous; */
    MATMUL_THIN_CLUSTER = 8,   /* blocks that share the depth as a cluster */
    MATMUL_TILE_CLUSTER = 2,   /* and those of warp_tiles, of square tiles */
    MATMUL_CLUSTER_SIDE = 64,  /* of this side */
    MATMUL_FOURS = 4,          /* blocks of q64x64 on a multiprocessor, */
    MATMUL_FOURS_MOST = 5,     /* and of its kernels that take fewer registers */
    MATMUL_WHOLE_DOWN = 8,     /* threads of whole along a column of a result, */
    MATMUL_WHOLE_NEAR = 8,     /* and along a row: of small ones, */
    MATMUL_WHOLE_ACROSS = 16,  /* and of others */
    MATMUL_NARROW_LINES = 128, /* lines of a block of narrow, */
    MATMUL_NARROW_THREADS = 128,
    MATMUL_NARROW_MOST = 32, /* and the most vectors */
    /* Dynamic shared memory of tiles. */
    MATMUL_BYTES_w32x32 = 55296,
    MATMUL_BYTES_16x64 = 67584,
    MATMUL_BYTES_32x32 = 55296,
    MATMUL_BYTES_64x64 = 69632,
    MATMUL_BYTES_p64x32 = 13312,
    /* And of warp_tiles. */
    MATMUL_BYTES_e32x32 = 19456,
    MATMUL_BYTES_e32x64 = 13824,
    MATMUL_BYTES_e64x64 = 36864,
    MATMUL_BYTES_ep64x64 = 18432,
    MATMUL_BYTES_eq64x64 = 19456,
    MATMUL_BYTES_e128x128 = 35840,
    /* And of narrow. */
    MATMUL_BYTES_narrow_8 = 65024,
    MATMUL_BYTES_narrow_16 = 65024,
    MATMUL_BYTES_narrow_24 = 71168,
    MATMUL_BYTES_narrow_32 = 75776,
    /* The most of whole. */
    MATMUL_BYTES_whole_16 = 40960,
    MATMUL_BYTES_whole_32 = 57344,
    MATMUL_BYTES_whole_48 = 76800,
    MATMUL_BYTES_whole_more = 112640, /* of those with more threads: two blocks */
};

/* Blocks of thin that are resident on a multiprocessor: as registers allow. */
#define MATMUL_THIN_RESIDENT(spread, sides) ((spread) && (sides) == 1 ? 3 : 2)
/* Numbers in shared memory for `count` of them, of which the first is somewhere in 16 bytes. */
#define MATMUL_WHOLE_ROOM(count) (((count) + 6) / 4 * 4)
/* From a row of sums to the next, which has other banks: of so many numbers, for so many threads.
 */
#define MATMUL_WHOLE_PITCH(width, across) ((width) + ((width) % (2 * (across)) == 0 ? (across) : 0))
/* Lines of each panel but the last. */
#define MATMUL_WHOLE_PANEL(lines, panels) (((lines) + (panels)-1) / (panels))

#ifdef __cplusplus
#include "device.h"

/* Moves both factors to a product of the stack. */
GM_DEVICE void matmul_go_to(const matmul_args &a, int64_t product, matmul_factor *left,
                            matmul_factor *right)
{
    int64_t of_a = 0, of_b = 0;
#pragma unroll 1
    for (int d = 0; d < a.axes; d++) {
        int64_t index = product;
        if (d + 1 < a.axes) {
            product = index / a.extent[d];
            index -= product * a.extent[d];
        }
        of_a += index * a.step_a[d];
        of_b += index * a.step_b[d];
    }
    *left = a.a;
    *right = a.b;
    left->data += of_a;
    right->data += of_b;
}

/* Up to four numbers, `stride` apart, loaded one by one; zeros from `count` on. */
GM_DEVICE float4 matmul_load_some(const float *from, int64_t stride, int count)
{
    float4 four;
    four.x = count > 0 ? from[0] : 0.0f;
    four.y = count > 1 ? from[stride] : 0.0f;
    four.z = count > 2 ? from[2 * stride] : 0.0f;
    four.w = count > 3 ? from[3 * stride] : 0.0f;
    return four;
}
#endif

#endif
