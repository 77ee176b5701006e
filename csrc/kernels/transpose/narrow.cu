/*
 * transpose / narrow: few columns, or few rows.
 *
 * Follows  tile_padded, most of whose lanes have nothing to do where a matrix is narrower than
 *          a tile.
 * Idea     a block takes a run of rows with all of their columns, which is one piece of memory,
 *          in the order of addresses; and writes a run of each column. With few
 *          rows instead of few columns it is the same the other way round.
 * Banks    one side steps through shared memory in strides of the narrow extent. 16 spare
 *          bytes in every 128 keep a stride that is a power of two off a single bank.
 */
#include "flat.h"

enum { SPARE = 16 };

/* The other side: `few` runs of `here` elements. A thread keeps to its places in every run; where
 * a run is shorter than a block, the threads share the runs. */
template <typename unit, bool LOAD>
GM_DEVICE void move_runs(char *piece, flat_padded spare, char *memory, int64_t pitch, unsigned few,
                         unsigned here, unsigned band)
{
    const unsigned size = sizeof(unit);
    const unsigned batch = FLAT_BATCH / size < 8 ? FLAT_BATCH / size : 8;
    const unsigned lanes = min(band, (unsigned)FLAT_THREADS);
    const unsigned step = FLAT_THREADS / lanes;
    unsigned k = threadIdx.x % lanes; /* place in the run */
    unsigned c = threadIdx.x / lanes; /* run */
    char *to = memory + c * pitch + k * size;

    if (c >= few) {
        return;
    }
    while (k < here) {
        unit held[batch];
        unsigned at[batch];
        char *address[batch];
        bool wanted[batch];
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            wanted[i] = k < here;
            at[i] = (k * few + c) * size;
            address[i] = to;
            if (wanted[i]) {
                held[i] = *(const unit *)(LOAD ? to : flat_place(piece, at[i], spare));
            }
            c += step;
            to += step * pitch;
            if (c >= few) { /* its next place; there is none where step > 1 */
                c = 0;
                k += lanes;
                to = memory + k * size;
            }
        }
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            if (wanted[i]) {
                *(unit *)(LOAD ? flat_place(piece, at[i], spare) : address[i]) = held[i];
            }
        }
    }
}

/* Rows with gaps between them are no one piece of memory: from column to row, by and by. */
template <typename unit>
GM_DEVICE void gather_runs(const char *in, int64_t in_pitch, char *out, int64_t out_pitch,
                           unsigned few, unsigned here)
{
    for (unsigned k = threadIdx.x; k < here; k += FLAT_THREADS) {
#pragma unroll 8
        for (unsigned c = 0; c < few; c++) {
            ((unit *)(out + c * out_pitch))[k] = ((const unit *)(in + k * in_pitch))[c];
        }
    }
}

/* `band` rows (or columns) are a block's: a power of two, all of their few elements together at
 * most a piece. The plan says how many. */
template <typename unit, typename flat> GM_DEVICE void narrow(const transpose_args &a, char *piece)
{
    const bool few_columns = a.cols <= a.rows;
    const unsigned few = (unsigned)(few_columns ? a.cols : a.rows);
    const int64_t first = blockIdx.x * a.run;
    const unsigned here = (unsigned)min((few_columns ? a.rows : a.cols) - first, a.run);
    const int64_t run = first * (int64_t)sizeof(unit);
    const int64_t out_pitch = a.rows * (int64_t)sizeof(unit);
    const unsigned bytes = here * few * (unsigned)sizeof(unit);
    /* An odd stride visits every bank without any help. */
    const flat_padded spare = {few * (unsigned)sizeof(unit) % 8 == 4 ? 0 : (unsigned)SPARE};

    gm_wait_for_previous();
    if (!few_columns) {
        move_runs<unit, true>(piece, spare, (char *)a.in + run, a.pitch, few, here,
                              (unsigned)a.run);
        __syncthreads();
        flat_store<flat>(piece, spare, a.out + run * few, bytes);
    } else if (a.pitch == few * (unsigned)sizeof(unit)) {
        flat_load<flat>(piece, spare, a.in + run * few, bytes);
        __syncthreads();
        move_runs<unit, false>(piece, spare, a.out + run, out_pitch, few, here, (unsigned)a.run);
    } else {
        gather_runs<unit>(a.in + first * a.pitch, a.pitch, a.out + run, out_pitch, few, here);
    }
}

GM_KERNEL_BOUNDED(transpose_narrow, transpose_args, FLAT_THREADS, 5)
{
    enum { BYTES = TRANSPOSE_PIECE / 2 };
    __shared__ __align__(16) char piece[BYTES + BYTES / FLAT_LINE * SPARE];
    const bool whole = ((uintptr_t)(a.cols <= a.rows ? a.in : a.out) & 15) == 0;
    switch (a.itemsize * 2 + whole) {
    case 2: narrow<uint8_t, uint8_t>(a, piece); break;
    case 3: narrow<uint8_t, uint4>(a, piece); break;
    case 4: narrow<uint16_t, uint16_t>(a, piece); break;
    case 5: narrow<uint16_t, uint4>(a, piece); break;
    case 8: narrow<uint32_t, uint32_t>(a, piece); break;
    case 9: narrow<uint32_t, uint4>(a, piece); break;
    case 16: narrow<uint64_t, uint64_t>(a, piece); break;
    case 17: narrow<uint64_t, uint4>(a, piece); break;
    case 33: narrow<uint4, uint4>(a, piece); break;
    }
}
