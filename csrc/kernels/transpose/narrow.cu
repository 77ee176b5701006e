/*
 * transpose / narrow: few columns, or few rows.
 *
 * Follows  tile_padded, most of whose lanes have nothing to do where a matrix is narrower than
 *          a tile.
 * Idea     a block takes a run of rows with all of their columns, which is one piece of memory,
 *          in the order of addresses; and writes a run of each column. With few
 *          rows instead of few columns it is the same the other way round.
 * Sectors  runs of the output begin anywhere. A warp writes whole sectors of them all the same:
 *          what its lanes would have before the run, they have at its end.
 * Banks    one side steps through shared memory in strides of the narrow extent. Where that is
 *          even, a spare element in every 128 bytes gives nearly every lane a bank of its own.
 */
#include "linear_tile.h"

enum { NARROW_WARPS = FLAT_THREADS / 32 };

/* The side that is runs of elements, as a thread sees it. */
typedef struct narrow_side {
    char *memory;  /* where the first run begins */
    int64_t pitch; /* bytes from a run to the next */
    unsigned few;  /* how many there are */
    unsigned run;  /* elements of each */
    unsigned warp, lane;
} narrow_side;

/* A warp's elements, from number `first` on, of COUNT runs, from number c on; STEPS times as many
 * are in flight together. */
template <typename unit, int COUNT, int STEPS, typename place>
GM_DEVICE void narrow_load(const narrow_side &side, unsigned c, unsigned first, char *piece,
                           place how)
{
    const unsigned size = sizeof(unit);
    const char *const run = side.memory + c * side.pitch;

#pragma unroll 1
    for (unsigned from = first; from < side.run; from += STEPS * FLAT_THREADS) {
        unit held[STEPS][COUNT] = {}; /* see flat_load */

#pragma unroll
        for (unsigned j = 0; j < STEPS; j++) {
            const unsigned k = from + j * FLAT_THREADS;
            const char *memory = run + k * size;
            if (k < side.run) {
#pragma unroll
                for (unsigned i = 0; i < COUNT; i++) {
                    held[j][i] = flat_fetch<unit>(memory);
                    memory += side.pitch;
                }
            }
        }
#pragma unroll
        for (unsigned j = 0; j < STEPS; j++) {
            const unsigned k = from + j * FLAT_THREADS;
            if (k < side.run) {
#pragma unroll
                for (unsigned i = 0; i < COUNT; i++) {
                    *(unit *)flat_place(piece, (k * side.few + c + i) * size, how) = held[j][i];
                }
            }
        }
    }
}

/* The same for a count, at most MOST, that is known when it runs. */
template <typename unit, int MOST, typename place>
GM_DEVICE void narrow_load_some(const narrow_side &side, unsigned c, unsigned count, unsigned first,
                                char *piece, place how)
{
    const int all = FLAT_BATCH / (int)sizeof(unit) / MOST, steps = all < 8 ? all : 8;
    if (count == MOST) {
        narrow_load<unit, MOST, steps>(side, c, first, piece, how);
    } else if constexpr (MOST > 1) {
        narrow_load_some<unit, MOST - 1>(side, c, count, first, piece, how);
    }
}

template <typename unit, typename place>
GM_DEVICE void narrow_store(const narrow_side &side, unsigned c, unsigned count, unsigned first,
                            char *piece, place how)
{
    const unsigned size = sizeof(unit);
    /* Runs of so few elements may begin and end in one sector. */
    const unsigned sector = side.run < TRANSPOSE_SECTOR ? 1 : TRANSPOSE_SECTOR;

#pragma unroll 1
    for (unsigned from = first; from < side.run; from += FLAT_THREADS) {
        char *memory = side.memory + c * side.pitch;
#pragma unroll 4
        for (unsigned i = 0; i < count; i++) {
            const unsigned k = from - ((unsigned)(uintptr_t)memory & (sector - 1)) / size;
            const unsigned r = min(k, k + side.run); /* less than none is a large number */
            *(unit *)(memory + r * size) =
                *(const unit *)flat_place(piece, (r * side.few + c + i) * size, how);
            memory += side.pitch;
        }
    }
}

/* All runs, in turns of about as many. The warp that begins a turn is the one after the last. */
template <typename unit, bool LOAD, typename place>
GM_DEVICE void narrow_runs(const narrow_side &side, char *piece, place how)
{
    const int MOST = sizeof(unit) < 4 ? 1 : 32 / sizeof(unit);
    const unsigned warps = (side.run + 31) / 32;
    unsigned c = 0, warp = side.warp;

    for (unsigned turns = (side.few + MOST - 1) / MOST; turns > 0; turns--) {
        const unsigned count = (side.few - c + turns - 1) / turns, first = warp * 32 + side.lane;
        if constexpr (LOAD) {
            narrow_load_some<unit, MOST>(side, c, count, first, piece, how);
        } else {
            narrow_store<unit>(side, c, count, first, piece, how);
        }
        warp = (warp - warps) % NARROW_WARPS;
        c += count;
    }
}

/* `a.run` rows (or columns) are a block's, all of their few elements together at most a piece. The
 * plan says how many. */
template <typename unit, typename place>
GM_DEVICE void narrow(const transpose_args &a, char *piece, place how, bool whole)
{
    const unsigned size = sizeof(unit);
    const bool few_columns = a.cols <= a.rows;
    const int64_t first = blockIdx.x * a.run;
    narrow_side side;

    side.few = (unsigned)(few_columns ? a.cols : a.rows);
    side.run = (unsigned)min((few_columns ? a.rows : a.cols) - first, a.run);
    side.memory = (few_columns ? a.out : (char *)a.in) + first * size;
    side.pitch = few_columns ? a.rows * (int64_t)size : a.pitch;
    side.warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); /* the same in all lanes */
    side.lane = threadIdx.x % 32;
    const char *in = a.in + first * side.few * size;
    char *out = a.out + first * side.few * size;
    const unsigned bytes = side.run * side.few * size;

    if (!few_columns) {
        narrow_runs<unit, true>(side, piece, how);
        __syncthreads();
        if (whole) {
            flat_store<uint4>(piece, how, out, bytes);
        } else {
            flat_store<unit>(piece, how, out, bytes);
        }
        return;
    }
    if (whole) {
        flat_load<uint4>(piece, how, in, bytes);
    } else {
        flat_load<unit>(piece, how, in, bytes);
    }
    __syncthreads();
    narrow_runs<unit, false>(side, piece, how);
}

/* Rows with gaps between them are no one piece of memory: from column to row, by and by. */
template <typename unit> GM_DEVICE void narrow_gather(const transpose_args &a)
{
    const int64_t first = blockIdx.x * a.run, pitch = a.rows * (int64_t)sizeof(unit);
    const unsigned few = (unsigned)a.cols, here = (unsigned)min(a.rows - first, a.run);

    for (unsigned k = threadIdx.x; k < here; k += FLAT_THREADS) {
        const unit *in = (const unit *)(a.in + (first + k) * a.pitch);
        char *out = a.out + (first + k) * sizeof(unit);
#pragma unroll 8
        for (unsigned c = 0; c < few; c++) {
            *(unit *)(out + c * pitch) = in[c];
        }
    }
}

template <typename unit> GM_DEVICE void narrow_of(const transpose_args &a, char *piece)
{
    const int SPARE = sizeof(unit) < 4 ? 4 : sizeof(unit);
    const bool few_columns = a.cols <= a.rows;
    const int64_t few = few_columns ? a.cols : a.rows;
    const bool whole = (uintptr_t)(few_columns ? a.in : a.out) % 16 == 0;

    gm_wait_for_previous();
    if (few_columns && a.pitch != few * (int64_t)sizeof(unit)) {
        narrow_gather<unit>(a);
    } else if (sizeof(unit) >= 4 && few % 2 == 1) {
        narrow<unit>(a, piece, flat_spaced<0>{}, whole);
    } else {
        narrow<unit>(a, piece, flat_spaced<SPARE>{}, whole);
    }
}

GM_KERNEL_BOUNDED(transpose_narrow, transpose_args, FLAT_THREADS, 6)
{
    enum { BYTES = TRANSPOSE_PIECE / 2 };
    __shared__ __align__(16) char piece[BYTES + BYTES / FLAT_LINE * sizeof(uint4)];
    switch (a.itemsize) {
    case 1: narrow_of<uint8_t>(a, piece); break;
    case 2: narrow_of<uint16_t>(a, piece); break;
    case 4: narrow_of<uint32_t>(a, piece); break;
    case 8: narrow_of<uint64_t>(a, piece); break;
    case 16: narrow_of<uint4>(a, piece); break;
    }
}
