/*
 * sgemm / stream_k: all multiprocessors end at the same time.
 *
 * Follows  warp_tile_tma, whose last round of tiles leaves multiprocessors idle: with 289 tiles
 *          on 264 places for blocks, nearly half of the time.
 * Idea     as many blocks as run at once have equal parts of all the work, which need not be whole
 *          tiles: see stream_k.h. This is known as stream-K.
 * Ring     goes on from tile to tile: the next one's first stages arrive while the last of this one
 *          are multiplied, and while its result is written.
 * Order    of the sums of a tile: from its last stages to its first, the same bits each time.
 * Progress a block leaves its sums before it waits for anyone, and waits only for blocks with lower
 *          numbers, which started before it.
 * Banks    as in warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Cost     sums that are left and added: 64 KiB for each block, through the L2.
 * Machine  UTMALDG.2D, LDS.128, FFMA
 */
#include "stream_k.h"

#include "atomics.h"

typedef tma_tile<true, false> stream_k_tile; /* whose sizes do not depend on layouts */

/* Behind the ring there is room for what each warp writes. What is transposed has the same. */
static_assert(stream_k_tile::ring * 4 + stream_k_tile::threads / 32 *
                                            warp_store_room<stream_k_tile::columns>::floats * 4 ==
                      STREAM_K_BYTES &&
                  (int)WARP_TILE_TMA_BYTES_TT <= (int)STREAM_K_BYTES,
              "room for either");

enum { STREAM_K_QUADS = STREAM_K_FLOATS / 4 / WARP_TILE_TMA_THREADS /* of a thread */ };

/* ---- what a block has to do ------------------------------------------------------------------ */

/* A place in the shared tiles. */
typedef struct stream_k_place {
    unsigned tile;
    int stage;
} stream_k_place;

/* A block's stages of the shared tiles: the end of one, whole ones, and the beginning of another.
 * Or a piece from the middle of one tile. */
typedef struct stream_k_work {
    stream_k_place ends[2];
    int shared, alone; /* whole tiles, of the shared ones and of the others */
} stream_k_work;

enum stream_k_use { LEAVE_SUMS, WRITE_RESULT, ADD_OTHERS, NO_MORE };

/* One tile, or a part of it. */
typedef struct stream_k_part {
    stream_k_use use;
    unsigned tile;
    int first, count; /* stages */
} stream_k_part;

/* The shared stages before a block's part. */
GM_DEVICE int64_t stream_k_before(const sgemm_stream_k_args &a, unsigned block)
{
    return block * a.each + min((int64_t)block, a.more);
}

GM_DEVICE stream_k_place stream_k_find_place(const sgemm_stream_k_args &a, int64_t before)
{
    if (a.each == 0) { /* no tile is shared */
        return stream_k_place{};
    }
    const int64_t tile = before / a.engine.stages;
    stream_k_place place;
    place.tile = a.whole + (unsigned)tile;
    place.stage = (int)(before - tile * a.engine.stages);
    return place;
}

GM_DEVICE void stream_k_count_tiles(const sgemm_stream_k_args &a, stream_k_work *work)
{
    work->shared = (int)(work->ends[1].tile - work->ends[0].tile) - (work->ends[0].stage > 0);
    work->shared = max(work->shared, 0);
    work->alone = blockIdx.x < a.whole ? (int)((a.whole - 1 - blockIdx.x) / gridDim.x) + 1 : 0;
}

GM_DEVICE stream_k_part stream_k_find_part(const sgemm_stream_k_args &a, const stream_k_work &work,
                                           int number)
{
    const int stages = (int)a.engine.stages;
    const bool piece = work.ends[0].tile == work.ends[1].tile;
    stream_k_part part = {WRITE_RESULT, 0, 0, stages};
    if (work.ends[1].stage > 0 && number-- == 0) {
        part.use = LEAVE_SUMS;
        part.tile = work.ends[1].tile;
        part.first = piece ? work.ends[0].stage : 0;
        part.count = work.ends[1].stage - part.first;
        return part;
    }
    if (number < work.shared) {
        part.tile = work.ends[0].tile + (work.ends[0].stage > 0) + number;
        return part;
    }
    number -= work.shared;
    if (number < work.alone) {
        part.tile = blockIdx.x + number * gridDim.x;
        return part;
    }
    if (number == work.alone && work.ends[0].stage > 0 && !piece) {
        part.use = ADD_OTHERS;
        part.tile = work.ends[0].tile;
        part.first = work.ends[0].stage;
        part.count = stages - part.first;
        return part;
    }
    part.use = NO_MORE;
    part.count = 0;
    return part;
}

/* ---- the ring -------------------------------------------------------------------------------- */

/* What thread 0 requests next: stages of one part after the other. */
typedef struct stream_k_next {
    int number; /* of the part after this one */
    int stage, left;
    tma_work work;
} stream_k_next;

template <typename tile> struct stream_k_feed {
    const sgemm_stream_k_args &a;
    const stream_k_work &work;
    float *shared;
    gm_mbarrier *full;
    stream_k_next *next;
};

/* Thread 0: the next stage of all, if there is one, to a slot that is free. */
template <typename tile> GM_DEVICE void stream_k_request(const stream_k_feed<tile> &feed, int slot)
{
    stream_k_next *const next = feed.next;
    while (next->left == 0) {
        const stream_k_part part = stream_k_find_part(feed.a, feed.work, next->number);
        if (part.use == NO_MORE) {
            return;
        }
        next->number++;
        next->stage = part.first;
        next->left = part.count;
        sgemm_find_tile(feed.a.engine.product, part.tile, tile::height, tile::width,
                        &next->work.row, &next->work.column);
    }
    const tma_place place = {};
    tma_load<tile>(feed.a.engine, feed.shared, feed.full, place, next->work, next->stage, slot);
    next->stage++;
    next->left--;
}

template <typename tile> GM_DEVICE void tma_refill(const stream_k_feed<tile> &feed, int t, int slot)
{
    (void)t;
    if (threadIdx.x == 0) {
        stream_k_request(feed, slot);
    }
}

/* ---- sums of other blocks -------------------------------------------------------------------- */

typedef float stream_k_sums[stream_k_tile::rows][stream_k_tile::columns];

/* The block's sums, a quad of each thread side by side. */
GM_DEVICE void stream_k_leave(const sgemm_stream_k_args &a, const stream_k_sums &sum)
{
    float4 *const to = (float4 *)(a.sums + (int64_t)blockIdx.x * STREAM_K_FLOATS) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < STREAM_K_QUADS; i++) {
        const float *from = &sum[i * 4 / stream_k_tile::columns][i * 4 % stream_k_tile::columns];
        to[i * stream_k_tile::threads] = make_float4(from[0], from[1], from[2], from[3]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); /* the sums are visible before this says so */
        gm_store_relaxed(&a.there[blockIdx.x], 1ULL);
    }
}

/* Adds the sums of the blocks that have the first stages of the tile. */
GM_DEVICE void stream_k_add(const sgemm_stream_k_args &a, const stream_k_work &work,
                            stream_k_sums &sum)
{
    enum { AT_ONCE = 16 };
    unsigned from = blockIdx.x;
    const int64_t begin = (work.ends[0].tile - a.whole) * a.engine.stages;
    while (stream_k_before(a, from) > begin) {
        from--;
    }
    const unsigned others = blockIdx.x - from;
    for (unsigned i = threadIdx.x; i < others; i += stream_k_tile::threads) {
        for (int times = 1; gm_load_relaxed(&a.there[from + i]) == 0; times++) {
            gm_wait_a_little(times);
        }
        __threadfence(); /* what it says is there is read after that */
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned block = blockIdx.x - 1; block + 1 > from; block--) {
        const float4 *const at =
            (const float4 *)(a.sums + (int64_t)block * STREAM_K_FLOATS) + threadIdx.x;
#pragma unroll
        for (int i = 0; i < STREAM_K_QUADS; i += AT_ONCE) {
            float4 more[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                more[k] = at[(i + k) * stream_k_tile::threads];
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                float *const to = &sum[(i + k) * 4 / stream_k_tile::columns]
                                      [(i + k) * 4 % stream_k_tile::columns];
                to[0] += more[k].x, to[1] += more[k].y, to[2] += more[k].z, to[3] += more[k].w;
            }
        }
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

template <typename tile> GM_DEVICE void stream_k(const sgemm_stream_k_args &a, float *shared)
{
    __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];
    __shared__ float4 zeros;
    __shared__ stream_k_work work;
    __shared__ stream_k_next next;
    const sgemm_args &product = a.engine.product;
    const stream_k_feed<tile> feed = {a, work, shared, full, &next};
    tma_ring ring = {0, 0};
    stream_k_sums sum;

    if (threadIdx.x == 0) {
        for (int slot = 0; slot < tile::stages; slot++) {
            gm_mbarrier_init(&full[slot]);
        }
        next.number = 0;
        next.left = 0;
    }
    if (threadIdx.x < 2) { /* one finds where the block's part begins, the other where it ends */
        work.ends[threadIdx.x] =
            stream_k_find_place(a, stream_k_before(a, blockIdx.x + threadIdx.x));
    }
    if (threadIdx.x == 32) {
        zeros = make_float4(0, 0, 0, 0);
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.engine.turn)) {
        return;
    }
    __syncwarp();
    if (threadIdx.x == 0) {
        stream_k_count_tiles(a, &work);
        for (int slot = 0; slot < tile::stages; slot++) {
            stream_k_request(feed, slot);
        }
    }
    __syncthreads(); /* the barriers, the zeros and the work are known */
#pragma unroll 1
    for (int number = 0;; number++) {
        const stream_k_part part = stream_k_find_part(a, work, number);
        if (part.use == NO_MORE) {
            return;
        }
        tma_work there = {};
        sgemm_find_tile(product, part.tile, tile::height, tile::width, &there.row, &there.column);
        warp_begin(sum, &zeros);
        if (part.count > 0) {
            tma_sum<tile>(sum, feed, shared, full, ring, part.count);
        }
        if (part.use == LEAVE_SUMS) {
            stream_k_leave(a, sum);
            continue;
        }
        if (part.use == ADD_OTHERS) {
            stream_k_add(a, work, sum);
        }
        tma_store<tile>(product, there, sum, shared + tile::ring);
    }
}

GM_KERNEL_BOUNDED(sgemm_stream_k, sgemm_stream_k_args, WARP_TILE_TMA_THREADS, STREAM_K_BLOCKS)
{
    GM_DYNAMIC_SHARED(float, shared);
    stream_k<tma_tile<true, false>>(a, shared);
}

#define WAY(name, along_a, along_b)                                                                \
    GM_KERNEL_BOUNDED(sgemm_stream_k_##name, sgemm_stream_k_args, WARP_TILE_TMA_THREADS,           \
                      STREAM_K_BLOCKS)                                                             \
    {                                                                                              \
        GM_DYNAMIC_SHARED(float, shared);                                                          \
        stream_k<tma_tile<along_a, along_b>>(a, shared);                                           \
    }
WAY(nt, true, true)
WAY(tn, false, false)
WAY(tt, false, true)
