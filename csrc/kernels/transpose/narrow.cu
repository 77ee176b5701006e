/*
 * transpose / narrow: few columns, or few rows.
 *
 * Follows  tile_padded, most of whose lanes have nothing to do where a matrix is narrower than
 *          a tile.
 * Idea     a block has one linear tile, and on the other side a strip of each column:
 *
 *              input, few columns       linear tile              output
 *              +---+---+---+                                     +---+---+---+---+-- -
 *              | a | e | i |            a e i b f j c g k ...    | a | b | c | d |       strip 0
 *              | b | f | j |   --->     (linear_tile.h)   --->   | e | f | g | h |       strip 1
 *              | c | g | k |                                     | i | j | k | l |       strip 2
 *              +---+---+---+                                     +---+---+---+---+-- -
 *
 *          With few rows it is the same from right to left: strips are loaded, the tile is stored.
 * thread   on the side of the strips an element of each of COUNT strips at a time.
 * warp     32 neighbours in each of these strips. Warps take turns over the strips.
 * Sectors  strips of the output begin anywhere. A warp stores whole sectors all the same: lanes
 *          whose elements would be before the strip have those at its end.
 * Banks    lanes on the side of the strips are a row of the tile apart. Where that is an even
 *          number of elements, a spare element in every 128 bytes gives nearly every lane its own
 *          bank.
 */
#include "linear_tile.h"

enum { NARROW_WARPS = LINEAR_THREADS / 32 };

/* The strips of a block, and the thread that asks. */
typedef struct narrow_strips {
    char *memory;    /* where the first one begins */
    int64_t pitch;   /* bytes from one to the next */
    unsigned count;  /* few: as many as the narrow side has */
    unsigned length; /* elements of each */
    unsigned warp, lane;
} narrow_strips;

/* ---- strips -------------------------------------------------------------------------------- */

/* To the tile: the elements of a lane, from number `first` on, of COUNT strips, from number c on;
 * STEPS times as many are in flight together. */
template <typename unit, int COUNT, int STEPS, typename type>
GM_DEVICE void narrow_load(const narrow_strips &side, unsigned c, unsigned first, char *tile,
                           type layout)
{
    const unsigned size = sizeof(unit);
    const char *const strip = side.memory + c * side.pitch;

#pragma unroll 1
    for (unsigned from = first; from < side.length; from += STEPS * LINEAR_THREADS) {
        unit held[STEPS][COUNT] = {}; /* see linear_load */

#pragma unroll
        for (unsigned j = 0; j < STEPS; j++) {
            const unsigned k = from + j * LINEAR_THREADS;
            const char *memory = strip + k * size;
            if (k < side.length) {
#pragma unroll
                for (unsigned i = 0; i < COUNT; i++) {
                    held[j][i] = linear_fetch<unit>(memory);
                    memory += side.pitch;
                }
            }
        }
#pragma unroll
        for (unsigned j = 0; j < STEPS; j++) {
            const unsigned k = from + j * LINEAR_THREADS;
            if (k < side.length) {
#pragma unroll
                for (unsigned i = 0; i < COUNT; i++) {
                    *(unit *)linear_place(tile, (k * side.count + c + i) * size, layout) =
                        held[j][i];
                }
            }
        }
    }
}

/* The same for a count that is known at run time, at most MOST. */
template <typename unit, int MOST, typename type>
GM_DEVICE void narrow_load_some(const narrow_strips &side, unsigned c, unsigned count,
                                unsigned first, char *tile, type layout)
{
    const int all = LINEAR_BATCH / (int)sizeof(unit) / MOST, steps = all < 8 ? all : 8;
    if (count == MOST) {
        narrow_load<unit, MOST, steps>(side, c, first, tile, layout);
    } else if constexpr (MOST > 1) {
        narrow_load_some<unit, MOST - 1>(side, c, count, first, tile, layout);
    }
}

/* From the tile. */
template <typename unit, typename type>
GM_DEVICE void narrow_store(const narrow_strips &side, unsigned c, unsigned count, unsigned first,
                            char *tile, type layout)
{
    const unsigned size = sizeof(unit);
    /* Strips of so few elements may begin and end in one sector. */
    const unsigned sector = side.length < TRANSPOSE_SECTOR ? 1 : TRANSPOSE_SECTOR;

#pragma unroll 1
    for (unsigned from = first; from < side.length; from += LINEAR_THREADS) {
        char *memory = side.memory + c * side.pitch;
#pragma unroll 4
        for (unsigned i = 0; i < count; i++) {
            const unsigned k = from - ((unsigned)(uintptr_t)memory & (sector - 1)) / size;
            const unsigned r = min(k, k + side.length); /* k below 0 is a large number */
            *(unit *)(memory + r * size) =
                *(const unit *)linear_place(tile, (r * side.count + c + i) * size, layout);
            memory += side.pitch;
        }
    }
}

/* All strips, in turns of about as many; a turn begins with the warp after the last one of the turn
 * before. */
template <typename unit, bool LOAD, typename type>
GM_DEVICE void narrow_move_strips(const narrow_strips &side, char *tile, type layout)
{
    const int MOST = sizeof(unit) < 4 ? 1 : 32 / sizeof(unit);
    const unsigned warps = (side.length + 31) / 32;
    unsigned c = 0, warp = side.warp;

    for (unsigned turns = (side.count + MOST - 1) / MOST; turns > 0; turns--) {
        const unsigned count = (side.count - c + turns - 1) / turns, first = warp * 32 + side.lane;
        if constexpr (LOAD) {
            narrow_load_some<unit, MOST>(side, c, count, first, tile, layout);
        } else {
            narrow_store<unit>(side, c, count, first, tile, layout);
        }
        warp = (warp - warps) % NARROW_WARPS;
        c += count;
    }
}

/* ---- the tile of a block ------------------------------------------------------------------- */

/* `a.strip` rows, or columns, with all of their few elements; `whole`: the linear side is aligned
 * to vectors. */
template <typename unit, bool COLUMNS, typename type>
GM_DEVICE void narrow(const transpose_args &a, char *tile, type layout, bool whole)
{
    const unsigned size = sizeof(unit);
    const int64_t first = blockIdx.x * a.strip;
    narrow_strips side;

    side.count = (unsigned)(COLUMNS ? a.cols : a.rows);
    side.length = (unsigned)min((COLUMNS ? a.rows : a.cols) - first, a.strip);
    side.memory = (COLUMNS ? a.out : (char *)a.in) + first * size;
    side.pitch = COLUMNS ? a.rows * (int64_t)size : a.pitch;
    side.warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); /* the same in all lanes */
    side.lane = threadIdx.x % 32;
    char *const linear = (COLUMNS ? (char *)a.in : a.out) + first * side.count * size;
    const unsigned bytes = side.length * side.count * size;

    if constexpr (COLUMNS) {
        if (whole) {
            linear_load<uint4>(tile, layout, linear, bytes);
        } else {
            linear_load<unit>(tile, layout, linear, bytes);
        }
        __syncthreads();
        narrow_move_strips<unit, false>(side, tile, layout);
    } else {
        narrow_move_strips<unit, true>(side, tile, layout);
        __syncthreads();
        if (whole) {
            linear_store<uint4>(tile, layout, linear, bytes);
        } else {
            linear_store<unit>(tile, layout, linear, bytes);
        }
    }
}

/* Padded rows: transposed element by element. */
template <typename unit> GM_DEVICE void narrow_gather(const transpose_args &a)
{
    const int64_t first = blockIdx.x * a.strip, pitch = a.rows * (int64_t)sizeof(unit);
    const unsigned few = (unsigned)a.cols, here = (unsigned)min(a.rows - first, a.strip);

    for (unsigned k = threadIdx.x; k < here; k += LINEAR_THREADS) {
        const unit *in = (const unit *)(a.in + (first + k) * a.pitch);
        char *out = a.out + (first + k) * sizeof(unit);
#pragma unroll 8
        for (unsigned c = 0; c < few; c++) {
            *(unit *)(out + c * pitch) = in[c];
        }
    }
}

template <typename unit, bool COLUMNS> GM_DEVICE void narrow_of(const transpose_args &a)
{
    enum { BYTES = LINEAR_BYTES / 2 };
    __shared__ __align__(16) char tile[BYTES + BYTES / LINEAR_LINE * sizeof(uint4)];
    const int SPARE = sizeof(unit) < 4 ? 4 : sizeof(unit);
    const int64_t few = COLUMNS ? a.cols : a.rows;
    const bool whole = (uintptr_t)(COLUMNS ? a.in : a.out) % 16 == 0;

    gm_wait_for_previous();
    if (COLUMNS && a.pitch != few * (int64_t)sizeof(unit)) {
        narrow_gather<unit>(a);
    } else if (sizeof(unit) >= 4 && few % 2 == 1) {
        narrow<unit, COLUMNS>(a, tile, linear_padded<0>{}, whole);
    } else {
        narrow<unit, COLUMNS>(a, tile, linear_padded<SPARE>{}, whole);
    }
}

/* A kernel for each size of elements and each side: one with all of them is so long that calls wait
 * for its instructions. */
#define WAY(name, unit, COLUMNS)                                                                   \
    GM_KERNEL_BOUNDED(transpose_narrow_##name, transpose_args, LINEAR_THREADS, 6)                  \
    {                                                                                              \
        narrow_of<unit, COLUMNS>(a);                                                               \
    }

GM_KERNEL_BOUNDED(transpose_narrow, transpose_args, LINEAR_THREADS, 6)
{
    narrow_of<uint8_t, true>(a);
}

WAY(b16, uint16_t, true)
WAY(b32, uint32_t, true)
WAY(b64, uint64_t, true)
WAY(b128, uint4, true)
WAY(b8_rows, uint8_t, false)
WAY(b16_rows, uint16_t, false)
WAY(b32_rows, uint32_t, false)
WAY(b64_rows, uint64_t, false)
WAY(b128_rows, uint4, false)
