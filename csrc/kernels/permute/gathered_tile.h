/*
 * A tile of 1- or 2-byte units whose rows begin anywhere, on both sides: vectors in as they lie in
 * memory, vectors out that threads gather unit by unit.
 *
 *      row r of the input    ...|- - - - - - -|- - - - - - -|- - - - - - -|...   16-byte vectors
 *                                  ^ over       the tile's columns   ^
 *      in shared memory         |- - - - - - -|- - - - - - -|- - - - - - -|      the same bytes
 *
 *      row c of the output      .    |#############|#############|######.        sectors
 *                                    ^ its first sector in this tile
 *
 * load    copies the vectors in which a row's part begins and ends, and those between, without a
 *         register. A row in shared memory begins as far from a vector as in memory (`over`).
 * store   A thread has a vector of the output: N rows of one column. Where these are depends on the
 *         column only by how far its row begins from a sector, which is the same for columns that
 *         are ALIKE apart: a thread works out N places once, and goes on to the next such column by
 *         adding to all of them.
 * banks   Every N rows, which are one lane's, shared memory has a gap of a vector. So the lanes of
 *         eight neighbouring vectors read from different vectors of the banks; lanes of other
 *         columns read other words of them, where the columns are 2^apart from each other. See
 *         plan_gathered.c.
 * ends    A tile stores whole sectors, the first of each row is the one that begins in its rows
 *         (HALO of them are the tile's before, as in transpose's aligned_tile.h). The sector in
 *         which a row of the output ends and the next one begins is stored by the tile that has the
 *         end: it loads the first rows of the next matrix as well, or the next column's. Only where
 *         there is no next row, or a gap before it, are ends stored unit by unit.
 */
#ifndef GPUMEM_PERMUTE_GATHERED_TILE_H
#define GPUMEM_PERMUTE_GATHERED_TILE_H

#include "gather.h"
#include "lines.h"
#include "permute.h"
#include "transpose/aligned_tile.h"

/* Units of a type. So many lanes store neighbouring vectors, and others those of other columns. */
template <typename type, int lanes> struct gathered_tile {
    typedef type unit;
    enum {
        SIZE = sizeof(unit),
        N = 16 / SIZE,                   /* units of a vector, rows of a lane */
        ALIKE = TRANSPOSE_SECTOR / SIZE, /* columns from one to the next that begins alike */
        LANES = lanes,
        WARPS = GATHERED_THREADS / 32,
        BESIDE = 32 / LANES, /* columns that a warp stores at a time */
        LOG_BESIDE = BESIDE == 4 ? 2 : 1,
        PARTS = ALIKE / BESIDE, /* sets of these: a warp each, or several one after the
                                   other */
    };
    static_assert(BESIDE == 4 || BESIDE == 2, "LOG_BESIDE");
    static_assert(PARTS % WARPS == 0, "warps have as many sets");
};

/* What a tile has of a matrix. */
typedef struct gathered_part {
    transpose_window window; /* its rows; behind those of the matrix, some of the next one */
    uint32_t first, end;     /* rows of the tile with which the matrix begins and ends */
    bool before, behind;     /* rows of the output are before, or behind, those of the matrix */
    const char *in;          /* the first column that is loaded: the tile's, or the one before; */
    uint32_t left;           /* bytes from that to the tile's, */
    int64_t col;             /* which is this one of the matrix */
} gathered_part;

/* ---- places in shared memory ----------------------------------------------------------------- */

template <typename geometry>
GM_DEVICE uint32_t gathered_row(const permute_gathered &shape, uint32_t r)
{
    return (r * shape.vectors.by + r / geometry::N) * 16;
}

/* From the vector's begin to where row r of the tile begins. */
GM_DEVICE uint32_t gathered_over(const permute_gathered &shape, const gathered_part &part,
                                 uint32_t r)
{
    const uint32_t jump = r >= part.end ? (uint32_t)shape.jump : 0;
    return ((uint32_t)(uintptr_t)part.in + r * (uint32_t)part.window.in_pitch + jump) & 15;
}

/* Where row r of the tile begins in shared memory. */
template <typename geometry>
GM_DEVICE uint32_t gathered_place(const permute_gathered &shape, const gathered_part &part,
                                  uint32_t r)
{
    return gathered_row<geometry>(shape, r) + gathered_over(shape, part, r);
}

/* A unit; rows behind the matrix are the next one's, or those of the next column. */
template <typename geometry>
GM_DEVICE typename geometry::unit gathered_unit(const permute_gathered &shape,
                                                const gathered_part &part, const char *tile,
                                                uint32_t r, uint32_t c)
{
    c += r >= part.end ? (uint32_t)shape.columns : 0;
    const uint32_t at =
        gathered_place<geometry>(shape, part, r) + part.left + c * geometry::SIZE; /* c may be -1 */
    return *(const typename geometry::unit *)(tile + at);
}

/* ---- load ------------------------------------------------------------------------------------ */

template <typename geometry, bool INSIDE>
GM_DEVICE void gathered_load(const permute_gathered &shape, const gathered_part &part,
                             const transpose_edge &edge, uint32_t cols, char *tile)
{
    const transpose_window &window = part.window;
    const uint32_t bytes = cols * geometry::SIZE, all = window.rows * shape.vectors.by;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < all; i += GATHERED_THREADS) {
        const uint32_t r = permute_divide(i, shape.vectors), v = i - r * shape.vectors.by;
        const char *row = part.in + r * window.in_pitch + (r >= part.end ? shape.jump : 0);
        const uint32_t over = (uint32_t)(uintptr_t)row & 15;
        if (r >= part.first && v * 16 < over + bytes) {
            const char *from = row - over + v * 16;
            char *to = tile + (i + r / geometry::N) * 16;
            if (INSIDE || (from >= edge.begin && from + 16 <= edge.end)) {
                gm_copy_async_kept_line(to, from);
            } else {
                permute_load_bytes(edge.begin, edge.end, from, to);
            }
        }
    }
}

/* Are all vectors of the tile in the input's memory? */
template <typename geometry>
GM_DEVICE bool gathered_is_inside(const permute_gathered &shape, const gathered_part &part,
                                  const transpose_edge &edge, uint32_t cols)
{
    const transpose_window &window = part.window;
    const uint32_t last = min(part.end, window.rows) - 1;
    int64_t low = min(part.first * window.in_pitch, last * window.in_pitch);
    int64_t high = max(part.first * window.in_pitch, last * window.in_pitch);
    if (window.rows > part.end) {
        const int64_t begin = part.end * window.in_pitch + shape.jump;
        const int64_t end = (window.rows - 1) * window.in_pitch + shape.jump;
        low = min(low, min(begin, end));
        high = max(high, max(begin, end));
    }
    return part.in + low - 15 >= edge.begin &&
           part.in + high + cols * geometry::SIZE + 15 <= edge.end;
}

/* ---- store ----------------------------------------------------------------------------------- */

/* Sectors of which the matrix has all. */
template <typename geometry>
GM_DEVICE void gathered_store(const permute_gathered &shape, const gathered_part &part,
                              const char *tile)
{
    enum { N = geometry::N, BEHIND = 32 /* bytes: the next column that begins alike */ };
    const transpose_window &window = part.window;
    const uint32_t lane = threadIdx.x % geometry::LANES,
                   beside = threadIdx.x % 32 / geometry::LANES;
    const int64_t across = window.out_pitch * geometry::ALIKE;
    const uint32_t next = geometry::LANES * (N * shape.vectors.by + 1) * 16;
    const uint32_t low = (uint32_t)(uintptr_t)part.in;

#pragma unroll 1
    for (uint32_t set = threadIdx.x / 32; set < geometry::PARTS; set += geometry::WARPS) {
        const uint32_t col = (set >> shape.apart << (shape.apart + geometry::LOG_BESIDE)) +
                             (set & ((1u << shape.apart) - 1)) + (beside << shape.apart);
        char *row = window.out + col * window.out_pitch;
        uint32_t r =
            permute_to_sector<typename geometry::unit>(row) + N * lane; /* the thread's first */
        uint32_t place[N];
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            place[i] = gathered_row<geometry>(shape, r + i) +
                       ((low + (r + i) * (uint32_t)window.in_pitch) & 15) + part.left +
                       col * geometry::SIZE;
        }
#pragma unroll 1
        for (uint32_t v = lane, on = 0; v < shape.step / N; v += geometry::LANES, on += next) {
            const uint32_t sector = r - v % 2 * N;
            if (sector >= part.first && sector + 2 * N <= part.end) {
                const char *from = tile + on;
                char *to = row + r * geometry::SIZE;
#pragma unroll 2
                for (uint32_t c = col; c < window.cols; c += geometry::ALIKE) {
                    *(uint4 *)to = permute_gather(from, place);
                    from += BEHIND;
                    to += across;
                }
            }
            r += geometry::LANES * N;
        }
    }
}

/* The sectors that the columns from one to another share with what is behind the matrix: two
 * threads for each. */
template <typename geometry>
GM_DEVICE void gathered_store_joined(const permute_gathered &shape, const gathered_part &part,
                                     uint32_t from, uint32_t to, const char *tile)
{
    enum { N = geometry::N, SECTOR = 2 * N };
    for (uint32_t c = from + threadIdx.x / 2; c < to; c += GATHERED_THREADS / 2) {
        char *row = part.window.out + c * part.window.out_pitch;
        const uint32_t own = permute_to_sector<typename geometry::unit>(row),
                       over = (part.end - own) % SECTOR;
        const uint32_t r = part.end - over + threadIdx.x % 2 * N;
        if (over > 0 && part.end > own && part.end - over < own + shape.step) {
            typename geometry::unit units[N];
#pragma unroll
            for (uint32_t j = 0; j < N; j++) {
                units[j] = gathered_unit<geometry>(shape, part, tile, r + j, c);
            }
            uint4 vector;
            memcpy((void *)&vector, units, sizeof vector);
            *(uint4 *)(row + r * geometry::SIZE) = vector;
        }
    }
}

/* What the columns from one to another have of sectors in which nothing else is stored: where the
 * matrix begins, or where it ends. A thread for each unit of a sector. */
template <typename geometry>
GM_DEVICE void gathered_store_end(const permute_gathered &shape, const gathered_part &part,
                                  bool begin, uint32_t from, uint32_t to, const char *tile)
{
    enum { SECTOR = 2 * geometry::N };
    const uint32_t i = threadIdx.x % SECTOR;
    for (uint32_t c = from + threadIdx.x / SECTOR; c < to; c += GATHERED_THREADS / SECTOR) {
        char *row = part.window.out + c * part.window.out_pitch;
        const uint32_t own = permute_to_sector<typename geometry::unit>(row);
        const uint32_t head = part.first + (own - part.first) % SECTOR; /* its first whole sector */
        const uint32_t tail = part.end - (part.end - own) % SECTOR;     /* behind its last one */
        const bool ends = part.end > own && tail >= max(own, head) && tail < own + shape.step;
        const uint32_t r = (begin ? part.first : tail) + i;
        if (r < part.end && (begin ? r < head : ends)) {
            *(typename geometry::unit *)(row + r * geometry::SIZE) =
                gathered_unit<geometry>(shape, part, tile, r, c);
        }
    }
}

/* Where the matrix begins and ends in the tile. */
template <typename geometry>
GM_DEVICE void gathered_store_ends(const permute_gathered &shape, const gathered_part &part,
                                   int64_t cols, const char *tile)
{
    const uint32_t all = part.window.cols;
    /* Columns of the output before which nothing is, and behind which nothing is. */
    uint32_t first = 0, before = part.before ? 0 : all, last = 0, behind = part.behind ? 0 : all;
    if (shape.columns != 0) {
        const bool left = part.col == 0, right = part.col + all == cols, on = shape.columns > 0;
        first = on ? 0 : all - right;
        before = on ? left : all;
        last = on ? all - right : 0;
        behind = on ? all : left;
    }
    if (part.first > 0) {
        gathered_store_end<geometry>(shape, part, true, first, before, tile);
    }
    if (part.end <= shape.step + shape.halo) {
        gathered_store_joined<geometry>(shape, part, last > 0 ? 0 : behind, last > 0 ? last : all,
                                        tile);
        gathered_store_end<geometry>(shape, part, false, last, behind, tile);
    }
}

/* ---- the tile of a block --------------------------------------------------------------------- */

template <typename geometry>
GM_DEVICE void gathered_tile_move(const permute_gathered &shape, const transpose_args &walk,
                                  transpose_place at, const transpose_edge &edge, bool before,
                                  bool behind, char *tile)
{
    const uint32_t more = behind || shape.columns != 0 ? geometry::ALIKE - 1 : 0;
    const int64_t row = (int64_t)at.y * shape.step - shape.halo;
    gathered_part part;
    part.col = (int64_t)at.x * shape.width;
    part.window = transpose_window_at<typename geometry::unit>(walk, row, part.col, 0, shape.width);
    part.window.rows = (uint32_t)min(walk.rows - row + more, (int64_t)shape.step + shape.halo);
    part.first = row < 0 ? shape.halo : 0;
    part.end = (uint32_t)min(walk.rows - row, (int64_t)shape.step + shape.halo + 1);
    part.before = before;
    part.behind = behind;
    part.left = shape.columns < 0 ? geometry::SIZE : 0;
    part.in = part.window.in - part.left;
    const bool right = part.col + part.window.cols == walk.cols;
    const uint32_t cols =
        part.window.cols + (shape.columns < 0 || (shape.columns > 0 && !right) ? 1 : 0);

    gm_wait_for_previous();
    if (gathered_is_inside<geometry>(shape, part, edge, cols)) {
        gathered_load<geometry, true>(shape, part, edge, cols, tile);
    } else {
        gathered_load<geometry, false>(shape, part, edge, cols, tile);
    }
    __pipeline_commit();
    gm_pipeline_wait_prior<0>();
    __syncthreads();
    gathered_store<geometry>(shape, part, tile);
    if (shape.halo > 0 || shape.uneven) {
        gathered_store_ends<geometry>(shape, part, walk.cols, tile);
    }
}

#endif
