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
#include "transpose.h"

enum {
    THREADS = 256,
    BATCH = 64,    /* bytes in flight per thread */
    PIECE = 16384, /* bytes of a block's piece, at most */
    LINE = 128,    /* bytes of shared memory from one spare piece to the next, */
    SPARE = 16,    /* and the bytes of that */
};

/* Where byte `at` of the piece is kept. */
GM_DEVICE char *kept(char *piece, unsigned at, unsigned spare)
{
    return piece + at + at / LINE * spare;
}

/* One side: `bytes` of memory that follow one another, in units of their own. */
template <typename flat>
GM_DEVICE void load_flat(char *piece, unsigned spare, const char *in, unsigned bytes)
{
    const unsigned size = sizeof(flat);
    const unsigned batch = BATCH / size < 8 ? BATCH / size : 8;
    for (unsigned base = threadIdx.x * size; base < bytes; base += batch * THREADS * size) {
        flat held[batch];
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * THREADS * size;
            if (at < bytes) {
                held[i] = *(const flat *)(in + at);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * THREADS * size;
            if (at < bytes) {
                *(flat *)kept(piece, at, spare) = held[i];
            }
        }
    }
}

template <typename flat>
GM_DEVICE void store_flat(char *piece, unsigned spare, char *out, unsigned bytes)
{
    const unsigned size = sizeof(flat);
#pragma unroll 4
    for (unsigned at = threadIdx.x * size; at < bytes; at += THREADS * size) {
        *(flat *)(out + at) = *(const flat *)kept(piece, at, spare);
    }
}

/* The other side: `few` runs of `here` elements. A thread keeps to its places in every run; where
 * a run is shorter than a block, the threads share the runs. */
template <typename unit, bool LOAD>
GM_DEVICE void move_runs(char *piece, unsigned spare, char *memory, int64_t pitch, unsigned few,
                         unsigned here, unsigned band)
{
    const unsigned size = sizeof(unit);
    const unsigned batch = BATCH / size < 8 ? BATCH / size : 8;
    const unsigned lanes = min(band, (unsigned)THREADS);
    const unsigned step = THREADS / lanes;
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
                held[i] = *(const unit *)(LOAD ? to : kept(piece, at[i], spare));
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
                *(unit *)(LOAD ? kept(piece, at[i], spare) : address[i]) = held[i];
            }
        }
    }
}

/* Rows with gaps between them are no one piece of memory: from column to row, by and by. */
template <typename unit>
GM_DEVICE void gather_runs(const char *in, int64_t in_pitch, char *out, int64_t out_pitch,
                           unsigned few, unsigned here)
{
    for (unsigned k = threadIdx.x; k < here; k += THREADS) {
#pragma unroll 8
        for (unsigned c = 0; c < few; c++) {
            ((unit *)(out + c * out_pitch))[k] = ((const unit *)(in + k * in_pitch))[c];
        }
    }
}

/* `band` rows (or columns) are a block's: a power of two, all of their few elements together at
 * most PIECE bytes. The plan says how many. */
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
    const unsigned spare = few * (unsigned)sizeof(unit) % 8 == 4 ? 0 : SPARE;
    const unsigned whole = bytes - bytes % (unsigned)sizeof(flat);

    gm_wait_for_previous();
    if (!few_columns) {
        move_runs<unit, true>(piece, spare, (char *)a.in + run, a.pitch, few, here,
                              (unsigned)a.run);
        __syncthreads();
        store_flat<flat>(piece, spare, a.out + run * few, whole);
        for (unsigned at = whole + threadIdx.x; at < bytes; at += THREADS) {
            a.out[run * few + at] = *kept(piece, at, spare);
        }
    } else if (a.pitch == few * (unsigned)sizeof(unit)) {
        load_flat<flat>(piece, spare, a.in + run * few, whole);
        for (unsigned at = whole + threadIdx.x; at < bytes; at += THREADS) {
            *kept(piece, at, spare) = a.in[run * few + at];
        }
        __syncthreads();
        move_runs<unit, false>(piece, spare, a.out + run, out_pitch, few, here, (unsigned)a.run);
    } else {
        gather_runs<unit>(a.in + first * a.pitch, a.pitch, a.out + run, out_pitch, few, here);
    }
}

GM_KERNEL_BOUNDED(transpose_narrow, transpose_args, THREADS, 5)
{
    __shared__ __align__(16) char piece[PIECE + PIECE / LINE * SPARE];
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
