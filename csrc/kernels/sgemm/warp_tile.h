/*
 * A product by tiles of warps: the body of warp_tile, for any size of its tiles.
 *
 *     block     128 x 128 of C, by four warps below one another
 *     warp      32 x 128 of C, by 4 x 8 lanes: see warp.h
 *     thread    8 x 16 sums; 8 rows of A and 16 columns of B, of this step and of the next
 *     stage     8 steps of the block's 128 rows of A and 128 columns of B, in shared memory
 *
 * There is a ring of four stages. Asynchronous copies bypass the registers and run three tiles
 * ahead. The last tile is computed first: it alone may lack steps, and the loop need not check.
 *
 *     compute   | last, slot 0  | 0, slot 1     | 1, slot 2     | 2, slot 3     | 3, slot 0 ...
 *     copy      | 2 to slot 3   | 3 to slot 0   | 4 to slot 1   | 5 to slot 2   | 6 to slot 3
 *               ^ barrier: all have read the slot that is now copied to
 */
#ifndef GPUMEM_WARP_TILE_H
#define GPUMEM_WARP_TILE_H

#include "sgemm.h"
#include "warp_store.h"

/* The geometry of a kernel: a block's tile, its stages, and the rows and columns of a thread. A
 * block may have several groups of so many threads, each with a ring of its own, which take the
 * tiles of the depth in turn: each has sums of the whole result, of its part of the depth. trims:
 * a warp at the edge of the matrix makes half of its products, or none, where the matrix has no
 * more rows or columns. That takes twice the code. */
template <int height_, int width_, int stages_, int rows_, int columns_, int groups_ = 1,
          bool trims_ = false>
struct warp_tile {
    static constexpr int height = height_, width = width_, stages = stages_;
    static constexpr int rows = rows_, columns = columns_, groups = groups_;
    static constexpr bool trims = trims_;
    static constexpr int warp_rows = rows * WARP_LANES_Y, warp_columns = columns * WARP_LANES_X;
    static constexpr int warps_x = width / warp_columns;
    static constexpr int threads = warps_x * (height / warp_rows) * 32;
    /*
     * Floats from step to step where the lines of a step are side by side. Where the depth of B is
     * contiguous the copies transpose it: eight lanes take eight steps of a line, a whole sector,
     * and a warp four lines. With four floats of padding, steps are 4 banks apart and lines one:
     * they fill the 32 banks.
     */
    static constexpr int pitch_a = height + 4, pitch_b = width + 4;
    static constexpr int floats_a = WARP_STEPS * pitch_a; /* of a stage, followed by B */
    static constexpr int floats = floats_a + WARP_STEPS * pitch_b, bytes = floats * 4;
    static constexpr int shared_bytes =
        groups * (stages * bytes + threads * 16); /* a float4 each */
    static_assert(width % warp_columns == 0 && height % warp_rows == 0, "whole tiles of warps");
};

/* ---- load ------------------------------------------------------------------------------------ */

/* How a factor gets from global to shared memory. */
enum warp_tile_way {
    BY_VECTORS, /* the lines are contiguous: four lines at a time */
    BY_LINES,   /* the same, one by one: the vectors are not aligned, or not whole */
    BY_STEPS,   /* the depth is contiguous: four steps at a time */
    BY_DEPTH,   /* the same, one by one */
};

/* The elements of one copy, how many threads share a line, or a step, and how many copies of it
 * each of them makes. */
template <int way, int lines, int block> struct warp_tile_share {
    static constexpr bool along_depth = way == BY_STEPS || way == BY_DEPTH;
    static constexpr int wide = way == BY_VECTORS || way == BY_STEPS ? 4 : 1;
    static constexpr int copies = (along_depth ? WARP_STEPS : lines) / wide;
    static constexpr int most = way == BY_LINES && block > 32 ? 32 : block;
    static constexpr int threads = copies < most ? copies : most, each = copies / threads;
    static constexpr int at_once = block / threads, beside = threads * wide;
    static constexpr int across = (along_depth ? lines : WARP_STEPS) / at_once;
    static constexpr int total = across * each; /* copies of a thread */
    static_assert(block % threads == 0 && copies % threads == 0 &&
                      (along_depth ? lines : WARP_STEPS) % at_once == 0,
                  "whole copies");
    static_assert(!along_depth || each == 1, "enough threads for the steps");
};

/* What a thread copies of a factor. */
typedef struct warp_tile_source {
    const float *at; /* where its next copy begins */
    int64_t apart;   /* bytes from one of its lines, or steps, to the next, */
    int64_t back;    /* and from the last of a tile to the first of the next tile */
    int64_t advance; /* elements from tile to tile */
    int line, step;  /* of its first element in the tile */
    int lines, left; /* that the tile has, fewer at the edge of the matrix; from the first one on */
} warp_tile_source;

template <typename tile> GM_DEVICE unsigned warp_tile_thread(void)
{
    return tile::groups > 1 ? threadIdx.x % tile::threads : threadIdx.x;
}

template <typename tile> GM_DEVICE int warp_tile_group(void)
{
    return tile::groups > 1 ? threadIdx.x / tile::threads : 0;
}

/* The number is read here, so that what follows from it is not worked out before the loop, and then
 * takes registers in it. */
GM_DEVICE int warp_tile_now(int number)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(number));
#endif
    return number;
}

/* What the loop needs of a source is kept in registers, rather than worked out anew in each turn.
 */
GM_DEVICE void warp_tile_settle(warp_tile_source &source)
{
#ifdef __CUDACC__
    asm("" : "+l"(source.apart), "+l"(source.back));
    asm("" : "+r"(source.line), "+r"(source.step), "+r"(source.left));
#else
    (void)source;
#endif
}

template <typename tile, int way, int lines>
GM_DEVICE warp_tile_source warp_tile_begin(const sgemm_factor &x, int64_t first_line)
{
    typedef warp_tile_share<way, lines, tile::threads> share;
    const unsigned thread = warp_tile_thread<tile>();
    const int along = thread % share::threads * share::wide;
    const int across = thread / share::threads;
    warp_tile_source source;
    source.line = share::along_depth ? across : along;
    source.step = share::along_depth ? along : across;
    const int64_t stride = share::along_depth ? x.line_stride : x.depth_stride;
    source.apart = share::at_once * stride * (int64_t)sizeof(float);
    source.advance = tile::groups * WARP_STEPS * (share::along_depth ? 1 : stride);
    source.back = source.advance * (int64_t)sizeof(float) - (share::across - 1) * source.apart;
    source.at = x.data + (share::along_depth ? (first_line + source.line) * stride + source.step
                                             : first_line + source.line + source.step * stride);
    if (tile::groups > 1) {
        source.at += warp_tile_group<tile>() * (source.advance / tile::groups);
    }
    source.lines = (int)min(x.lines - first_line, (int64_t)lines);
    source.left = source.lines - source.line;
    if (tile::trims) {
        warp_tile_settle(source);
    }
    return source;
}

/* Where one of a thread's copies goes, and whether what it copies exists. `kept` leaves the steps
 * of a line side by side; otherwise lines are, with `pitch` floats from step to step. */
template <int way, bool kept, int lines, int threads, int pitch> struct warp_tile_piece {
    typedef warp_tile_share<way, lines, threads> share;
    static constexpr int line = kept ? WARP_STEPS : 1, step = kept ? 1 : pitch;
    static constexpr int apart = share::at_once * (share::along_depth ? line : step);
    static_assert(way != BY_STEPS || kept, "vectors cannot be transposed");
};

/* Where the thread's first copy goes, in floats from the factor's part of a stage. */
template <typename piece> GM_DEVICE int warp_tile_first(const warp_tile_source &source)
{
    return source.line * piece::line + source.step * piece::step;
}

/* Does the line of a copy exist, where so many do from the first one's on? */
template <typename piece> GM_DEVICE bool warp_tile_has(int lines_left, int across, int along)
{
    typedef typename piece::share share;
    return (share::along_depth ? across * share::at_once : along) < lines_left;
}

template <typename piece>
GM_DEVICE void warp_tile_copy_piece(float *to, const float *from, int across, int along,
                                    bool exists)
{
    constexpr int bytes = piece::share::wide * 4;
    gm_copy_async<bytes>(to + across * piece::apart + along, from + along, exists ? bytes : 0);
}

/* Starts the thread's copies of a tile, `offset` elements after the next one, of which the first
 * `left` steps exist: zeros for the rest. */
template <typename piece>
GM_DEVICE void warp_tile_copy(float *stage, const warp_tile_source &source, int64_t offset,
                              int left)
{
    typedef typename piece::share share;
    float *const to = stage + warp_tile_first<piece>(source);
    const float *from = source.at + offset;
#pragma unroll
    for (int i = 0; i < share::across; i++) {
        const int step = source.step + (share::along_depth ? 0 : i * share::at_once);
#pragma unroll
        for (int along = 0; along < share::each * share::beside; along += share::beside) {
            warp_tile_copy_piece<piece>(to, from, i, along,
                                        step < left && warp_tile_has<piece>(source.left, i, along));
        }
        from = (const float *)((const char *)from + source.apart);
    }
}

/*
 * The thread's copies of a tile that belong to step k of eight. They are spread over two steps,
 * among products, so that they seldom wait for the address of the one before, which each is with a
 * distance added: worked out anew from the first one, they are up to twice the instructions. More
 * steps would have more of the three empty reads that ptxas puts between reads of shared memory and
 * copies to it. Unless there is such a tile, zeros are written.
 */
template <typename piece>
GM_DEVICE void warp_tile_copy_step(float *to, warp_tile_source &source, int k, bool exists)
{
    typedef typename piece::share share;
    enum { PARTS = 2, FIRST = 1, APART = 3 /* steps */ };
#pragma unroll
    for (int i = 0; i < share::total; i++) {
        if (i * PARTS / share::total * APART + FIRST == k) {
            const int across = i / share::each, along = i % share::each * share::beside;
            warp_tile_copy_piece<piece>(
                to, source.at, across, along,
                exists && warp_tile_has<piece>(warp_tile_now(source.left), across, along));
            if (i % share::each == share::each - 1) {
                const bool is_last = across + 1 == share::across;
                source.at = (const float *)((const char *)source.at +
                                            (is_last ? source.back : source.apart));
                gm_settle(source.at);
            }
        }
    }
}

/* How a kernel copies both factors. */
template <typename tile, int way_a, int way_b> struct warp_tile_ways {
    static constexpr bool kept = warp_tile_share<way_a, tile::height, tile::threads>::along_depth;
    typedef warp_tile_piece<way_a, kept, tile::height, tile::threads, tile::pitch_a> piece_a;
    typedef warp_tile_piece<way_b, false, tile::width, tile::threads, tile::pitch_b> piece_b;
};

/* Both factors' copies: a stage. */
template <typename tile, typename ways>
GM_DEVICE void warp_tile_load(float *stage, const warp_tile_source &from_a,
                              const warp_tile_source &from_b, int64_t tiles_ahead, int left)
{
    warp_tile_copy<typename ways::piece_a>(stage, from_a, tiles_ahead * from_a.advance, left);
    warp_tile_copy<typename ways::piece_b>(stage + tile::floats_a, from_b,
                                           tiles_ahead * from_b.advance, left);
}

/* Starts the copies of the first stages, the last tile's first, and waits for that one. */
template <typename tile, int way_a, int way_b>
GM_DEVICE void warp_tile_fill(float *shared, warp_tile_source &from_a, warp_tile_source &from_b,
                              int64_t depth, int64_t tiles)
{
    const int64_t last = (tiles - 1) * tile::groups + warp_tile_group<tile>();
#pragma unroll(tile::trims ? 1 : tile::stages)
    for (int i = 0; i < tile::stages - 1; i++) {
        if (i < tiles) {
            warp_tile_load<tile, warp_tile_ways<tile, way_a, way_b>>(
                shared + i * tile::floats, from_a, from_b, i == 0 ? tiles - 1 : 0,
                i == 0 ? (int)(depth - last * WARP_STEPS) : WARP_STEPS);
        }
        if (i > 0) {
            from_a.at += from_a.advance;
            from_b.at += from_b.advance;
        }
        __pipeline_commit();
    }
    gm_pipeline_wait_prior<tile::stages - 2>();
    __syncthreads();
}

/* ---- compute --------------------------------------------------------------------------------- */

/* Where the thread is in the block's tile: its warp's first row, its row of lanes, its column. */
typedef struct warp_tile_place {
    int warp_row, y, x;
} warp_tile_place;

template <typename tile> GM_DEVICE warp_tile_place warp_tile_find_place(void)
{
    const int warp = warp_tile_thread<tile>() / 32;
    warp_tile_place place;
    place.y = warp_lane_y();
    place.x = warp % tile::warps_x * tile::warp_columns + warp_lane_x() * 4;
    place.warp_row = warp / tile::warps_x * tile::warp_rows;
    return place;
}

/* The warps of a block meet, which may be in different loops where the tile trims. __syncthreads()
 * is for warps at the same place, and so is bar.sync, by synccheck. */
template <typename tile> GM_DEVICE void warp_tile_meet(void)
{
#ifdef __CUDACC__
    if constexpr (tile::trims) {
        asm volatile("barrier.sync 1, %0;" ::"n"(tile::groups * tile::threads) : "memory");
        return;
    }
#endif
    __syncthreads();
}

/*
 * The first tile of the depth is in shared memory, and the next ones are on their way: computes all
 * of them. A thread makes only the first `rows` and `columns` of its sums; with none its warp
 * copies for the others.
 */
template <typename tile, int way_a, int way_b, int rows, int columns>
GM_DEVICE void warp_tile_steps(float (&sum)[tile::rows][tile::columns], float *shared,
                               warp_tile_source &from_a, warp_tile_source &from_b, int64_t tiles,
                               const warp_tile_place &place)
{
    typedef warp_tile_ways<tile, way_a, way_b> ways;
    constexpr bool kept = ways::kept, busy = rows > 0;
    float of_a[kept ? 4 * tile::rows : 2 * tile::rows], of_b[2][tile::columns];
    int now = 0, next = (tile::stages - 1) * tile::bytes; /* is computed, is copied to */
    const float *at_a =
        shared + (kept ? (place.warp_row + place.y) * WARP_STEPS : place.warp_row + place.y * 4);
    const float *at_b = shared + tile::floats_a + place.x;
    const float *step_a = at_a, *step_b = at_b;
    if (busy && tiles > 0) {
        warp_read_first<kept, rows>(of_a, step_a);
        warp_read<columns, WARP_LANES_X>(of_b[0], step_b);
    }
    float *const to_a = shared + warp_tile_first<typename ways::piece_a>(from_a);
    float *const to_b = shared + tile::floats_a + warp_tile_first<typename ways::piece_b>(from_b);
    for (int64_t left = tiles; left > 0; left--) {
        const bool more = left > tile::stages - 1; /* tiles to copy */
        float *const next_a = (float *)((char *)to_a + next);
        float *const next_b = (float *)((char *)to_b + next);
        next = now; /* all will have read it when the next tile begins */
#pragma unroll
        for (int k = 0; k < WARP_STEPS; k++) {
            const int then = (k + 1) % WARP_STEPS;
            if (then == 0) {
                gm_pipeline_wait_prior<tile::stages - 2>();
                warp_tile_meet<tile>();
                if (left > 1) { /* else the same is read once more, for nothing */
                    now += tile::bytes;
                    now = now == tile::stages * tile::bytes ? 0 : now;
                }
                step_a = (const float *)((const char *)at_a + now);
                step_b = (const float *)((const char *)at_b + now);
            }
            if (busy) {
                warp_read<columns, WARP_LANES_X>(of_b[(k + 1) % 2], step_b + then * tile::pitch_b);
            }
            if (busy && !kept) {
                warp_read<rows, WARP_LANES_Y>(&of_a[(k + 1) % 2 * tile::rows],
                                              step_a + then * tile::pitch_a);
            }
            warp_tile_copy_step<typename ways::piece_a>(next_a, from_a, k, more);
            warp_tile_copy_step<typename ways::piece_b>(next_b, from_b, k, more);
            if (k + 2 == WARP_STEPS) {
                __pipeline_commit();
            }
            warp_multiply_part<kept, rows, columns>(sum, of_a, of_b[k % 2], k, step_a + then);
        }
    }
    gm_pipeline_wait_prior<0>(); /* the zeros that took the place of tiles */
}

template <typename tile, int way_a, int way_b>
GM_DEVICE void warp_tile_sum(float (&sum)[tile::rows][tile::columns], float *shared,
                             const sgemm_args &a, int64_t row, int64_t column,
                             const warp_tile_place &place)
{
    warp_tile_source from_a = warp_tile_begin<tile, way_a, tile::height>(a.a, row);
    warp_tile_source from_b = warp_tile_begin<tile, way_b, tile::width>(a.b, column);
    constexpr int steps = tile::groups * WARP_STEPS, rows = tile::rows, columns = tile::columns;
    const int64_t tiles = (a.depth + steps - 1) / steps; /* of each group */

    warp_tile_fill<tile, way_a, way_b>(shared, from_a, from_b, a.depth, tiles);
    if constexpr (tile::trims) {
        const int down = from_a.lines - place.warp_row; /* that the warp has */
        const int along = from_b.lines - place.x + warp_lane_x() * 4;
        if (down <= 0 || along <= 0) {
            warp_tile_steps<tile, way_a, way_b, 0, 0>(sum, shared, from_a, from_b, tiles, place);
            return;
        }
        if (down <= tile::warp_rows / 2) {
            warp_tile_steps<tile, way_a, way_b, rows / 2, columns>(sum, shared, from_a, from_b,
                                                                   tiles, place);
            return;
        }
        if constexpr (columns > 4) { /* vectors are not halved */
            if (along <= tile::warp_columns / 2) {
                warp_tile_steps<tile, way_a, way_b, rows, columns / 2>(sum, shared, from_a, from_b,
                                                                       tiles, place);
                return;
            }
        }
    }
    warp_tile_steps<tile, way_a, way_b, rows, columns>(sum, shared, from_a, from_b, tiles, place);
}

/* ---- the product, by the layouts of its factors -------------------------------------------- */

/* Whole vectors only: memory checkers see all 16 bytes of a vector read. */
GM_DEVICE bool warp_tile_vectors(const sgemm_factor &x, int64_t depth, int64_t first, int lines)
{
    const bool whole = x.lines - first >= lines || x.lines % 4 == 0;
    return x.vectors && (x.along_depth ? depth % 4 == 0 : whole);
}

template <typename tile, int way_a>
GM_DEVICE void warp_tile_by_way(float (&sum)[tile::rows][tile::columns], float *shared,
                                const sgemm_args &a, int64_t row, int64_t column,
                                const warp_tile_place &place)
{
    if (a.b.along_depth) {
        warp_tile_sum<tile, way_a, BY_DEPTH>(sum, shared, a, row, column, place);
    } else if (warp_tile_vectors(a.b, a.depth, column, tile::width)) {
        warp_tile_sum<tile, way_a, BY_VECTORS>(sum, shared, a, row, column, place);
    } else {
        warp_tile_sum<tile, way_a, BY_LINES>(sum, shared, a, row, column, place);
    }
}

template <typename tile> GM_DEVICE void warp_tile_product(const sgemm_args &a, float *shared)
{
    float4 *own = (float4 *)(shared + tile::stages * tile::floats) + threadIdx.x;
    const warp_tile_place place = warp_tile_find_place<tile>();
    float sum[tile::rows][tile::columns];
    int64_t row, column;

    sgemm_find_tile(a, blockIdx.x, tile::height, tile::width, &row, &column);
    *own = make_float4(0, 0, 0, 0);
    warp_begin(sum, own);
    const bool vectors = warp_tile_vectors(a.a, a.depth, row, tile::height);
    if (a.a.along_depth) {
        if (vectors) {
            warp_tile_by_way<tile, BY_STEPS>(sum, shared, a, row, column, place);
        } else {
            warp_tile_by_way<tile, BY_DEPTH>(sum, shared, a, row, column, place);
        }
    } else if (vectors) {
        warp_tile_by_way<tile, BY_VECTORS>(sum, shared, a, row, column, place);
    } else {
        warp_tile_by_way<tile, BY_LINES>(sum, shared, a, row, column, place);
    }
    __syncthreads(); /* all have read the last stage */
    float *const of_warp = shared + threadIdx.x / 32 * warp_store_room<tile::columns>::floats;
    row += place.warp_row;
    column += place.x - warp_lane_x() * 4;
    if (a.a.along_depth) {
        warp_store<true>(a, row, column, sum, of_warp);
    } else {
        warp_store<false>(a, row, column, sum, of_warp);
    }
}

#endif
