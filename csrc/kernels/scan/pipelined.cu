/*
 * scan / pipelined: blocks that stay, whose threads have rows of elements.
 *
 * Follows  all_sums, whose blocks have nothing to do while they wait for their base, which reads
 *          most of the sums again for every tile, and which scans each row of vectors by shuffles.
 * Idea     blocks that all run at once take one tile after the other:
 *
 *              tile       A        B        C        D
 *              step 1   summed   arrives
 *              step 2   stored   summed   arrives
 *              step 3            stored   summed   arrives
 *
 *          When a tile is there its sum is published. It is stored a step later: by then the tiles
 *          before it, which other blocks took at about the same time, have published theirs, so
 *          that nobody waits for long. Each block adds up all sums itself, those since its last
 *          tile, a thread per tile.
 * thread   has a row of 128 bytes, eight vectors that follow each other. It adds them up alone, so
 *          that a warp has one number per thread to scan, and not one per vector. The sums stay in
 *          registers until the base is known: the next tile but one can arrive meanwhile.
 * Banks    eight threads load a vector each at a time, 128 bytes apart: all of the same banks. So
 *          the tensor copy engine swizzles: vector p of row r is at place p ^ r % 8. It does the
 *          reverse when it stores.
 *
 *              row 0    0 1 2 3 4 5 6 7        vectors 0 of eight rows are in eight places
 *              row 1    1 0 3 2 5 4 7 6
 *              row 2    2 3 0 1 6 7 4 5
 *              ...
 * By hand  the engine moves whole rows, from a line of the result on if the input has an aligned
 *          vector there, or else from a line of the input on. Threads move what is before and
 *          behind them, and in the latter case all results.
 * Tiles    of 64 KiB and a block per multiprocessor; for smaller arrays of 32 KiB, and two blocks.
 * Order    sums of tiles are added in groups of 32, and these one after the other, whichever block
 *          has which tile: the same bits each time.
 * Progress tiles are numbered by a counter. A tile is published before anything is waited for, and
 *          only tiles with lower numbers are waited for, whose blocks run.
 * Machine  UTMALDG, SYNCS, LDS.128, STS.128, UTMASTG
 */
#include "states.h"
#include "tensor.h"

/* In shared memory, beside the tiles. */
template <typename tile> struct ring {
    gm_mbarrier full[SCAN_RING_STAGES];
    unsigned number[SCAN_RING_STAGES];             /* of the tile in a stage */
    typename tile::number of_warp[2][tile::WARPS]; /* sums of the newest tile's parts, in turn */
    typename tile::number of_group[tile::WARPS];   /* sums of 32 tiles each */
};

/* The sum of all tiles before tile `first`; see ring_base. */
template <typename number> struct ring_prefix {
    int64_t first;
    number sum;
};

/* ---- tiles in shared memory ------------------------------------------------------------------ */

/* Where a vector of this thread's row is in its tile, in bytes. */
GM_DEVICE uint32_t ring_place(int piece)
{
    return threadIdx.x * SCAN_ROW_BYTES + (piece ^ threadIdx.x % 8) * SCAN_VECTOR_BYTES;
}

/* The same for an element of the tile. */
template <typename number> GM_DEVICE number *ring_element(unsigned char *stage, int i)
{
    const uint32_t at = i * (uint32_t)sizeof(number);
    return (number *)(stage + (at ^ (at >> 3 & 0x70)));
}

/* How many elements of a tile are in the first `rows` rows of the array. */
template <typename tile> GM_DEVICE int ring_by_engine(int64_t rows, int64_t number)
{
    const int64_t left = rows - number * tile::THREADS;
    const int here = left < tile::THREADS ? (int)max(left, (int64_t)0) : (int)tile::THREADS;
    return here * (SCAN_ROW_BYTES / (int)sizeof(typename tile::number));
}

/* Thread 0 asks for the tile of this number, if there is one. */
template <typename tile>
GM_DEVICE void ring_request(const scan_ring_args &a, ring<tile> &r, unsigned char *stages,
                            int stage, unsigned number)
{
    r.number[stage] = number;
    if (number < a.scan.tiles) {
        const bool some = ring_by_engine<tile>(a.rows_in, number) > 0;
        unsigned char *const to = stages + stage * tile::THREADS * SCAN_ROW_BYTES;
        gm_mbarrier_expect(&r.full[stage], some ? tile::THREADS * SCAN_ROW_BYTES : 0);
        for (int row = 0; some && row < tile::THREADS; row += SCAN_RING_BOX) {
            gm_tensor_load_hinted(to + row * SCAN_ROW_BYTES, &a.in, 0,
                                  (int)number * tile::THREADS + row, &r.full[stage],
                                  gm_evict_last());
        }
    }
}

/* What the engine does not bring; zeros behind the end. */
template <typename tile>
GM_DEVICE void ring_complete(const scan_ring_args &a, int64_t number, unsigned char *stage)
{
    typedef typename tile::number element;
    const int there = ring_by_engine<tile>(a.rows_in, number);
    const element *from = (const element *)a.scan.in + number * tile::ELEMENTS;
    const int64_t left = a.scan.count - number * tile::ELEMENTS;
    if (there == tile::ELEMENTS) {
        return;
    }
    for (int i = there + (int)threadIdx.x; i < tile::ELEMENTS; i += tile::THREADS) {
        *ring_element<element>(stage, i) = i < left ? from[i] : (element)0;
    }
    __syncthreads();
}

template <typename tile> GM_DEVICE void ring_read(const unsigned char *stage, tile &t)
{
#pragma unroll
    for (int piece = 0; piece < tile::ROWS; piece++) {
        const typename tile::vector v = *(const typename tile::vector *)(stage + ring_place(piece));
        scan_unpack(v, t.part[piece]);
    }
}

template <typename tile> GM_DEVICE void ring_write(unsigned char *stage, const tile &t)
{
#pragma unroll
    for (int piece = 0; piece < tile::ROWS; piece++) {
        *(typename tile::vector *)(stage + ring_place(piece)) = scan_pack(t.part[piece]);
    }
}

/* From the place where ring_write put the tile to its place in the result. */
template <typename tile>
GM_DEVICE void ring_store(const scan_ring_args &a, unsigned char *stage, int64_t number)
{
    typedef typename tile::number element;
    const int there = ring_by_engine<tile>(a.rows_out, number);
    const int64_t left = a.scan.count - number * tile::ELEMENTS;
    element *to = (element *)a.scan.out + number * tile::ELEMENTS;
    /* A warp stores a line, and not the end of one and the beginning of the next. */
    const int past = (int)((uintptr_t)(to + there) % SCAN_LINE_BYTES / sizeof(element));
    for (int row = 0; threadIdx.x == 0 && there > 0 && row < tile::THREADS; row += SCAN_RING_BOX) {
        gm_tensor_store(&a.out, 0, (int)number * tile::THREADS + row, stage + row * SCAN_ROW_BYTES);
    }
#pragma unroll 4
    for (int i = there - past + (int)threadIdx.x; i < tile::ELEMENTS; i += tile::THREADS) {
        if (i >= there && i < left) {
            to[i] = *ring_element<element>(stage, i);
        }
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Replaces the elements of a row by the sums up to them. Returns the sum of the warp's rows below,
 * and notes that of all of them. */
template <typename tile>
GM_DEVICE typename tile::number ring_add_up(tile &t, typename tile::number *of_warp)
{
    typename tile::number sum = t.part[0][0];
#pragma unroll
    for (int i = 1; i < tile::ROWS * tile::PER_VECTOR; i++) {
        sum += t.part[i / tile::PER_VECTOR][i % tile::PER_VECTOR];
        t.part[i / tile::PER_VECTOR][i % tile::PER_VECTOR] = sum;
    }
    const typename tile::number inclusive = scan_warp(sum);
    if (threadIdx.x % 32 == 31) {
        of_warp[threadIdx.x / 32] = inclusive;
    }
    return scan_lanes_below(inclusive);
}

/* Publishes the sum of the tile. Returns what is below the warp in it. */
template <typename tile>
GM_DEVICE typename tile::number ring_publish(const scan_args &a,
                                             const typename tile::number *of_warp, int64_t number)
{
    typename tile::number below = 0, all = 0;
#pragma unroll
    for (int i = 0; i < tile::WARPS; i++) {
        below = i == (int)(threadIdx.x / 32) ? all : below;
        all += of_warp[i];
    }
    if (threadIdx.x == 32) { /* thread 0 has the copy engine to ask */
        publish(a, number, SUM, all);
    }
    return below;
}

/* The sums of the tiles from `first` on, those before `number`, in groups of 32. */
template <typename tile>
GM_DEVICE void ring_look(const scan_args &a, ring<tile> &r, int64_t first, int64_t number)
{
    const int64_t at = first + threadIdx.x;
    typename tile::number sum = 0;
    if (at < number) {
        (void)wait_for(a, at, &sum);
    }
    sum = gm_warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        r.of_group[threadIdx.x / 32] = sum;
    }
}

/* The base of a tile, after ring_look from the prefix on. The prefix moves on to the last whole
 * group before the tile. */
template <typename tile>
GM_DEVICE typename tile::number ring_base(const scan_args &a, ring<tile> &r, int64_t number,
                                          ring_prefix<typename tile::number> &prefix)
{
    for (; number - prefix.first >= tile::THREADS; prefix.first += tile::THREADS) {
        for (int i = 0; i < tile::WARPS; i++) {
            prefix.sum += r.of_group[i];
        }
        __syncthreads(); /* before the sums are overwritten */
        ring_look(a, r, prefix.first + tile::THREADS, number);
        __syncthreads();
    }
    const int groups = (int)(number - prefix.first) / 32;
    for (int i = 0; i < groups; i++) {
        prefix.sum += r.of_group[i];
    }
    prefix.first += groups * 32;
    return prefix.sum + r.of_group[groups];
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

/* The number of the block's next tile. */
GM_DEVICE unsigned ring_ticket(const scan_args &a, bool wanted)
{
    return wanted ? atomicAdd(a.tickets, 1u) : (unsigned)a.tiles;
}

/* Thread 0 fills the ring. Returns the number of the tile after those, which is ahead of its use:
 * the counter is far away. */
template <typename tile>
GM_DEVICE unsigned ring_begin(const scan_ring_args &a, ring<tile> &r, unsigned char *stages)
{
    unsigned ticket = 0;
    for (int i = 0; i < SCAN_RING_STAGES; i++) {
        gm_mbarrier_init(&r.full[i]);
    }
    gm_wait_for_previous();
    for (int i = 0; i < SCAN_RING_STAGES; i++) {
        /* Each block gets one first: else an early one takes two, and another none. */
        ticket = ring_ticket(a.scan, a.scan.tiles > (int64_t)i * gridDim.x);
        ring_request<tile>(a, r, stages, i, ticket);
    }
    return ring_ticket(a.scan, ticket < a.scan.tiles);
}

/* The sum of the elements before the first tile, fewer than a warp has lanes, which every warp adds
 * up. One of them stores the sums on the way. */
template <typename number> GM_DEVICE number ring_head(const scan_ring_args &a)
{
    const int place = (int)(threadIdx.x % 32) - a.head; /* from the first tile */
    if (a.head == 0) {
        return 0;
    }
    const number sum = scan_warp(place < 0 ? ((const number *)a.scan.in)[place] : (number)0);
    if (place < 0 && threadIdx.x < 32 && blockIdx.x == 0) {
        ((number *)a.scan.out)[place] = sum;
    }
    return __shfl_sync(0xffffffffu, sum, 31);
}

template <typename tile> GM_DEVICE void scan_in_ring(const scan_ring_args &a, unsigned char *stages)
{
    typedef typename tile::number element;
    enum { BYTES = tile::THREADS * SCAN_ROW_BYTES };
    __shared__ ring<tile> r;
    unsigned char *const out = stages + SCAN_RING_STAGES * BYTES;
    tile newest, before;              /* the sums of rows */
    element below = 0, was_below = 0; /* what is below a row in its tile */
    int64_t last = -1;                /* the tile before */
    unsigned ticket = threadIdx.x == 0 ? ring_begin<tile>(a, r, stages) : 0;

    __syncthreads();
    ring_prefix<element> prefix = {0, ring_head<element>(a)};
    for (int step = 0;; step++) {
        const int stage = step % SCAN_RING_STAGES;
        const int64_t now = r.number[stage];
        element *const of_warp = r.of_warp[step % 2];
        if (now < a.scan.tiles) {
            gm_mbarrier_wait(&r.full[stage], (uint32_t)(step / SCAN_RING_STAGES & 1));
            ring_complete<tile>(a, now, stages + stage * BYTES);
            ring_read(stages + stage * BYTES, newest);
            below = ring_add_up(newest, of_warp);
            gm_bulk_fence();
        }
        __syncthreads(); /* the tile is in registers, and its stage free */
        if (now < a.scan.tiles) {
            if (threadIdx.x == 0) {
                ring_request<tile>(a, r, stages, stage, ticket);
                ticket = ring_ticket(a.scan, ticket < a.scan.tiles);
            }
            below += ring_publish<tile>(a.scan, of_warp, now);
        }
        if (last >= 0) {
            ring_look(a.scan, r, prefix.first, last);
            if (threadIdx.x == 0) {
                gm_bulk_wait_read(); /* the tile before was stored */
            }
            __syncthreads();
            scan_raise(before, ring_base(a.scan, r, last, prefix) + was_below);
            ring_write(out, before);
            gm_bulk_fence();
            __syncthreads();
            ring_store<tile>(a, out, last);
        }
        if (now >= a.scan.tiles) {
            break;
        }
        last = now, was_below = below, before = newest;
    }
    if (threadIdx.x == 0) {
        gm_bulk_wait_read();
    }
}

template <int threads> GM_DEVICE void scan_with_ring(const scan_ring_args &a, unsigned char *stages)
{
    enum { ROWS = SCAN_RING_ROWS };
    switch (a.scan.type) {
    case SCAN_INT32: scan_in_ring<scan_tile<unsigned, uint4, threads, ROWS>>(a, stages); break;
    case SCAN_INT64:
        scan_in_ring<scan_tile<unsigned long long, ulonglong2, threads, ROWS>>(a, stages);
        break;
    case SCAN_FLOAT32: scan_in_ring<scan_tile<float, float4, threads, ROWS>>(a, stages); break;
    case SCAN_FLOAT64: scan_in_ring<scan_tile<double, double2, threads, ROWS>>(a, stages); break;
    }
}

GM_KERNEL_BOUNDED(scan_pipelined_k32, scan_ring_args, SCAN_K32_THREADS, 2)
{
    GM_DYNAMIC_SHARED(unsigned char, stages);
    scan_with_ring<SCAN_K32_THREADS>(a, stages);
}

GM_KERNEL_BOUNDED(scan_pipelined_k64, scan_ring_args, SCAN_K64_THREADS, 1)
{
    GM_DYNAMIC_SHARED(unsigned char, stages);
    scan_with_ring<SCAN_K64_THREADS>(a, stages);
}
