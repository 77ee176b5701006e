/*
 * The arguments of the kernels whose tiles the tensor copy engine loads, and of their helpers. The
 * engine needs rows that begin at multiples of 16 bytes, and tf32x3 an A whose depth is contiguous
 * and a B whose lines are; `pack` makes others so.
 *
 * Where there are too few tiles, several blocks share one (y of the grid), with a part of the depth
 * each. Their sums go to memory of their own, and `add_shares` adds them:
 *
 *     depth     | stages of share 0 | stages of share 1 | ... |
 *     blocks      y = 0               y = 1                      -> sums -> add_shares -> C
 */
#ifndef GPUMEM_SGEMM_ENGINE_H
#define GPUMEM_SGEMM_ENGINE_H

#include "divisor.h"
#include "sgemm/sgemm.h"
#include "tensor_map.h"

/* Two ways of computing a product may both be launched, where it is decided on the device which one
 * does it: the kernels of the other end at once. */
typedef struct sgemm_turn {
    const uint32_t *verdict; /* NULL: always */
    uint32_t wanted;
} sgemm_turn;

typedef struct sgemm_engine_args {
    gm_tensor_map a, b;
    sgemm_args product;
    int64_t stages;  /* of each share but the last, which may have fewer */
    int64_t partial; /* elements from one share's sums to the next; 0 if there is one share */
    sgemm_turn turn;
} sgemm_engine_args;

/* A factor, and rows that the engine takes: lines by depth, or depth by lines. */
typedef struct sgemm_packed {
    sgemm_factor from;
    float *to;
    int64_t pitch;           /* floats from row to row */
    bool along_depth;        /* rows are lines */
    unsigned tiles_x, tiles; /* of SGEMM_PACK_SIDE squared; none if the engine takes it as it is */
} sgemm_packed;

enum { SGEMM_PACK_SIDE = 64 };

/* For pack. */
typedef struct sgemm_pack_args {
    sgemm_packed factors[2];
    int64_t depth;
    sgemm_turn turn;
} sgemm_pack_args;

/* For add_shares. */
typedef struct sgemm_add_shares_args {
    sgemm_args product;
    const float *sums;
    int64_t partial;         /* elements from share to share */
    gm_divisor vectors;      /* of a row: a share's units are fewer than 2^31 */
    int shares, log_sharers; /* see add_shares.h */
    sgemm_turn turn;
} sgemm_add_shares_args;

#ifdef __cplusplus
GM_DEVICE bool engine_is_turn(const sgemm_turn &turn)
{
    return !turn.verdict || *turn.verdict == turn.wanted;
}

/* The block's share of the stages. */
typedef struct engine_share {
    int64_t first, count;
} engine_share;

GM_DEVICE engine_share engine_find_share(const sgemm_engine_args &a, int depth)
{
    const int64_t stages = (a.product.depth + depth - 1) / depth;
    engine_share share;
    share.first = blockIdx.y * a.stages;
    share.count = min(stages - share.first, a.stages);
    return share;
}

/* The share as a product of its own. */
GM_DEVICE sgemm_args engine_product(const sgemm_engine_args &a, const engine_share &share,
                                    int depth)
{
    const int64_t first = share.first * depth;
    sgemm_args product = a.product;
    product.a.data += first * product.a.depth_stride;
    product.b.data += first * product.b.depth_stride;
    product.depth = min(product.depth - first, share.count * depth);
    product.out += blockIdx.y * a.partial;
    return product;
}
#endif

#endif
