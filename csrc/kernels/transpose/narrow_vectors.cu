/*
 * transpose / narrow_vectors: few columns, or few rows, of elements of 1 or 2 bytes, stored in
 * vectors.
 *
 * Follows  narrow_words, whose warps have steps of 128 elements of a strip: a tile of 32 KiB with a
 *          hundred columns has strips of three of them, most of whose words are at an end.
 * Idea     a thread gathers the 16 bytes of a vector of the output by itself. That is a load for
 *          each element, but of shared memory, and nothing else: no shuffles, no ends.
 *
 *              few columns                        few rows
 *              tile: `strip` rows, and those      tile: `strip` columns, each row in a window of
 *              that complete the last sectors     vectors, and those that complete the last sector
 *              +----+----+----+-- -               +-------------+-------------+-- -
 *              | p0 | p1 | p2 |    a pair of      | p0: `share` | p1: `share` |    a pair of lanes
 *              |  : |  : |  : |    lanes has a    | columns     | columns     |    has columns, one
 *              |  v |  v |  v |    column         | v, v, ...   | v, v, ...   |    after the other
 *              +----+----+----+-- -               +-------------+-------------+-- -
 *
 * thread   half a sector of the output at a time: the elements of a vector, down a column.
 * warp     16 pairs of lanes, a sector each, of 16 columns or of 16 shares.
 * block    few columns: warps share the steps down all groups of 16 columns; few rows: they take
 *          the steps through the shares in turn.
 * Tile     asynchronous copies load it, without registers: of few columns rows as one run of
 *          memory, or one by one; of few rows windows of them. Either way byte b of row r is at
 *          r * tile_pitch + b; the plan picks a pitch that spreads lanes over the banks.
 * Ends     few columns: rows that complete the last sectors of all columns are read by two blocks.
 *          Few rows: columns follow one another in the output, so vectors run on into the next.
 * Machine  LDGSTS.128, LDS.U8, PRMT, STG.E.128
 */
#include "transpose.h"

enum { VECTOR = 16, PAIRS = 16 };

/* The input of a block in shared memory. */
typedef struct vectors_tile {
    const char *at;       /* element 0 of row 0 */
    unsigned rows, pitch; /* pitch: bytes from one row to the next */
} vectors_tile;

/* ---- load ---------------------------------------------------------------------------------- */

/* The part of an aligned vector inside [begin, end). */
GM_DEVICE void vectors_load_part(char *to, const char *from, const char *begin, const char *end)
{
#pragma unroll 1
    for (int i = 0; i < VECTOR; i++) {
        if (from + i >= begin && from + i < end) {
            to[i] = from[i];
        }
    }
}

/* Rows as one run of memory, from `from` to the first `bytes` of the last row; the input is
 * [in, end). */
GM_DEVICE void vectors_load_run(const char *in, const char *from, const char *end, char *shared,
                                const vectors_tile &tile, unsigned bytes)
{
    const unsigned over = (unsigned)(tile.at - shared);
    const unsigned all = over + (tile.rows - 1) * tile.pitch + bytes;
    from -= over;
    /* Vectors are whole, but for those at the ends of the input. */
    const unsigned low = from < in ? VECTOR : 0;
    const unsigned high = (unsigned)min((int64_t)all, end - from) / VECTOR * VECTOR;
#pragma unroll 4
    for (unsigned at = low + threadIdx.x * VECTOR; at < high; at += blockDim.x * VECTOR) {
        gm_copy_async_kept(shared + at, from + at);
    }
    if (threadIdx.x == 0 && low > 0) {
        vectors_load_part(shared, from, in, end);
    }
    if (threadIdx.x == 0 && high < all && high >= low) {
        vectors_load_part(shared + high, from + high, in, end);
    }
}

/* The same row by row, in windows of whole vectors. */
GM_DEVICE void vectors_load_rows(const transpose_vectors_args &a, const char *from, const char *end,
                                 char *shared, const vectors_tile &tile)
{
    const unsigned lanes = 1u << a.window_bits, down = blockDim.x >> a.window_bits;
    unsigned r = threadIdx.x >> a.window_bits;
    unsigned kept = (unsigned)(tile.at - shared) + r * tile.pitch;
    for (from += r * a.walk.pitch; r < tile.rows; r += down) {
        const char *begin = from - (uintptr_t)from % VECTOR;
        char *to = shared + kept / VECTOR * VECTOR;
        const bool inside = begin >= a.walk.in && end - begin >= a.window * VECTOR;
        for (unsigned v = threadIdx.x % lanes; v < (unsigned)a.window; v += lanes) {
            if (inside) {
                gm_copy_async_kept(to + v * VECTOR, begin + v * VECTOR);
            } else {
                vectors_load_part(to + v * VECTOR, begin + v * VECTOR, a.walk.in, end);
            }
        }
        from += down * a.walk.pitch;
        kept += down * tile.pitch;
    }
}

GM_DEVICE void vectors_wait(void)
{
    __pipeline_commit();
    gm_pipeline_wait_prior<0>();
    __syncthreads();
}

/* Few columns: the rows of a block from number `first` on, and those that complete the last
 * sectors. */
GM_DEVICE vectors_tile vectors_load_columns(const transpose_vectors_args &a, int64_t first,
                                            unsigned size, char *shared)
{
    const unsigned columns = (unsigned)a.walk.cols;
    const char *from = a.walk.in + first * a.walk.pitch;
    const char *end = a.walk.in + (a.walk.rows - 1) * a.walk.pitch + columns * size;
    const unsigned over = (unsigned)((uintptr_t)from % VECTOR);
    const int64_t rows = min(a.walk.rows - first, a.walk.strip + TRANSPOSE_SECTOR / size - 1);
    const vectors_tile tile = {shared + over, (unsigned)rows, (unsigned)a.tile_pitch};

    gm_wait_for_previous();
    if (a.window > 0) {
        vectors_load_rows(a, from, end, shared, tile);
    } else {
        vectors_load_run(a.walk.in, from, end, shared, tile, columns * size);
    }
    vectors_wait();
    return tile;
}

/* Few rows: the columns of a block from number `first` on, in windows of all rows. */
GM_DEVICE vectors_tile vectors_load_windows(const transpose_vectors_args &a, int64_t first,
                                            unsigned size, char *shared)
{
    const char *from = a.walk.in + first * size;
    const char *end = a.walk.in + (a.walk.rows - 1) * a.walk.pitch + a.walk.cols * size;
    const unsigned over = (unsigned)((uintptr_t)from % VECTOR);
    const vectors_tile tile = {shared + over, (unsigned)a.walk.rows, (unsigned)a.tile_pitch};

    gm_wait_for_previous();
    vectors_load_rows(a, from, end, shared, tile);
    vectors_wait();
    return tile;
}

/* ---- store --------------------------------------------------------------------------------- */

/* Where a vector may end: in the column that it begins in, in the next one, or anywhere. */
enum { WITHIN, NEXT, BEYOND };

GM_DEVICE uint4 vectors_join(const uint32_t (&part)[16])
{
    uint32_t word[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t low = __byte_perm(part[4 * i], part[4 * i + 1], 0x0040);
        const uint32_t high = __byte_perm(part[4 * i + 2], part[4 * i + 3], 0x0040);
        word[i] = __byte_perm(low, high, 0x5410);
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

GM_DEVICE uint4 vectors_join(const uint32_t (&part)[8])
{
    uint32_t word[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = __byte_perm(part[2 * i], part[2 * i + 1], 0x5410);
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

/* The elements of a vector, from a row of a column on. */
template <typename unit, int END>
GM_DEVICE uint4 vectors_gather(const vectors_tile &tile, unsigned row, unsigned column)
{
    const unsigned N = VECTOR / sizeof(unit);
    const char *from = tile.at + row * tile.pitch + column * sizeof(unit);
    const int next = (int)sizeof(unit) - (int)(tile.rows * tile.pitch);
    unsigned end = tile.rows - row; /* of this column */
    uint32_t part[N];

#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        if (END != WITHIN && i > 0 && i == end) {
            from += next;
            end += END == BEYOND ? tile.rows : 0;
        }
        part[i] = *(const unit *)from;
        from += tile.pitch;
    }
    return vectors_join(part);
}

/* `count` elements, less than a vector: at an end of the output. */
template <typename unit>
GM_DEVICE void vectors_store_some(char *to, int count, const vectors_tile &tile, unsigned row,
                                  unsigned column)
{
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const char *from = tile.at + row * tile.pitch + column * sizeof(unit);
        ((unit *)to)[i] = *(const unit *)from;
        if (++row == tile.rows) {
            row = 0;
            column++;
        }
    }
}

/* Bytes from an address to the next sector. */
GM_DEVICE unsigned vectors_before(const char *address)
{
    return (0 - (unsigned)(uintptr_t)address) % TRANSPOSE_SECTOR;
}

/* ---- the tile of a block ------------------------------------------------------------------- */

/* Few columns: of every column the sectors that begin in the block's rows. The store loops stand
 * here, beside the load: as functions of their own they are scheduled otherwise. */
template <typename unit>
GM_DEVICE void vectors_columns(const transpose_vectors_args &a, char *shared)
{
    const unsigned size = sizeof(unit), columns = (unsigned)a.walk.cols;
    const int64_t first = blockIdx.x * a.walk.strip, column_bytes = a.walk.rows * (int64_t)size;
    const vectors_tile tile = vectors_load_columns(a, first, size, shared);

    char *const out = a.walk.out + first * size;
    const unsigned most = tile.rows * size; /* of a column, from `out` on */
    if (first == 0) {
        for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
            const unsigned before = vectors_before(out + c * column_bytes);
            vectors_store_some<unit>(out + c * column_bytes, (int)(min(before, most) / size), tile,
                                     0, c);
        }
    }
    const unsigned half = threadIdx.x % 2 * VECTOR, pair = threadIdx.x % 32 / 2;
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32, items = a.groups * a.steps;
    const unsigned stop = items * (warp + 1) / warps;
    unsigned item = items * warp / warps;
    while (item < stop) {
        const unsigned group = item / a.steps, c = group * PAIRS + pair;
        unsigned step = item - group * a.steps;
        const unsigned last = min(a.steps, step + stop - item);
        char *const begin = out + c * column_bytes;
        unsigned place = vectors_before(begin) + step * TRANSPOSE_SECTOR + half;
        item += last - step;
        for (; step < last && c < columns; step++) {
            if (place + VECTOR <= most) {
                *(uint4 *)(begin + place) = vectors_gather<unit, WITHIN>(tile, place / size, c);
            } else if (place < most) {
                vectors_store_some<unit>(begin + place, (int)((most - place) / size), tile,
                                         place / size, c);
            }
            place += TRANSPOSE_SECTOR;
        }
    }
}

/* Few rows: the sectors that begin in the share of a pair of lanes. END: of vectors that do not end
 * WITHIN. */
template <typename unit, int END>
GM_DEVICE void vectors_rows(const transpose_vectors_args &a, char *shared)
{
    const unsigned size = sizeof(unit), N = VECTOR / size;
    const int64_t first = blockIdx.x * a.walk.strip, column_bytes = a.walk.rows * (int64_t)size;
    const vectors_tile tile = vectors_load_windows(a, first, size, shared);

    const unsigned c = threadIdx.x % 32 / 2 * (unsigned)a.share;
    const int64_t here = min(a.walk.cols - first, a.walk.strip) - c;
    char *const begin = a.walk.out + (first + c) * column_bytes;
    const int64_t rest = a.walk.out + a.walk.cols * column_bytes - begin;
    const unsigned left = here <= 0 ? 0 : (unsigned)min(rest, (int64_t)INT32_MAX);
    const unsigned mine = here <= 0 ? 0 : (unsigned)min((int64_t)a.share, here) * a.column_bytes;
    const unsigned before = vectors_before(begin), half = threadIdx.x % 2 * VECTOR;
    if (first == 0 && threadIdx.x == 0) {
        vectors_store_some<unit>(begin, (int)(min(before, left) / size), tile, 0, 0);
    }
    for (unsigned step = threadIdx.x / 32; step < a.steps; step += blockDim.x / 32) {
        const unsigned sector = before + step * TRANSPOSE_SECTOR, place = sector + half;
        const unsigned further = (unsigned)(place * a.reciprocal >> 32); /* columns */
        const unsigned row = (place - further * a.column_bytes) / size;
        const bool whole = sector < mine && place + VECTOR <= left;
        /* All lanes alike: the halves of a sector are stored together. */
        if (__any_sync(0xffffffffu, whole && row + N > tile.rows)) {
            if (whole) {
                *(uint4 *)(begin + place) = vectors_gather<unit, END>(tile, row, c + further);
            }
        } else if (whole) {
            *(uint4 *)(begin + place) = vectors_gather<unit, WITHIN>(tile, row, c + further);
        }
        if (sector < mine && !whole && place < left) {
            vectors_store_some<unit>(begin + place, (int)((left - place) / size), tile, row,
                                     c + further);
        }
    }
}

template <typename unit>
GM_DEVICE void narrow_vectors(const transpose_vectors_args &a, char *shared)
{
    if (a.walk.cols <= a.walk.rows) {
        vectors_columns<unit>(a, shared);
    } else if (a.walk.rows >= VECTOR / (int)sizeof(unit)) {
        vectors_rows<unit, NEXT>(a, shared);
    } else {
        vectors_rows<unit, BEYOND>(a, shared);
    }
}

GM_KERNEL_BOUNDED(transpose_narrow_vectors, transpose_vectors_args, VECTORS_THREADS, 3)
{
    GM_DYNAMIC_SHARED(char, tile);
    switch (a.walk.itemsize) {
    case 1: narrow_vectors<uint8_t>(a, tile); break;
    case 2: narrow_vectors<uint16_t>(a, tile); break;
    }
}
