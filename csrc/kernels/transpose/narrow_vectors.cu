/*
 * transpose / narrow_vectors: few columns, or few rows, of elements of 1 or 2 bytes, written in
 * vectors.
 *
 * Follows  narrow_words, whose warps have steps of 128 elements of a run: a piece of 32 KiB with a
 *          hundred columns has runs of three of them, most of whose words are at an end.
 * Idea     a thread gathers the 16 bytes of a vector of the output by themselves. That is as many
 *          loads as elements, but of shared memory, and nothing else: no shuffles, no ends.
 *          Two lanes have a sector, and 16 such pairs a column each, wherever its sectors begin.
 * Piece    asynchronous copies bring it, without registers: of few columns rows as they follow in
 *          memory, or one by one; of few rows windows of them. Either way byte b of row r is at
 *          r * apart + b; the plan picks an `apart` that spreads lanes over the banks.
 * Ends     few columns: rows that complete the last sectors of all columns are read by two blocks.
 *          Few rows: columns follow one another in the output, so vectors run on into the next.
 * Machine  LDGSTS.128, LDS.U8, PRMT, STG.E.128
 */
#include "transpose.h"

enum { VECTOR = 16, PAIRS = 16 };

/* What a block has in shared memory. */
typedef struct vectors_piece {
    const char *at;       /* element 0 of row 0 */
    unsigned rows, apart; /* of a column; bytes from one to the next */
} vectors_piece;

/* Where vectors may end: in the column that they begin in, in the next, or anywhere. */
enum { WITHIN, NEXT, BEYOND };

/* Of a vector at a multiple of 16 bytes what lies from `begin` to `end`. */
GM_DEVICE void vectors_bring(char *to, const char *from, const char *begin, const char *end)
{
#pragma unroll 1
    for (int i = 0; i < VECTOR; i++) {
        if (from + i >= begin && from + i < end) {
            to[i] = from[i];
        }
    }
}

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
GM_DEVICE uint4 vectors_gather(const vectors_piece &piece, unsigned row, unsigned column)
{
    const unsigned N = VECTOR / sizeof(unit);
    const char *from = piece.at + row * piece.apart + column * sizeof(unit);
    const int next = (int)sizeof(unit) - (int)(piece.rows * piece.apart);
    unsigned end = piece.rows - row; /* of this column */
    uint32_t part[N];

#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        if (END != WITHIN && i > 0 && i == end) {
            from += next;
            end += END == BEYOND ? piece.rows : 0;
        }
        part[i] = *(const unit *)from;
        from += piece.apart;
    }
    return vectors_join(part);
}

/* The same where the output has `count` elements, which may be less than a vector. */
template <typename unit>
GM_DEVICE void vectors_store_some(char *to, int count, const vectors_piece &piece, unsigned row,
                                  unsigned column)
{
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const char *from = piece.at + row * piece.apart + column * sizeof(unit);
        ((unit *)to)[i] = *(const unit *)from;
        if (++row == piece.rows) {
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

/* The rows of a piece from the first one's `from` on, as they follow in the input, from `in` to
 * `end`: `bytes` of the last one. */
GM_DEVICE void vectors_bring_all(const char *in, const char *from, const char *end, char *shared,
                                 const vectors_piece &piece, unsigned bytes)
{
    const unsigned over = (unsigned)(piece.at - shared);
    const unsigned all = over + (piece.rows - 1) * piece.apart + bytes;
    from -= over;
    /* Whole vectors of the input, but for some at its ends. */
    const unsigned low = from < in ? VECTOR : 0;
    const unsigned high = (unsigned)min((int64_t)all, end - from) / VECTOR * VECTOR;
#pragma unroll 4
    for (unsigned at = low + threadIdx.x * VECTOR; at < high; at += blockDim.x * VECTOR) {
        gm_copy_async_kept(shared + at, from + at);
    }
    if (threadIdx.x == 0 && low > 0) {
        vectors_bring(shared, from, in, end);
    }
    if (threadIdx.x == 0 && high < all && high >= low) {
        vectors_bring(shared + high, from + high, in, end);
    }
}

/* The same, in windows of whole vectors. */
GM_DEVICE void vectors_bring_rows(const transpose_vectors_args &a, const char *from,
                                  const char *end, char *shared, const vectors_piece &piece)
{
    const unsigned lanes = 1u << a.window_bits, down = blockDim.x >> a.window_bits;
    unsigned r = threadIdx.x >> a.window_bits;
    unsigned kept = (unsigned)(piece.at - shared) + r * piece.apart;
    for (from += r * a.walk.pitch; r < piece.rows; r += down) {
        const char *begin = from - (uintptr_t)from % VECTOR;
        char *to = shared + kept / VECTOR * VECTOR;
        const bool inside = begin >= a.walk.in && end - begin >= a.window * VECTOR;
        for (unsigned v = threadIdx.x % lanes; v < (unsigned)a.window; v += lanes) {
            if (inside) {
                gm_copy_async_kept(to + v * VECTOR, begin + v * VECTOR);
            } else {
                vectors_bring(to + v * VECTOR, begin + v * VECTOR, a.walk.in, end);
            }
        }
        from += down * a.walk.pitch;
        kept += down * piece.apart;
    }
}

GM_DEVICE void vectors_meet(void)
{
    __pipeline_commit();
    gm_pipeline_wait_prior<0>();
    __syncthreads();
}

/* Few columns: a block has rows, and of every column the sectors that begin in them. */
template <typename unit>
GM_DEVICE void vectors_columns(const transpose_vectors_args &a, char *shared)
{
    const unsigned size = sizeof(unit), columns = (unsigned)a.walk.cols;
    const int64_t first = blockIdx.x * a.walk.run, run = a.walk.rows * (int64_t)size;
    const char *from = a.walk.in + first * a.walk.pitch;
    const char *end = a.walk.in + (a.walk.rows - 1) * a.walk.pitch + columns * size;
    const unsigned over = (unsigned)((uintptr_t)from % VECTOR);
    const int64_t rows = min(a.walk.rows - first, a.walk.run + TRANSPOSE_SECTOR / size - 1);
    const vectors_piece piece = {shared + over, (unsigned)rows, (unsigned)a.apart};

    gm_wait_for_previous();
    if (a.window > 0) {
        vectors_bring_rows(a, from, end, shared, piece);
    } else {
        vectors_bring_all(a.walk.in, from, end, shared, piece, columns * size);
    }
    vectors_meet();

    char *const out = a.walk.out + first * size;
    const unsigned most = piece.rows * size; /* of a column, from `out` on */
    if (first == 0) {
        for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
            const unsigned before = vectors_before(out + c * run);
            vectors_store_some<unit>(out + c * run, (int)(min(before, most) / size), piece, 0, c);
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
        char *const begin = out + c * run;
        unsigned place = vectors_before(begin) + step * TRANSPOSE_SECTOR + half;
        item += last - step;
        for (; step < last && c < columns; step++) {
            if (place + VECTOR <= most) {
                *(uint4 *)(begin + place) = vectors_gather<unit, WITHIN>(piece, place / size, c);
            } else if (place < most) {
                vectors_store_some<unit>(begin + place, (int)((most - place) / size), piece,
                                         place / size, c);
            }
            place += TRANSPOSE_SECTOR;
        }
    }
}

/* Few rows: a block has columns, which follow one another in the output; a pair of lanes has a
 * share of them, and the sectors that begin in it. END: of vectors that do not end WITHIN. */
template <typename unit, int END>
GM_DEVICE void vectors_rows(const transpose_vectors_args &a, char *shared)
{
    const unsigned size = sizeof(unit), N = VECTOR / size;
    const int64_t first = blockIdx.x * a.walk.run, run = a.walk.rows * (int64_t)size;
    const char *from = a.walk.in + first * size;
    const char *end = a.walk.in + (a.walk.rows - 1) * a.walk.pitch + a.walk.cols * size;
    const unsigned over = (unsigned)((uintptr_t)from % VECTOR);
    const vectors_piece piece = {shared + over, (unsigned)a.walk.rows, (unsigned)a.apart};

    gm_wait_for_previous();
    vectors_bring_rows(a, from, end, shared, piece);
    vectors_meet();

    const unsigned c = threadIdx.x % 32 / 2 * (unsigned)a.share;
    const int64_t here = min(a.walk.cols - first, a.walk.run) - c;
    char *const begin = a.walk.out + (first + c) * run;
    const int64_t rest = a.walk.out + a.walk.cols * run - begin;
    const unsigned left = here <= 0 ? 0 : (unsigned)min(rest, (int64_t)INT32_MAX);
    const unsigned mine = here <= 0 ? 0 : (unsigned)min((int64_t)a.share, here) * a.run_bytes;
    const unsigned before = vectors_before(begin), half = threadIdx.x % 2 * VECTOR;
    if (first == 0 && threadIdx.x == 0) {
        vectors_store_some<unit>(begin, (int)(min(before, left) / size), piece, 0, 0);
    }
    for (unsigned step = threadIdx.x / 32; step < a.steps; step += blockDim.x / 32) {
        const unsigned sector = before + step * TRANSPOSE_SECTOR, place = sector + half;
        const unsigned further = (unsigned)(place * a.magic >> 32); /* columns */
        const unsigned row = (place - further * a.run_bytes) / size;
        const bool whole = sector < mine && place + VECTOR <= left;
        /* All lanes alike: the halves of a sector are stored together. */
        if (__any_sync(0xffffffffu, whole && row + N > piece.rows)) {
            if (whole) {
                *(uint4 *)(begin + place) = vectors_gather<unit, END>(piece, row, c + further);
            }
        } else if (whole) {
            *(uint4 *)(begin + place) = vectors_gather<unit, WITHIN>(piece, row, c + further);
        }
        if (sector < mine && !whole && place < left) {
            vectors_store_some<unit>(begin + place, (int)((left - place) / size), piece, row,
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
    GM_DYNAMIC_SHARED(char, piece);
    switch (a.walk.itemsize) {
    case 1: narrow_vectors<uint8_t>(a, piece); break;
    case 2: narrow_vectors<uint16_t>(a, piece); break;
    }
}
