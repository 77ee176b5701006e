/*
 * copy / convert_flat: numbers of one dtype become numbers of another, side by side in both arrays.
 *
 * Follows  convert, which looks for the place of every number, and loads and stores it alone.
 * Idea     a vector is 16 bytes of the wider dtype, and as many numbers of the narrower:
 *
 *              uint8     |a b c d|e f g h|             4 bytes of a lane, 128 of a warp
 *              float32   |a      |b      |c      |d      |e      |...   16 bytes, 512
 *
 *          Three steps, each with a branch that all threads take: words are loaded by the size of
 *          an access, converted by the pair of dtypes, and stored by the size of an access. All
 *          loads of a thread are in flight before the first conversion.
 * Shifted  an input that is not aligned where the result is, such as a[1:]: a vector of it is the
 *          end of one aligned vector and the beginning of the next. The second load finds in the L1
 *          what another lane's first one brought.
 * Ends     numbers before the first vector and after the last, which the last block converts one
 *          by one.
 * Limit    memory. An H200 moves 18.6 bytes a cycle and multiprocessor: 9.3 numbers if both dtypes
 *          have one byte, and fewer of any others. In a cycle it makes 16 conversions from or to 64
 *          bits, and 128 instructions of a lane, 14 for each of those 9.3 numbers.
 * Machine  LDG.E.128 to LDG.E.U8, F2FP, I2F, F2I, STG.E.128 to STG.E.U8, UBLKPF
 */
#include "convert.h"
#include "join.h"
#include "stream.h"

enum {
    THREADS = COPY_FLAT_THREADS,
    BLOCKS = 6, /* of a multiprocessor, for 40 registers: 48 KiB in flight */
};

/* ---- vectors of the input -------------------------------------------------------------------- */

template <typename vector> GM_DEVICE vector flat_load(const vector *from)
{
    if constexpr (sizeof(vector) >= 4) {
        return gm_load_kept(from);
    } else {
        return __ldca(from);
    }
}

/* The vector that begins `shift` bytes after `low` does, which `high` follows; `shift` is not 0. */
GM_DEVICE uint8_t flat_join(uint8_t low, uint8_t, uint32_t)
{
    return low;
}

GM_DEVICE uint16_t flat_join(uint16_t low, uint16_t high, uint32_t)
{
    return (uint16_t)(low >> 8 | high << 8);
}

GM_DEVICE uint32_t flat_join(uint32_t low, uint32_t high, uint32_t shift)
{
    return __byte_perm(low, high, 0x3210 + shift * 0x1111);
}

GM_DEVICE uint2 flat_join(uint2 low, uint2 high, uint32_t shift)
{
    const bool word = shift >= 4;
    return make_uint2(flat_join(word ? low.y : low.x, word ? high.x : low.y, shift % 4),
                      flat_join(word ? high.x : low.y, word ? high.y : high.x, shift % 4));
}

GM_DEVICE uint4 flat_join(uint4 low, uint4 high, uint32_t shift)
{
    return gm_join(low, high, shift);
}

/* The vectors of a thread, which are a block apart. From its first one on, the tile has `left`. */
template <typename vector, int vectors>
GM_DEVICE void flat_load_vectors(const copy_flat_args &a, int64_t tile, int left,
                                 convert_vectors &held)
{
    const int64_t size = sizeof(vector);
    const vector *in = (const vector *)a.in + tile + threadIdx.x;
    vector low[vectors], high[vectors];

    stream_prefetch((const char *)((uintptr_t)a.in & ~(uintptr_t)15), tile * size,
                    a.vectors * size);
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        if (k * THREADS < left) {
            low[k] = flat_load(&in[k * THREADS]);
        }
    }
    if (a.shift > 0) {
#pragma unroll
        for (int k = 0; k < vectors; k++) {
            if (k * THREADS < left) {
                high[k] = flat_load(&in[k * THREADS + 1]);
            }
        }
#pragma unroll
        for (int k = 0; k < vectors; k++) {
            low[k] = flat_join(low[k], high[k], (uint32_t)a.shift);
        }
    }
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        convert_hold(low[k], held[k]);
    }
}

GM_DEVICE void flat_load_all(const copy_flat_args &a, int64_t tile, int left, convert_vectors &held)
{
    switch (a.from_bytes * a.vector) {
    case 1: flat_load_vectors<uint8_t, COPY_FLAT_SHORT>(a, tile, left, held); break;
    case 2: flat_load_vectors<uint16_t, COPY_FLAT_SHORT>(a, tile, left, held); break;
    case 4: flat_load_vectors<uint32_t, COPY_FLAT_SHORT>(a, tile, left, held); break;
    case 8: flat_load_vectors<uint2, COPY_FLAT_SHORT>(a, tile, left, held); break;
    case 16: flat_load_vectors<uint4, COPY_FLAT_LONG>(a, tile, left, held); break;
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

template <typename from, typename to>
GM_DEVICE void flat_convert(convert_vectors &held, convert_vectors &made)
{
    enum {
        WIDER = sizeof(from) > sizeof(to) ? sizeof(from) : sizeof(to),
        NUMBERS = 16 / WIDER,
        VECTORS = NUMBERS * sizeof(from) == 16 ? COPY_FLAT_LONG : COPY_FLAT_SHORT,
    };
    convert_words<from, to, NUMBERS, VECTORS>(held, made);
}

template <typename from>
GM_DEVICE void flat_convert_from(int number, convert_vectors &held, convert_vectors &made)
{
    CONVERT_TO(number, to, flat_convert<from, to>(held, made))
}

/* ---- vectors of the result ------------------------------------------------------------------- */

template <typename vector, int vectors>
GM_DEVICE void flat_store_vectors(const copy_flat_args &a, int64_t tile, int left,
                                  const convert_vectors &made)
{
    vector *out = (vector *)a.out + tile + threadIdx.x;
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        if (k * THREADS < left) {
            out[k * THREADS] = convert_bits<vector>(made[k]);
        }
    }
}

GM_DEVICE void flat_store_all(const copy_flat_args &a, int64_t tile, int left,
                              const convert_vectors &made)
{
    if (a.from_bytes * a.vector < 16) {
        flat_store_vectors<uint4, COPY_FLAT_SHORT>(a, tile, left, made);
        return;
    }
    switch (a.to_bytes * a.vector) {
    case 1: flat_store_vectors<uint8_t, COPY_FLAT_LONG>(a, tile, left, made); break;
    case 2: flat_store_vectors<uint16_t, COPY_FLAT_LONG>(a, tile, left, made); break;
    case 4: flat_store_vectors<uint32_t, COPY_FLAT_LONG>(a, tile, left, made); break;
    case 8: flat_store_vectors<uint2, COPY_FLAT_LONG>(a, tile, left, made); break;
    case 16: flat_store_vectors<uint4, COPY_FLAT_LONG>(a, tile, left, made); break;
    }
}

/* ---- single numbers -------------------------------------------------------------------------- */

/* The number of a thread of the last block, counted from the first vector's on. */
GM_DEVICE int64_t flat_number(const copy_flat_args &a)
{
    const int64_t i = threadIdx.x - a.head;
    return i < 0 ? i : i + a.vectors * a.vector;
}

/* By words: complex numbers are aligned as their parts are. */
GM_DEVICE void flat_load_number(const char *from, int bytes, uint32_t (&words)[CONVERT_WORDS])
{
    switch (bytes) {
    case 1: words[0] = *(const uint8_t *)from; break;
    case 2: words[0] = *(const uint16_t *)from; break;
    default:
#pragma unroll
        for (int i = 0; i < CONVERT_WORDS; i++) {
            if (4 * i < bytes) {
                words[i] = ((const uint32_t *)from)[i];
            }
        }
    }
}

GM_DEVICE void flat_store_number(char *to, int bytes, const uint32_t (&words)[CONVERT_WORDS])
{
    switch (bytes) {
    case 1: *(uint8_t *)to = (uint8_t)words[0]; break;
    case 2: *(uint16_t *)to = (uint16_t)words[0]; break;
    default:
#pragma unroll
        for (int i = 0; i < CONVERT_WORDS; i++) {
            if (4 * i < bytes) {
                ((uint32_t *)to)[i] = words[i];
            }
        }
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The grid has a block for each tile, and one more if there are ends. */
GM_KERNEL_BOUNDED(copy_convert_flat, copy_flat_args, THREADS, BLOCKS)
{
    const int size = THREADS * (a.from_bytes * a.vector == 16 ? COPY_FLAT_LONG : COPY_FLAT_SHORT);
    const int64_t tile = (int64_t)blockIdx.x * size;
    const int left = (blockIdx.x + 1 == a.tiles ? a.last : size) - (int)threadIdx.x;
    const bool ends = blockIdx.x == a.tiles;
    convert_vectors held, made;

    gm_wait_for_previous();
    if (ends) {
        if (flat_number(a) >= a.end) {
            return;
        }
        flat_load_number(a.in + a.shift + flat_number(a) * a.from_bytes, a.from_bytes, held[0]);
    } else {
        if (left <= 0) {
            return;
        }
        flat_load_all(a, tile, left, held);
    }
    CONVERT_FROM(a.from, from, flat_convert_from<from>(a.to, held, made))
    if (ends) {
        flat_store_number(a.out + flat_number(a) * a.to_bytes, a.to_bytes, made[0]);
    } else {
        flat_store_all(a, tile, left, made);
    }
}
