/*
 * copy / convert: numbers of one dtype become numbers of another; any layout in, any layout out.
 *
 * Idea     not a kernel for each pair of dtypes: what is loaded becomes an int64, a uint64, a
 * double or two of them, which hold every number of the dtypes that they stand for, and it is
 *          rounded or cut once, when it is stored. All threads take the same branches.
 */
#include "copy.h"
#include "half.h"
#include "places.h"

typedef struct truth {
    uint8_t byte; /* 0 or 1 */
} truth;

typedef struct half_bits {
    uint16_t bits;
} half_bits;

template <typename real> struct complex_of {
    real re, im;
};
typedef complex_of<double> wide_complex;

/* ---- loaded ---------------------------------------------------------------------------------- */

template <typename number> GM_DEVICE number value_of(number loaded)
{
    return loaded;
}

GM_DEVICE uint64_t value_of(truth loaded)
{
    return loaded.byte != 0;
}

GM_DEVICE double value_of(half_bits loaded)
{
    return gm_from_half(loaded.bits);
}

GM_DEVICE wide_complex value_of(complex_of<float> loaded)
{
    return {loaded.re, loaded.im};
}

template <typename from, typename wide>
GM_DEVICE void load(const copy_convert_args &a, int64_t first, const copy_places<int64_t> &at,
                    wide *held)
{
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a.sides, first, k)) {
            held[k] = (wide)value_of(*(const from *)(a.sides.in + at.from[k]));
        }
    }
}

/* ---- stored ---------------------------------------------------------------------------------- */

template <typename wide> GM_DEVICE wide real_of(wide value)
{
    return value;
}

GM_DEVICE double real_of(wide_complex value)
{
    return value.re;
}

template <typename wide> GM_DEVICE double imaginary_of(wide)
{
    return 0;
}

GM_DEVICE double imaginary_of(wide_complex value)
{
    return value.im;
}

/* The 64 bits of an integer, of which narrower integers are the lowest. What does not fit into them
 * has no defined result. */
template <typename integer> GM_DEVICE uint64_t bits_of(integer value)
{
    return (uint64_t)value;
}

GM_DEVICE uint64_t bits_of(double value)
{
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* As NumPy, which rounds integers to float32 first. */
template <typename integer> GM_DEVICE uint16_t half_of(integer value)
{
    return gm_to_half((float)value);
}

GM_DEVICE uint16_t half_of(double value)
{
    return gm_to_half(value);
}

template <typename bits, typename wide> GM_DEVICE void put(bits *to, wide value)
{
    *to = (bits)bits_of(real_of(value));
}

template <typename wide> GM_DEVICE void put(truth *to, wide value)
{
    to->byte = real_of(value) != 0 || imaginary_of(value) != 0;
}

template <typename wide> GM_DEVICE void put(half_bits *to, wide value)
{
    to->bits = half_of(real_of(value));
}

template <typename wide> GM_DEVICE void put(float *to, wide value)
{
    *to = (float)real_of(value);
}

template <typename wide> GM_DEVICE void put(double *to, wide value)
{
    *to = (double)real_of(value);
}

template <typename real, typename wide> GM_DEVICE void put(complex_of<real> *to, wide value)
{
    *to = {(real)real_of(value), (real)imaginary_of(value)};
}

template <typename to, typename wide>
GM_DEVICE void store(const copy_convert_args &a, int64_t first, const copy_places<int64_t> &at,
                     const wide *held)
{
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a.sides, first, k)) {
            put((to *)(a.sides.out + at.to[k]), held[k]);
        }
    }
}

template <typename wide>
GM_DEVICE void store_all(const copy_convert_args &a, int64_t first, const copy_places<int64_t> &at,
                         const wide *held)
{
    switch (a.to) {
    case COPY_BOOL: store<truth>(a, first, at, held); break;
    case COPY_I8:
    case COPY_U8: store<uint8_t>(a, first, at, held); break;
    case COPY_I16:
    case COPY_U16: store<uint16_t>(a, first, at, held); break;
    case COPY_I32:
    case COPY_U32: store<uint32_t>(a, first, at, held); break;
    case COPY_I64:
    case COPY_U64: store<uint64_t>(a, first, at, held); break;
    case COPY_F16: store<half_bits>(a, first, at, held); break;
    case COPY_F32: store<float>(a, first, at, held); break;
    case COPY_F64: store<double>(a, first, at, held); break;
    case COPY_C64: store<complex_of<float>>(a, first, at, held); break;
    case COPY_C128: store<wide_complex>(a, first, at, held); break;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

#define FROM(number, type)                                                                         \
    case COPY_##number: load<type>(a, first, at, held); break

GM_DEVICE void convert_signed(const copy_convert_args &a, int64_t first,
                              const copy_places<int64_t> &at)
{
    int64_t held[COPY_STEPS];
    switch (a.from) {
        FROM(I8, int8_t);
        FROM(I16, int16_t);
        FROM(I32, int32_t);
        FROM(I64, int64_t);
    }
    store_all(a, first, at, held);
}

GM_DEVICE void convert_unsigned(const copy_convert_args &a, int64_t first,
                                const copy_places<int64_t> &at)
{
    uint64_t held[COPY_STEPS];
    switch (a.from) {
        FROM(BOOL, truth);
        FROM(U8, uint8_t);
        FROM(U16, uint16_t);
        FROM(U32, uint32_t);
        FROM(U64, uint64_t);
    }
    store_all(a, first, at, held);
}

GM_DEVICE void convert_real(const copy_convert_args &a, int64_t first,
                            const copy_places<int64_t> &at)
{
    double held[COPY_STEPS];
    switch (a.from) {
        FROM(F16, half_bits);
        FROM(F32, float);
        FROM(F64, double);
    }
    store_all(a, first, at, held);
}

GM_DEVICE void convert_complex(const copy_convert_args &a, int64_t first,
                               const copy_places<int64_t> &at)
{
    wide_complex held[COPY_STEPS];
    switch (a.from) {
        FROM(C64, complex_of<float>);
        FROM(C128, wide_complex);
    }
    store_all(a, first, at, held);
}

GM_KERNEL(copy_convert, copy_convert_args)
{
    for (int64_t first = copy_first(); first < a.sides.units; first += copy_stride()) {
        const copy_places<int64_t> at = copy_find_far_places(a.sides, first);
        switch (a.from) {
        case COPY_I8:
        case COPY_I16:
        case COPY_I32:
        case COPY_I64: convert_signed(a, first, at); break;
        case COPY_F16:
        case COPY_F32:
        case COPY_F64: convert_real(a, first, at); break;
        case COPY_C64:
        case COPY_C128: convert_complex(a, first, at); break;
        default: convert_unsigned(a, first, at);
        }
    }
}
