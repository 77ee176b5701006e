/*
 * A tile of rows and columns that are along several axes each: rows along the innermost axes of the
 * result, which follow each other there, columns along those of the input.
 *
 *      line l of the input      ...|- - - - - - -|- - - - - - -|- - - - - - -|...   16-byte vectors
 *                                     ^ over       the tile's columns   ^
 *      in shared memory            |- - - - - - -|- - - - - - -|- - - - - - -|      the same bytes
 *
 *      column c in the result      .    |#############|#############|######.        sectors
 *                                       ^ its first sector in this tile
 *
 * lines   Units that are side by side on both sides, such as the channels of a pixel, are `run`
 *         rows of a line, in which these alternate. Otherwise each row has a line of its own, and
 *         `run` is 1.
 * tables  say where each line is in the input, where each row is in shared memory, and where each
 *         column is in the result: a block works them out, before it may read what the previous
 *         kernel wrote.
 * load    copies the vectors in which a line's part begins and ends, and those between, without a
 *         register. A line in shared memory begins as far from a vector as in memory (`over`).
 * store   A thread has a vector of the result: N rows of one column. It looks up where these are
 *         only if the column begins elsewhere in a sector than its last one. Columns along one axis
 *         begin alike every SECTOR of them; those along several are sorted by that, if need be.
 * banks   Every N lines, if they are one lane's rows, shared memory has a gap of a vector. So the
 *         lanes of eight neighbouring vectors read from different vectors of the banks. Those of
 *         other columns read other words: see permute_columns_apart; or they gather their words in
 *         another order (`turn`). For lines of several rows, plan_banks.c chooses gaps and columns.
 * ends    A tile stores whole sectors, the first of each column is the one that begins in its rows
 *         (HALO of them are the tile's before). The sector in which a column ends and the next one
 *         begins is stored by the tile that has the end: it loads the first rows once more, where
 *         that one has them. Only where there is none, or a gap before it, are ends stored unit by
 *         unit.
 */
#ifndef GPUMEM_PERMUTE_JOINED_TILE_H
#define GPUMEM_PERMUTE_JOINED_TILE_H

#include "atomics.h"
#include "gather.h"
#include "lines.h"
#include "permute.h"

/* Units of a type. Eight lanes store neighbouring vectors, and others those of other columns. */
template <typename type> struct joined_tile {
    typedef type unit;
    enum {
        SIZE = sizeof(unit),
        N = 16 / SIZE,                    /* units of a vector, rows of a lane */
        SECTOR = TRANSPOSE_SECTOR / SIZE, /* units */
        LANES = JOINED_LANES,
        LOG_BESIDE = 2,                    /* four columns of a warp at a time, */
        TOGETHER = JOINED_THREADS / LANES, /* and those of a block */
    };
    static_assert(TOGETHER % SECTOR == 0, "a thread's columns may begin alike");
};

/* What a tile has of a matrix. */
typedef struct joined_part {
    const char *in;      /* of the matrix, at the tile's first column */
    char *out;           /* of the matrix, at the tile's first row, beyond which HALO are others' */
    int64_t row;         /* of the matrix, with which the tile begins, */
    uint32_t line;       /* and the line in which that is: below 0 where the row is */
    uint32_t rows, cols; /* of the tile; rows behind the matrix are of what follows it */
    uint32_t first, end; /* rows of the tile with which the matrix begins and ends */
    int64_t *offsets;    /* of lines, from `in` on */
    uint32_t *places;    /* of rows, in shared memory: see joined_entry */
    uint32_t *counts;    /* of columns that begin alike, and */
    uint16_t *order;     /* all by that */
    int64_t *columns;    /* four times where they are from `out` on, and bits: */
    char *tile;
} joined_part;

enum {
    JOINED_BEFORE = 1, /* what is before the column in the result is another one of the matrix */
    JOINED_BEHIND = 2  /* and what is behind it */
};

/* Tables have a gap behind every 16 rows: lanes that are as far apart read different banks. */
GM_DEVICE uint32_t joined_entry(uint32_t r)
{
    return r + r / 16;
}

/* From a column to the next in a line. */
template <typename geometry> GM_DEVICE uint32_t joined_across(const permute_joined_args &a)
{
    return a.run.by * geometry::SIZE;
}

template <typename geometry>
GM_DEVICE typename geometry::unit joined_unit(const permute_joined_args &a, const joined_part &part,
                                              uint32_t r, uint32_t c)
{
    return *(const typename geometry::unit *)(part.tile + part.places[joined_entry(r)] +
                                              c * joined_across<geometry>(a));
}

/* Row of the tile with which the first sector begins in a column of the result. */
template <typename geometry> GM_DEVICE uint32_t joined_begin(const char *column)
{
    return permute_to_sector<typename geometry::unit>(column);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* From the first index of a side's axes to number `rest`. */
GM_DEVICE int64_t joined_offset(const permute_joined_side &side, uint32_t rest)
{
    int64_t offset = 0;
    for (int d = 0; d < side.ndim - 1; d++) {
        offset += permute_take(&rest, side.extent[d]) * side.stride[d];
    }
    return offset + rest * side.stride[side.ndim - 1];
}

/* What is told of column number `column` of a matrix. */
GM_DEVICE uint32_t joined_bits(const permute_joined_args &a, uint32_t matrix, uint32_t column)
{
    if (a.next == 0) {
        return 0;
    }
    uint32_t rest = permute_divide(a.next_is_column ? column : matrix, a.next_inner);
    const uint32_t at = permute_take(&rest, a.next_extent);
    const uint32_t low = at > 0, high = at + 1 < a.next_extent.by;
    return a.next > 0 ? low * JOINED_BEFORE + high * JOINED_BEHIND
                      : high * JOINED_BEFORE + low * JOINED_BEHIND;
}

/* Returns whether all vectors of the tile are in the input's memory. */
template <typename geometry>
GM_DEVICE bool joined_find(const permute_joined_args &a, uint32_t matrix, uint32_t column,
                           const joined_part &part)
{
    const uint32_t bytes = part.cols * joined_across<geometry>(a);
    bool inside = true;
    for (uint32_t r = part.first + threadIdx.x; r < part.rows; r += JOINED_THREADS) {
        const bool behind = r >= part.end;
        uint32_t line = (uint32_t)part.row + r - (behind ? a.rows : 0);
        const uint32_t in_line = permute_take(&line, a.run);
        const int64_t offset = joined_offset(a.line, line) + (behind ? a.jump : 0);
        const char *at = part.in + offset;
        line += (behind ? a.lines : 0) - part.line;
        if (in_line == 0 || r == part.first) {
            part.offsets[line] = offset;
        }
        part.places[joined_entry(r)] = (line * a.vectors.by + (line >> a.gap)) * 16 +
                                       ((uint32_t)(uintptr_t)at & 15) + in_line * geometry::SIZE;
        inside = inside && at - 15 >= a.begin && at + bytes + 15 <= a.end;
    }
    for (uint32_t c = threadIdx.x; c < part.cols; c += JOINED_THREADS) {
        const int64_t offset = joined_offset(a.col, column + c);
        part.columns[c] = offset * 4 + joined_bits(a, matrix, column + c);
    }
    return __syncthreads_and(inside) != 0;
}

/* Do all columns of a thread begin alike in sectors? Those along one axis do. */
template <typename geometry>
GM_DEVICE bool joined_is_alike(const permute_joined_args &a, const joined_part &part)
{
    bool alike = true;
    if (a.col.ndim == 1) {
        return true;
    }
    for (uint32_t c = threadIdx.x; c + geometry::TOGETHER < part.cols; c += JOINED_THREADS) {
        const int64_t here = part.columns[c] >> 2, next = part.columns[c + geometry::TOGETHER] >> 2;
        alike = alike && (next - here) % TRANSPOSE_SECTOR == 0;
    }
    return __syncthreads_and(alike) != 0;
}

/* The order of columns by where they begin in sectors. */
template <typename geometry> GM_DEVICE void joined_sort(const joined_part &part)
{
    const bool counts = threadIdx.x < geometry::SECTOR;
    uint32_t before = 0;
    if (counts) {
        part.counts[threadIdx.x] = 0;
    }
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < part.cols; c += JOINED_THREADS) {
        atomicAdd(part.counts + joined_begin<geometry>(part.out + (part.columns[c] >> 2)), 1u);
    }
    __syncthreads();
    for (uint32_t i = 0; counts && i < threadIdx.x; i++) {
        before += part.counts[i];
    }
    __syncthreads();
    if (counts) {
        part.counts[threadIdx.x] = before;
    }
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < part.cols; c += JOINED_THREADS) {
        const uint32_t begin = joined_begin<geometry>(part.out + (part.columns[c] >> 2));
        part.order[atomicAdd(part.counts + begin, 1u)] = (uint16_t)c;
    }
    __syncthreads();
}

/* ---- load ------------------------------------------------------------------------------------ */

template <typename geometry, bool INSIDE>
GM_DEVICE void joined_load(const permute_joined_args &a, const joined_part &part)
{
    const uint32_t bytes = part.cols * joined_across<geometry>(a);
    const uint32_t lines =
        permute_divide((uint32_t)part.row + part.rows - 1, a.run) - part.line + 1;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < lines * a.vectors.by; i += JOINED_THREADS) {
        const uint32_t l = permute_divide(i, a.vectors), v = i - l * a.vectors.by;
        const char *line = part.in + part.offsets[l];
        const uint32_t over = (uint32_t)(uintptr_t)line & 15;
        if ((int32_t)(part.line + l) >= 0 && v * 16 < over + bytes) {
            const char *from = line - over + v * 16;
            char *to = part.tile + (i + (l >> a.gap)) * 16;
            if (INSIDE || (from >= a.begin && from + 16 <= a.end)) {
                gm_copy_async_kept_line(to, from);
            } else {
                permute_load_bytes(a.begin, a.end, from, to);
            }
        }
    }
}

/* ---- store ----------------------------------------------------------------------------------- */

/* The places of N rows from r on. Where lanes of different columns would read the same banks, each
 * column's begin with another word of the vector. */
template <typename geometry>
GM_DEVICE void joined_look_up(const joined_part &part, uint32_t r, uint32_t left, uint32_t turn,
                              uint32_t (&place)[geometry::N])
{
#pragma unroll
    for (uint32_t i = 0; i < geometry::N; i++) {
        place[i] = part.places[joined_entry(r + (i + turn) % geometry::N)] + left;
    }
}

/* Words that begin with number `turn`, from the first one on. */
GM_DEVICE uint4 joined_turn_back(uint4 words, uint32_t turn)
{
    if (turn & 1) {
        words = make_uint4(words.w, words.x, words.y, words.z);
    }
    if (turn & 2) {
        words = make_uint4(words.z, words.w, words.x, words.y);
    }
    return words;
}

/* Is a thread's vector of whole sectors of the matrix? It begins with row r of the tile. */
template <typename geometry>
GM_DEVICE bool joined_is_whole(const joined_part &part, uint32_t r, uint32_t v)
{
    const uint32_t sector = r - v % 2 * geometry::N;
    return sector >= part.first && sector + geometry::SECTOR <= part.end;
}

/* Sectors of which the matrix has all, if a thread's columns begin alike in sectors. SINGLE: they
 * are along one axis. TURNED: see joined_look_up. */
template <typename geometry, bool SINGLE, bool TURNED>
GM_DEVICE void joined_store_alike(const permute_joined_args &a, const joined_part &part)
{
    enum { N = geometry::N };
    const uint32_t set = threadIdx.x / 32, beside = threadIdx.x % 32 / geometry::LANES;
    const uint32_t col = (set >> a.apart << (a.apart + geometry::LOG_BESIDE)) +
                         (set & ((1u << a.apart) - 1)) + (beside << a.apart);
    const uint32_t turn = TURNED ? beside : 0;
    const int64_t across = a.col.stride[0] * geometry::TOGETHER;

    if (col >= part.cols) {
        return;
    }
    const uint32_t begin = joined_begin<geometry>(part.out + (part.columns[col] >> 2));
#pragma unroll 1
    for (uint32_t v = threadIdx.x % geometry::LANES; v < a.step / N; v += geometry::LANES) {
        const uint32_t r = begin + N * v;
        if (joined_is_whole<geometry>(part, r, v)) {
            uint32_t place[N];
            joined_look_up<geometry>(part, r, col * joined_across<geometry>(a), turn * (N / 4),
                                     place);
            const char *from = part.tile;
            char *out = part.out + r * geometry::SIZE, *to = out + (part.columns[col] >> 2);
#pragma unroll 2
            for (uint32_t c = col; c < part.cols; c += geometry::TOGETHER) {
                const uint4 vector = permute_gather(from, place);
                if (!SINGLE) {
                    to = out + (part.columns[c] >> 2);
                }
                *(uint4 *)to = TURNED ? joined_turn_back(vector, turn) : vector;
                to += across;
                from += geometry::TOGETHER * joined_across<geometry>(a);
            }
        }
    }
}

/* The same of columns in the order of where they begin in sectors: as many for each eight lanes. */
template <typename geometry>
GM_DEVICE void joined_store_sorted(const permute_joined_args &a, const joined_part &part)
{
    enum { N = geometry::N };
    const uint32_t each = (part.cols + geometry::TOGETHER - 1) / geometry::TOGETHER;
    const uint32_t first = threadIdx.x / geometry::LANES * each, end = min(first + each, part.cols);

#pragma unroll 1
    for (uint32_t v = threadIdx.x % geometry::LANES; v < a.step / N; v += geometry::LANES) {
        uint32_t known = geometry::SECTOR, r = 0, place[N]; /* none begins there */
        bool whole = false;
#pragma unroll 1
        for (uint32_t i = first; i < end; i++) {
            const uint32_t c = part.order[i];
            char *column = part.out + (part.columns[c] >> 2);
            const uint32_t begin = joined_begin<geometry>(column);
            if (begin != known) {
                known = begin;
                r = begin + N * v;
                whole = joined_is_whole<geometry>(part, r, v);
                if (whole) {
                    joined_look_up<geometry>(part, r, 0, 0, place);
                }
            }
            if (whole) {
                *(uint4 *)(column + r * geometry::SIZE) =
                    permute_gather(part.tile + c * joined_across<geometry>(a), place);
            }
        }
    }
}

template <typename geometry>
GM_DEVICE void joined_store(const permute_joined_args &a, const joined_part &part, bool alike)
{
    if (!alike) {
        joined_store_sorted<geometry>(a, part);
    } else if (geometry::SIZE == 1 && a.turned) {
        joined_store_alike<geometry, false, geometry::SIZE == 1>(a, part);
    } else if (a.col.ndim > 1) {
        joined_store_alike<geometry, false, false>(a, part);
    } else {
        joined_store_alike<geometry, true, false>(a, part);
    }
}

/* The sectors in which columns end and the next ones begin. */
template <typename geometry>
GM_DEVICE void joined_store_behind(const permute_joined_args &a, const joined_part &part)
{
    enum { N = geometry::N, EACH = geometry::SECTOR / N /* threads */ };
    for (uint32_t c = threadIdx.x / EACH; c < part.cols; c += JOINED_THREADS / EACH) {
        const int64_t entry = part.columns[c];
        char *column = part.out + (entry >> 2);
        const uint32_t own = joined_begin<geometry>(column);
        const uint32_t over = (part.end - own) % geometry::SECTOR;
        const uint32_t r = part.end - over + threadIdx.x % EACH * N;
        if (entry & JOINED_BEHIND && over > 0 && part.end > own && part.end - over < own + a.step) {
            typename geometry::unit units[N];
#pragma unroll
            for (uint32_t j = 0; j < N; j++) {
                units[j] = joined_unit<geometry>(a, part, r + j, c);
            }
            uint4 vector;
            memcpy((void *)&vector, units, sizeof vector);
            *(uint4 *)(column + r * geometry::SIZE) = vector;
        }
    }
}

/* What a column has of a sector in which nothing else is stored: where it begins, or where it ends.
 * A lane for each unit. */
template <typename geometry>
GM_DEVICE void joined_store_end(const permute_joined_args &a, const joined_part &part, bool begin,
                                uint32_t c)
{
    enum { SECTOR = geometry::SECTOR };
    const uint32_t lane = threadIdx.x % 32;
    char *column = part.out + (part.columns[c] >> 2);
    const uint32_t own = joined_begin<geometry>(column);
    const uint32_t head = part.first + (own - part.first) % SECTOR; /* its first whole sector */
    const uint32_t tail = part.end - (part.end - own) % SECTOR;     /* behind its last one */
    const bool ends = part.end > own && tail >= max(own, head) && tail < own + a.step;
    const uint32_t r = (begin ? part.first : tail) + lane;
    if (lane < SECTOR && r < part.end && (begin ? r < head : ends)) {
        *(typename geometry::unit *)(column + r * geometry::SIZE) =
            joined_unit<geometry>(a, part, r, c);
    }
}

/* A warp has every eighth column, and finds those that need it at a glance. */
template <typename geometry>
GM_DEVICE void joined_store_ends(const permute_joined_args &a, const joined_part &part, bool begin)
{
    enum { WARPS = JOINED_THREADS / 32 };
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (uint32_t first = warp; first < part.cols; first += 32 * WARPS) {
        const uint32_t c = first + WARPS * lane;
        const bool alone =
            c < part.cols && !(part.columns[c] & (begin ? JOINED_BEFORE : JOINED_BEHIND));
        for (uint32_t left = __ballot_sync(0xffffffffu, alone); left != 0; left &= left - 1) {
            joined_store_end<geometry>(a, part, begin,
                                       first + WARPS * (uint32_t)(__ffs((int)left) - 1));
        }
    }
}

/* ---- the tile of a block --------------------------------------------------------------------- */

template <typename geometry>
GM_DEVICE void joined_tile_move(const permute_joined_args &a, const permute_spot &at, char *memory)
{
    const uint32_t more = a.next != 0 ? geometry::SECTOR - 1 : 0, most = a.step + a.halo;
    const uint32_t column = at.x * a.width;
    const int64_t row = (int64_t)at.y * a.step - a.halo;
    joined_part part;
    part.in = a.in + (int64_t)column * joined_across<geometry>(a);
    part.out = a.out;
    permute_move_to(a.grid.outer, at.index, &part.in, &part.out);
    part.out += row * geometry::SIZE;
    part.row = row;
    part.line = permute_divide((uint32_t)(row + a.halo * a.run.by), a.run) - a.halo;
    part.rows = (uint32_t)min((int64_t)a.rows - row + more, (int64_t)most);
    part.cols = min(a.cols - column, a.width);
    part.first = row < 0 ? a.halo : 0;
    part.end = (uint32_t)min((int64_t)a.rows - row, (int64_t)most + 1);
    part.offsets = (int64_t *)memory;
    part.columns = part.offsets + a.most;
    part.counts = (uint32_t *)(part.columns + a.width);
    part.order = (uint16_t *)(part.counts + geometry::SECTOR);
    part.places = (uint32_t *)(part.order + a.width);
    part.tile = memory + a.tables;

    const bool inside = joined_find<geometry>(a, at.index, column, part);
    const bool alike = joined_is_alike<geometry>(a, part);
    if (!alike) {
        joined_sort<geometry>(part);
    }
    gm_wait_for_previous();
    if (inside) {
        joined_load<geometry, true>(a, part);
    } else {
        joined_load<geometry, false>(a, part);
    }
    __pipeline_commit();
    gm_pipeline_wait_prior<0>();
    __syncthreads();
    joined_store<geometry>(a, part, alike);
    if (a.halo > 0 || a.uneven) {
        if (part.first > 0) {
            joined_store_ends<geometry>(a, part, true);
        }
        if (part.end <= most) {
            joined_store_behind<geometry>(a, part);
            joined_store_ends<geometry>(a, part, false);
        }
    }
}

#endif
