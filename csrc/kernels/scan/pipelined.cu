/*
 * scan / pipelined: blocks that stay, with tiles on the way in while sums of others are awaited.
 *
 * Follows  all_sums, whose blocks have nothing to do while they wait for their base, and which
 *          reads most of the sums again for every tile.
 * Idea     a block per multiprocessor takes one tile after the other, and has three of 64 KiB:
 *
 *              tile       A        B        C        D
 *              step 1   arrives
 *              step 2   summed   arrives
 *              step 3   stored   summed   arrives
 *              step 4            stored   summed   arrives
 *
 *          The copy engine brings a tile to shared memory. When it is there its sum is published.
 *          It is stored a step later: by then the tiles before it, which other blocks took at about
 *          the same time, have published theirs, so that nobody waits for long. Each block adds
 *          up all sums itself, those since its last tile, a thread per tile.
 * Order    sums of tiles are added in groups of 32, and these one after the other, whichever block
 *          has which tile: the same bits each time.
 * Progress tiles are numbered by a counter. A tile is published before anything is waited for, and
 *          only tiles with lower numbers are waited for, whose blocks run.
 * Machine  UBLKCP, SYNCS, LDS.128, STG.E.128
 */
#include "bulk.h"
#include "states.h"

enum { WARPS = SCAN_RING_THREADS / 32 };

/* In shared memory, beside the tiles. */
template <typename number> struct ring {
    gm_mbarrier full[SCAN_RING_STAGES];
    unsigned tile[SCAN_RING_STAGES]; /* that is in a stage, or arrives */
    number of_warp[WARPS];           /* sums of the newest tile's parts */
    number below[2][WARPS];          /* its and the last one's: the sums of the warps below */
    number of_group[WARPS];          /* sums of 32 tiles each */
};

/* The bytes of a tile that the copy engine brings: whole vectors of aligned arrays. */
template <typename tile> GM_DEVICE uint32_t ring_bytes(const scan_args &a, int64_t number)
{
    const int64_t left = a.count - number * tile::ELEMENTS;
    const int64_t elements = left < tile::ELEMENTS ? left : (int64_t)tile::ELEMENTS;
    return a.vectors ? (uint32_t)(elements / tile::PER_VECTOR) * SCAN_VECTOR_BYTES : 0;
}

/* The number of the block's next tile. */
GM_DEVICE unsigned ring_ticket(const scan_args &a, bool wanted)
{
    return wanted ? atomicAdd(a.tickets, 1u) : (unsigned)a.tiles;
}

/* Thread 0 asks for the tile of this number, if there is one. */
template <typename tile>
GM_DEVICE void ring_request(const scan_args &a, ring<typename tile::number> &r, unsigned char *at,
                            int stage, unsigned number, uint64_t policy)
{
    r.tile[stage] = number;
    if (number < a.tiles) {
        const uint32_t bytes = ring_bytes<tile>(a, number);
        gm_mbarrier_expect(&r.full[stage], bytes);
        if (bytes > 0) {
            gm_bulk_load(at + stage * SCAN_RING_BYTES,
                         (const char *)a.in + (int64_t)number * SCAN_RING_BYTES, bytes,
                         &r.full[stage], policy);
        }
    }
}

/* What the copy engine does not bring; zeros behind the end. */
template <typename tile>
GM_DEVICE void ring_complete(const scan_args &a, int64_t number, unsigned char *stage)
{
    typename tile::number *to = (typename tile::number *)stage;
    const typename tile::number *from =
        (const typename tile::number *)a.in + number * tile::ELEMENTS;
    const int64_t left = a.count - number * tile::ELEMENTS;
    const int there = (int)(ring_bytes<tile>(a, number) / sizeof(typename tile::number));
#pragma unroll 4 /* loads that wait side by side */
    for (int i = there + (int)threadIdx.x; i < tile::ELEMENTS; i += SCAN_RING_THREADS) {
        to[i] = i < left ? from[i] : (typename tile::number)0;
    }
    __syncthreads();
}

template <typename tile> GM_DEVICE void ring_read(const unsigned char *stage, tile &t)
{
    typedef typename tile::vector vector;
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
        const vector v = ((const vector *)stage)[scan_place<tile>(row) / tile::PER_VECTOR];
        scan_unpack(v, t.part[row]);
    }
}

/* Each warp's part of the sum of a tile. */
template <typename tile>
GM_DEVICE void ring_add_up(ring<typename tile::number> &r, const unsigned char *stage)
{
    tile t;
    typename tile::number sum = 0;
    ring_read(stage, t);
#pragma unroll
    for (int row = 0; row < tile::ROWS; row++) {
        typename tile::number of_row = t.part[row][0];
#pragma unroll
        for (int k = 1; k < tile::PER_VECTOR; k++) {
            of_row += t.part[row][k];
        }
        sum += of_row;
    }
    sum = gm_warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        r.of_warp[threadIdx.x / 32] = sum;
    }
}

/* The first warp publishes the sum of the tile, and notes what is below each warp. */
template <typename number>
GM_DEVICE void ring_publish(const scan_args &a, ring<number> &r, int64_t tile, int parity)
{
    const int lane = threadIdx.x % 32;
    const number inclusive = scan_warp(lane < WARPS ? r.of_warp[lane] : (number)0);
    const number below = scan_lanes_below(inclusive);
    if (lane == 31) {
        publish(a, tile, SUM, inclusive);
    }
    if (lane < WARPS) {
        r.below[parity][lane] = below;
    }
}

/* The sums of the tiles from `first` on, those before `tile`, in groups of 32. */
template <typename number>
GM_DEVICE void ring_look(const scan_args &a, ring<number> &r, int64_t first, int64_t tile)
{
    const int64_t at = first + threadIdx.x;
    number sum = 0;
    if (at < tile) {
        (void)wait_for(a, at, &sum);
    }
    sum = gm_warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        r.of_group[threadIdx.x / 32] = sum;
    }
}

/* The base of a tile, after ring_look from `first` on. `prefix` is the sum of all tiles before
 * `first`; both move on to the last whole group before the tile. */
template <typename number>
GM_DEVICE number ring_base(const scan_args &a, ring<number> &r, int64_t tile, int64_t &first,
                           number &prefix)
{
    for (; tile - first >= SCAN_RING_THREADS; first += SCAN_RING_THREADS) {
        for (int i = 0; i < WARPS; i++) {
            prefix += r.of_group[i];
        }
        __syncthreads(); /* before the sums are overwritten */
        ring_look(a, r, first + SCAN_RING_THREADS, tile);
        __syncthreads();
    }
    const int groups = (int)(tile - first) / 32;
    for (int i = 0; i < groups; i++) {
        prefix += r.of_group[i];
    }
    first += groups * 32;
    return prefix + r.of_group[groups];
}

template <typename number, typename vector>
GM_DEVICE void scan_in_ring(const scan_args &a, unsigned char *stages)
{
    typedef scan_tile<number, vector, SCAN_RING_THREADS, SCAN_RING_ROWS> tile;
    __shared__ ring<number> r;
    const uint64_t kept = gm_evict_last();
    int64_t last = -1, first = 0; /* the tile before; see ring_base */
    unsigned ticket = 0;
    number prefix = 0;

    if (threadIdx.x == 0) {
        for (int i = 0; i < SCAN_RING_STAGES; i++) {
            gm_mbarrier_init(&r.full[i]);
        }
        gm_wait_for_previous();
        for (int i = 0; i < SCAN_RING_STAGES - 1; i++) {
            /* Each block gets one first: else an early one takes two, and another none. */
            ticket = ring_ticket(a, a.tiles > (int64_t)i * gridDim.x);
            ring_request<tile>(a, r, stages, i, ticket, kept);
        }
        ticket = ring_ticket(a, ticket < a.tiles); /* ahead of its use: the counter is far away */
    }
    __syncthreads();
    for (int step = 0;; step++) {
        const int stage = step % SCAN_RING_STAGES, before = (step + 2) % SCAN_RING_STAGES;
        const int64_t now = r.tile[stage];
        unsigned char *const here = stages + stage * SCAN_RING_BYTES;
        if (now < a.tiles) {
            gm_mbarrier_wait(&r.full[stage], (uint32_t)(step / SCAN_RING_STAGES & 1));
            if (!scan_in_vectors<tile>(a, now)) {
                ring_complete<tile>(a, now, here);
            }
            ring_add_up<tile>(r, here);
        }
        __syncthreads();
        if (now < a.tiles && threadIdx.x < 32) {
            ring_publish(a, r, now, step & 1);
        }
        if (last >= 0) {
            tile t;
            ring_look(a, r, first, last);
            __syncthreads();
            const number base = ring_base(a, r, last, first, prefix);
            ring_read(stages + before * SCAN_RING_BYTES, t);
            (void)scan_rows(t, base + r.below[(step & 1) ^ 1][threadIdx.x / 32]);
            scan_store(a, last, t);
        }
        if (now >= a.tiles) {
            return;
        }
        last = now;
        __syncthreads(); /* the stage of the tile before is free */
        if (threadIdx.x == 0) {
            ring_request<tile>(a, r, stages, before, ticket, kept);
            ticket = ring_ticket(a, ticket < a.tiles);
        }
    }
}

GM_KERNEL_BOUNDED(scan_pipelined, scan_args, SCAN_RING_THREADS, 1)
{
    GM_DYNAMIC_SHARED(unsigned char, stages);
    switch (a.type) {
    case SCAN_INT32: scan_in_ring<unsigned, uint4>(a, stages); break;
    case SCAN_INT64: scan_in_ring<unsigned long long, ulonglong2>(a, stages); break;
    case SCAN_FLOAT32: scan_in_ring<float, float4>(a, stages); break;
    case SCAN_FLOAT64: scan_in_ring<double, double2>(a, stages); break;
    }
}
