/*
 * copy: numbers of one dtype as numbers of another, in registers.
 *
 * Kernels load and store words, by the size of an access alone; here is what they become in
 * between. A number is taken as it is, or as an int, an unsigned or a float, if it has fewer bits:
 * conversions from and to 64 bits have a quarter of the throughput. It is rounded or cut once.
 */
#ifndef GPUMEM_COPY_CONVERT_H
#define GPUMEM_COPY_CONVERT_H

#include "copy.h"
#include "half.h"

typedef struct truth {
    uint8_t byte; /* 0 or 1 */
} truth;

typedef struct half_bits {
    uint16_t bits;
} half_bits;

template <typename real_type> struct complex_of {
    real_type re, im;
};

/* ---- taken ----------------------------------------------------------------------------------- */

GM_DEVICE uint32_t value_of(truth loaded)
{
    return loaded.byte != 0;
}

GM_DEVICE float value_of(half_bits loaded)
{
    return gm_float_from_half(loaded.bits);
}

template <typename number> GM_DEVICE number value_of(number loaded)
{
    return loaded;
}

/* ---- made ------------------------------------------------------------------------------------ */

template <typename held> GM_DEVICE held real_of(held value)
{
    return value;
}

template <typename real_type> GM_DEVICE real_type real_of(complex_of<real_type> value)
{
    return value.re;
}

template <typename held> GM_DEVICE int imaginary_of(held)
{
    return 0;
}

template <typename real_type> GM_DEVICE real_type imaginary_of(complex_of<real_type> value)
{
    return value.im;
}

/* An integer's lowest bits. */
template <typename bits, typename integer> GM_DEVICE bits bits_of(integer value)
{
    return (bits)value;
}

/* Those of a float, cut to an integer of 64 bits: one that needs more has no defined result. */
template <typename bits, typename real_type> GM_DEVICE bits bits_of_real(real_type value)
{
    return sizeof(bits) < 8 || value < 0 ? (bits)(int64_t)value : (bits)(uint64_t)value;
}

template <typename bits> GM_DEVICE bits bits_of(float value)
{
    return bits_of_real<bits>(value);
}

template <typename bits> GM_DEVICE bits bits_of(double value)
{
    return bits_of_real<bits>(value);
}

/* As NumPy, which rounds integers to float32 first. */
template <typename number> GM_DEVICE uint16_t half_of(number value)
{
    return gm_half_from_float((float)value);
}

GM_DEVICE uint16_t half_of(double value)
{
    return gm_to_half(value);
}

template <typename bits, typename held> GM_DEVICE void put(bits *to, held value)
{
    *to = bits_of<bits>(real_of(value));
}

template <typename held> GM_DEVICE void put(truth *to, held value)
{
    to->byte = real_of(value) != 0 || imaginary_of(value) != 0;
}

template <typename held> GM_DEVICE void put(half_bits *to, held value)
{
    to->bits = half_of(real_of(value));
}

template <typename held> GM_DEVICE void put(float *to, held value)
{
    *to = (float)real_of(value);
}

template <typename held> GM_DEVICE void put(double *to, held value)
{
    *to = (double)real_of(value);
}

template <typename real_type, typename held>
GM_DEVICE void put(complex_of<real_type> *to, held value)
{
    *to = {(real_type)real_of(value), (real_type)imaginary_of(value)};
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

/* Runs a statement with `type` as what numbers of a dtype are loaded as. */
#define CONVERT_FROM(number, type, ...)                                                            \
    switch (number) {                                                                              \
        CONVERT_CASE(COPY_I8, int8_t, type, __VA_ARGS__)                                           \
        CONVERT_CASE(COPY_U8, uint8_t, type, __VA_ARGS__)                                          \
        CONVERT_CASE(COPY_I16, int16_t, type, __VA_ARGS__)                                         \
        CONVERT_CASE(COPY_U16, uint16_t, type, __VA_ARGS__)                                        \
        CONVERT_CASE(COPY_I32, int32_t, type, __VA_ARGS__)                                         \
        CONVERT_CASE(COPY_U32, uint32_t, type, __VA_ARGS__)                                        \
        CONVERT_CASE(COPY_I64, int64_t, type, __VA_ARGS__)                                         \
        CONVERT_CASE(COPY_U64, uint64_t, type, __VA_ARGS__)                                        \
        CONVERT_OTHERS(type, __VA_ARGS__)                                                          \
    }

/* As what they are stored: the bits of an integer are the same with a sign and without. */
#define CONVERT_TO(number, type, ...)                                                              \
    switch (number) {                                                                              \
    case COPY_I8: CONVERT_CASE(COPY_U8, uint8_t, type, __VA_ARGS__)                                \
    case COPY_I16: CONVERT_CASE(COPY_U16, uint16_t, type, __VA_ARGS__)                             \
    case COPY_I32: CONVERT_CASE(COPY_U32, uint32_t, type, __VA_ARGS__)                             \
    case COPY_I64:                                                                                 \
        CONVERT_CASE(COPY_U64, uint64_t, type, __VA_ARGS__)                                        \
        CONVERT_OTHERS(type, __VA_ARGS__)                                                          \
    }

#define CONVERT_OTHERS(type, ...)                                                                  \
    CONVERT_CASE(COPY_BOOL, truth, type, __VA_ARGS__)                                              \
    CONVERT_CASE(COPY_F16, half_bits, type, __VA_ARGS__)                                           \
    CONVERT_CASE(COPY_F32, float, type, __VA_ARGS__)                                               \
    CONVERT_CASE(COPY_F64, double, type, __VA_ARGS__)                                              \
    CONVERT_CASE(COPY_C64, complex_of<float>, type, __VA_ARGS__)                                   \
    CONVERT_CASE(COPY_C128, complex_of<double>, type, __VA_ARGS__)

#define CONVERT_CASE(number, actual, type, ...)                                                    \
    case number: {                                                                                 \
        typedef actual type;                                                                       \
        __VA_ARGS__;                                                                               \
        break;                                                                                     \
    }

/* ---- registers ------------------------------------------------------------------------------- */

enum {
    CONVERT_VECTORS = 4, /* of a thread at most, */
    CONVERT_WORDS = 4,   /* of 16 bytes at most: one word has what is shorter */
};
typedef uint32_t convert_vectors[CONVERT_VECTORS][CONVERT_WORDS];

/* The words of what is loaded, which may have fewer bits than one. */
template <typename vector> GM_DEVICE void convert_hold(vector bits, uint32_t *words)
{
    if constexpr (sizeof(vector) < 4) {
        words[0] = bits;
    } else {
        memcpy(words, (const void *)&bits, sizeof bits);
    }
}

/* And of what is stored. */
template <typename vector> GM_DEVICE vector convert_bits(const uint32_t *words)
{
    if constexpr (sizeof(vector) < 4) {
        return (vector)words[0];
    } else {
        vector bits;
        memcpy((void *)&bits, words, sizeof bits);
        return bits;
    }
}

/* Number i of a vector. Shifted out of a word: of an array of bytes the compiler keeps each byte in
 * a register. */
template <typename number>
GM_DEVICE number convert_take(const uint32_t (&words)[CONVERT_WORDS], int i)
{
    number taken;
    if constexpr (sizeof(number) < 4) {
        const int bit = i * (int)sizeof(number) * 8;
        const uint32_t bits = words[bit / 32] >> bit % 32;
        memcpy((void *)&taken, &bits, sizeof taken);
    } else {
        memcpy((void *)&taken, &words[i * (int)sizeof(number) / 4], sizeof taken);
    }
    return taken;
}

/* Makes number i of a vector, after those before it. */
template <typename number>
GM_DEVICE void convert_put(uint32_t (&words)[CONVERT_WORDS], int i, number made)
{
    if constexpr (sizeof(number) < 4) {
        const int bit = i * (int)sizeof(number) * 8;
        uint32_t bits = 0;
        memcpy(&bits, (const void *)&made, sizeof made);
        words[bit / 32] = (bit % 32 ? words[bit / 32] : 0) | bits << bit % 32;
    } else {
        memcpy(&words[i * (int)sizeof(number) / 4], (const void *)&made, sizeof made);
    }
}

/* Keeps the compiler from taking words apart before here, where it would do so for all pairs of
 * dtypes, since some need their bytes. */
template <int count> GM_DEVICE void convert_settle(uint32_t (&words)[CONVERT_WORDS])
{
#ifdef __CUDACC__
#pragma unroll
    for (int i = 0; i < count; i++) {
        asm("" : "+r"(words[i]));
    }
#else
    (void)words;
#endif
}

/* `vectors` of `numbers` numbers each. */
template <typename from, typename to, int numbers, int vectors>
GM_DEVICE void convert_words(convert_vectors &in, convert_vectors &out)
{
#pragma unroll
    for (int k = 0; k < vectors; k++) {
        convert_settle<(numbers * (int)sizeof(from) + 3) / 4>(in[k]);
#pragma unroll
        for (int i = 0; i < numbers; i++) {
            to made;
            put(&made, value_of(convert_take<from>(in[k], i)));
            convert_put(out[k], i, made);
        }
    }
}

#endif
