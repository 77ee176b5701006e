/*
 * A product by tiles that the tensor copy engine brings: its sizes, and its body.
 *
 *     block     128 x 128 of C, by four warps below one another, 32 rows each
 *     thread    8 x 16 sums: every fourth row of its warp, four columns of every 32, see warp.h
 *     stage     32 steps of A in four boxes of 128 rows x 8 steps, and of B in one box of 32 steps
 *               x 128 columns; A's depth is contiguous in a box, B's columns are
 *
 * A kernel may take an A whose lines are contiguous, in boxes like B's, a B whose depth is, see
 * tma_along.h, and the factors of a stack of products, of which a block computes a tile of one.
 *
 * There is a ring of three stages, each with a barrier that says when its bytes have arrived.
 * Thread 0 requests stages; the engine writes zeros for what is outside the matrices.
 *
 *     thread 0   | 0, 1, 2 |                 | 3 to slot 0     | 4 to slot 1     | ...
 *     engine       0 1 2 ...                   3                 4
 *     block                | wait 0, compute | wait 1, compute | wait 2, compute | ...
 *                                            ^ __syncthreads(): all have read slot 0
 *
 * Where there are too few tiles for the multiprocessors, several blocks share one: see engine.h.
 */
#ifndef GPUMEM_SGEMM_WARP_TILE_TMA_H
#define GPUMEM_SGEMM_WARP_TILE_TMA_H

#include "sgemm/engine.h"

enum {
    WARP_TILE_TMA_HEIGHT = 128, /* rows and columns of C per block */
    WARP_TILE_TMA_WIDTH = 128,
    WARP_TILE_TMA_DEPTH = 32, /* steps of the sum per stage */
    WARP_TILE_TMA_BOX = 8,    /* of them in a box of A: 32 bytes of each row */
    WARP_TILE_TMA_STAGES = 3,
    WARP_TILE_TMA_THREADS = 128,
    WARP_TILE_TMA_BYTES = WARP_TILE_TMA_STAGES * WARP_TILE_TMA_DEPTH *
                          (WARP_TILE_TMA_HEIGHT + WARP_TILE_TMA_WIDTH) * 4,
    /* With a stage of B that is transposed. Where that of A is too, the ring is shorter. */
    WARP_TILE_TMA_BYTES_TT = WARP_TILE_TMA_BYTES + WARP_TILE_TMA_DEPTH * WARP_TILE_TMA_WIDTH * 4,
};

#ifdef __cplusplus
#include "tensor.h"
#include "warp_store.h"

static_assert((int)WARP_TILE_TMA_BOX == (int)WARP_STEPS, "a box has as many steps as a loop turn");

/* The geometry of a kernel: a block's tile, its stages, and what each thread has of it. along_a,
 * along_b: the depth of the factor is contiguous, not its lines. An A is kept so, see warp.h, where
 * B is not; else both are transposed. stack: so the maps of the factors are. */
template <bool along_a_, bool along_b_, bool stack_ = false> struct tma_tile {
    static constexpr bool along_a = along_a_, along_b = along_b_, stack = stack_;
    static constexpr bool kept = along_a && !along_b, both = along_a && along_b;
    static constexpr int height = WARP_TILE_TMA_HEIGHT, width = WARP_TILE_TMA_WIDTH;
    static constexpr int stages = both ? WARP_TILE_TMA_STAGES - 1 : WARP_TILE_TMA_STAGES;
    static constexpr int rows = 8, columns = 16; /* of a thread */
    static constexpr int warp_rows = rows * WARP_LANES_Y, warp_columns = columns * WARP_LANES_X;
    static constexpr int warps_x = width / warp_columns;
    static constexpr int threads = warps_x * (height / warp_rows) * 32;
    static constexpr int depth = WARP_TILE_TMA_DEPTH, boxes = depth / WARP_STEPS;
    static constexpr int box = height * WARP_STEPS; /* floats: of A, and of as many steps of B */
    static constexpr int floats_a = height * depth, floats = floats_a + width * depth;
    static constexpr int ring = stages * floats;
    static_assert(height == width, "boxes of one size");
    static_assert(threads == WARP_TILE_TMA_THREADS, "a block of the tile's size");
};

/* Which tile a block computes, and of a stack, of which product. */
typedef struct tma_place {
    unsigned tile;
    int plane_a, plane_b; /* the matrices of the stacks */
    int64_t out;          /* elements to the result */
} tma_place;

/* What a block computes: its tile of C, and its share of the stages. */
typedef struct tma_work {
    int64_t row, column;
    int first, count; /* stages; the engine counts in 32 bits */
} tma_work;

template <typename tile>
GM_DEVICE void tma_load_box(float *to, const gm_tensor_map *map, int x, int y, int plane,
                            gm_mbarrier *full)
{
    if constexpr (tile::stack) {
        gm_tensor_load_plane(to, map, x, y, plane, full);
    } else {
        gm_tensor_load(to, map, x, y, full);
    }
}

/* A factor's part of a stage, in one box. */
template <typename tile, bool along>
GM_DEVICE void tma_load_stage(float *to, const gm_tensor_map *map, int line, int step, int plane,
                              gm_mbarrier *full)
{
    tma_load_box<tile>(to, map, along ? step : line, along ? line : step, plane, full);
}

/* One thread: requests stage `number` of the depth. */
template <typename tile>
GM_DEVICE void tma_load(const sgemm_engine_args &a, float *shared, gm_mbarrier *full,
                        const tma_place &place, const tma_work &work, int number, int slot)
{
    float *to = shared + slot * tile::floats;
    const int depth = number * tile::depth;
    gm_mbarrier_expect(&full[slot], tile::floats * 4);
    if constexpr (tile::kept) {
#pragma unroll
        for (int box = 0; box < tile::boxes; box++) {
            tma_load_box<tile>(to + box * tile::box, &a.a, depth + box * WARP_STEPS, (int)work.row,
                               place.plane_a, &full[slot]);
        }
    } else {
        tma_load_stage<tile, tile::along_a>(to, &a.a, (int)work.row, depth, place.plane_a,
                                            &full[slot]);
    }
    tma_load_stage<tile, tile::along_b>(to + tile::floats_a, &a.b, (int)work.column, depth,
                                        place.plane_b, &full[slot]);
}

/* A block's place in the ring. It begins with {0, 0}, which stays so if it has a single tile. */
typedef struct tma_ring {
    int slot;
    uint32_t parity;
} tma_ring;

/* What fills the ring again, for a block that has a single tile. */
template <typename tile> struct tma_feed {
    const sgemm_engine_args &a;
    float *shared;
    gm_mbarrier *full;
    const tma_place &place;
    const tma_work &work;
};

/* Stage t has been read by all, and its slot is free. */
template <typename tile> GM_DEVICE void tma_refill(const tma_feed<tile> &feed, int t, int slot)
{
    if (threadIdx.x == 0 && t + tile::stages < feed.work.count) {
        tma_load<tile>(feed.a, feed.shared, feed.full, feed.place, feed.work,
                       feed.work.first + t + tile::stages, slot);
    }
}

/* The first row of a warp in the block's tile. */
template <typename tile> GM_DEVICE int tma_warp_row(void)
{
    static_assert(tile::warps_x == 1, "warps are below one another");
    return threadIdx.x / 32 * tile::warp_rows;
}

/* Where a thread has its first number of A in a stage. */
template <typename tile> GM_DEVICE int tma_first_of_a(void)
{
    const int y = tma_warp_row<tile>() + warp_lane_y() * (tile::kept ? 1 : 4);
    return tile::kept ? y * WARP_STEPS : y;
}

/* The sums of a thread over `count` stages, of which there is at least one, of a B whose lines are
 * contiguous. */
template <typename tile, typename feed_type>
GM_DEVICE void tma_sum_across(float (&sum)[tile::rows][tile::columns], const feed_type &feed,
                              const float *shared, gm_mbarrier *full, tma_ring &ring, int count)
{
    const int at_a = tma_first_of_a<tile>();
    const int at_b = tile::floats_a + warp_lane_x() * 4;
    float of_a[(tile::kept ? 4 : 2) * tile::rows], of_b[2][tile::columns];
    int slot = ring.slot;
    int now = slot * tile::floats * 4; /* bytes to the box in use, of A as of B */
    uint32_t parity = ring.parity;
    const float *step_a = (const float *)((const char *)(shared + at_a) + now);
    const float *step_b = (const float *)((const char *)(shared + at_b) + now);

    gm_mbarrier_wait(&full[slot], parity);
    warp_read_first<tile::kept, tile::rows>(of_a, step_a);
    warp_read<tile::columns, WARP_LANES_X>(of_b[0], step_b);

    for (int t = 0; t < count; t++) {
        const int next = slot + 1 == tile::stages ? 0 : slot + 1;
        const uint32_t next_parity = next == 0 ? parity ^ 1 : parity;
        int boxes = tile::boxes; /* not known: nvcc unrolls four in spite of the pragma */
#ifdef __CUDACC__
        asm("" : "+r"(boxes));
#endif
#pragma unroll 1
        for (int box = boxes; box > 0; box--) {
#pragma unroll
            for (int k = 0; k < WARP_STEPS; k++) {
                const int then = (k + 1) % WARP_STEPS;
                if (then == 0) {
                    if (box > 1) {
                        now += tile::box * 4;
                    } else if (t + 1 < count) { /* else the last is read again, for nothing */
                        gm_mbarrier_wait(&full[next], next_parity);
                        now = next * tile::floats * 4;
                    }
                    step_a = (const float *)((const char *)(shared + at_a) + now);
                    step_b = (const float *)((const char *)(shared + at_b) + now);
                }
                warp_read<tile::columns, WARP_LANES_X>(of_b[(k + 1) % 2],
                                                       step_b + then * tile::width);
                if constexpr (!tile::kept) {
                    warp_read<tile::rows, WARP_LANES_Y>(&of_a[(k + 1) % 2 * tile::rows],
                                                        step_a + then * tile::height);
                }
                warp_multiply<tile::kept>(sum, of_a, of_b[k % 2], k, step_a + then);
            }
        }
        __syncthreads(); /* all have read the stage: it may be filled again */
        tma_refill(feed, t, slot);
        slot = next;
        parity = next_parity;
    }
    ring.slot = slot;
    ring.parity = parity;
}

#include "tma_along.h"

/* The sums of a thread over `count` stages, of which there is at least one. */
template <typename tile, typename feed_type>
GM_DEVICE void tma_sum(float (&sum)[tile::rows][tile::columns], const feed_type &feed,
                       float *shared, gm_mbarrier *full, tma_ring &ring, int count)
{
    if constexpr (tile::along_b) {
        tma_sum_along<tile>(sum, feed, shared, full, ring, count);
    } else {
        tma_sum_across<tile>(sum, feed, shared, full, ring, count);
    }
}

/* Writes the tile. room: warp_store_room of each warp. */
template <typename tile>
GM_DEVICE void tma_store(const sgemm_args &a, const tma_work &work,
                         const float (&sum)[tile::rows][tile::columns], float *room)
{
    float *const of_warp = room + threadIdx.x / 32 * warp_store_room<tile::columns>::floats;
    warp_store<tile::kept>(a, work.row + tma_warp_row<tile>(), work.column, sum, of_warp);
}

template <typename tile>
GM_DEVICE void tma_product(const sgemm_engine_args &a, const tma_place &place, float *shared,
                           gm_mbarrier *full)
{
    const engine_share share = engine_find_share(a, tile::depth);
    tma_work work = {0, 0, (int)share.first, (int)share.count};
    float sum[tile::rows][tile::columns];
    __shared__ float4 zeros;

    sgemm_find_tile(a.product, place.tile, tile::height, tile::width, &work.row, &work.column);
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < tile::stages; slot++) {
            gm_mbarrier_init(&full[slot]);
        }
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < tile::stages && slot < work.count; slot++) {
            tma_load<tile>(a, shared, full, place, work, work.first + slot, slot);
        }
    }
    if (threadIdx.x == 32) {
        zeros = make_float4(0, 0, 0, 0);
    }
    __syncthreads(); /* the barriers and the zeros are initialised */
    warp_begin(sum, &zeros);
    if (work.count > 0) {
        const tma_feed<tile> feed = {a, shared, full, place, work};
        tma_ring ring = {0, 0};
        tma_sum<tile>(sum, feed, shared, full, ring, work.count);
    }
    sgemm_args product = engine_product(a, share, tile::depth);
    product.out += place.out;
    if constexpr (tile::stack) { /* as its arguments say: the compiler leaves out the rest */
        product.alpha = 1;
        product.beta = 0;
    }
    tma_store<tile>(product, work, sum, shared);
}
#endif

#endif
