/*
 * Vector types. They have CUDA's sizes and alignments, are written in braces as CUDA's are, and are
 * loaded and stored as on a device: whole, in accesses of up to 16 bytes, but those of three
 * members one by one.
 */
#ifndef GPUMEM_CUDA_VECTORS_H
#define GPUMEM_CUDA_VECTORS_H

#include "sim/cuda/language.h"

/* Makes {1} a vector, as it is of an aggregate, while 1 does not become one by itself. */
template <typename type> struct gm_first {
    type value;

    constexpr gm_first(type value) : value(value)
    {
    }
};

/* A pointer, which the literal 0 is: makes {0} an array of vectors, or a struct that begins with
 * one, as it does of aggregates. */
struct gm_literal_zero;

/* Members that are about to be copied. */
struct gm_unset {};

template <typename type, int count> struct gm_members;
template <typename type> struct gm_members<type, 1> {
    type x;

    gm_members() = default;
    constexpr gm_members(gm_literal_zero *) : x()
    {
    }
    __forceinline__ gm_members(gm_unset)
    {
    }
    constexpr gm_members(gm_first<type> first) : x(first.value)
    {
    }
};
template <typename type> struct gm_members<type, 2> {
    type x, y;

    gm_members() = default;
    constexpr gm_members(gm_literal_zero *) : x(), y()
    {
    }
    __forceinline__ gm_members(gm_unset)
    {
    }
    constexpr gm_members(gm_first<type> first) : x(first.value), y()
    {
    }
    constexpr gm_members(type x, type y) : x(x), y(y)
    {
    }
};
template <typename type> struct gm_members<type, 3> {
    type x, y, z;

    gm_members() = default;
    constexpr gm_members(gm_literal_zero *) : x(), y(), z()
    {
    }
    __forceinline__ gm_members(gm_unset)
    {
    }
    constexpr gm_members(gm_first<type> first) : x(first.value), y(), z()
    {
    }
    constexpr gm_members(type x, type y, type z = type()) : x(x), y(y), z(z)
    {
    }
};
template <typename type> struct gm_members<type, 4> {
    type x, y, z, w;

    gm_members() = default;
    constexpr gm_members(gm_literal_zero *) : x(), y(), z(), w()
    {
    }
    __forceinline__ gm_members(gm_unset)
    {
    }
    constexpr gm_members(gm_first<type> first) : x(first.value), y(), z(), w()
    {
    }
    constexpr gm_members(type x, type y, type z = type(), type w = type()) : x(x), y(y), z(z), w(w)
    {
    }
};

/* No code may run by default: unions hold vectors. In gpumem's own kernels unions do not, and a
 * __shared__ array of vectors has no initialiser: GCC would keep a flag beside it that says whether
 * the code has run, unless that code is constexpr. */
#ifdef GM_USER_MODULE
#define GM_DEFAULT_VECTOR(type, count) gm_vector() = default
#else
#define GM_DEFAULT_VECTOR(type, count)                                                             \
    constexpr gm_vector() : gm_members<type, count>()                                              \
    {                                                                                              \
    }
#endif

/* unit is what the members are for the host compiler, which has vectors of plain numbers only. */
template <typename type, int count, int alignment = sizeof(type) * count, typename unit = type>
struct __attribute__((aligned(alignment))) gm_vector : gm_members<type, count> {
    static constexpr int access_bytes = sizeof(type) * count < 16 ? sizeof(type) * count : 16;
    static constexpr int accesses = sizeof(type) * count / access_bytes;
    typedef unit whole_type
        __attribute__((vector_size(access_bytes), aligned(access_bytes), may_alias));

    GM_DEFAULT_VECTOR(type, count);
    using gm_members<type, count>::gm_members;
    __forceinline__ gm_vector(const gm_vector &other) : gm_members<type, count>(gm_unset())
    {
        *this = other;
    }
    __forceinline__ gm_vector &operator=(const gm_vector &other)
    {
        for (int i = 0; i < accesses; i++) {
            whole_type whole = reinterpret_cast<const whole_type *>(&other)[i];
            GM_WHOLE(whole);
            reinterpret_cast<whole_type *>(this)[i] = whole;
        }
        return *this;
    }
};

template <typename type, int alignment, typename unit>
struct __attribute__((aligned(alignment)))
gm_vector<type, 3, alignment, unit> : gm_members<type, 3> {
    GM_DEFAULT_VECTOR(type, 3);
    using gm_members<type, 3>::gm_members;
    __forceinline__ gm_vector(const gm_vector &other) : gm_members<type, 3>(gm_unset())
    {
        *this = other;
    }
    __forceinline__ gm_vector &operator=(const gm_vector &other)
    {
        this->x = other.x;
        this->y = other.y;
        this->z = other.z;
        return *this;
    }
};

/* A vector as a member of a union that is copied: C++ copies no union whose members say themselves
 * how that is done. gpumem/cuda_c/unions.py writes it for vectors there. Its address is that of a
 * vector. */
template <typename type, int count>
gm_members<type, count> gm_members_of(const gm_members<type, count> &);
template <typename vector>
using gm_members_in = decltype(gm_members_of(*static_cast<const vector *>(nullptr)));

template <typename vector>
struct __attribute__((aligned(alignof(vector)))) gm_in_union : gm_members_in<vector> {
    typedef gm_members_in<vector> members;

    gm_in_union() = default;
    using members::members;
    __forceinline__ gm_in_union(const vector &other)
    {
        *&*this = other;
    }
    __forceinline__ gm_in_union &operator=(const vector &other)
    {
        *&*this = other;
        return *this;
    }
    __forceinline__ vector *operator&()
    {
        return reinterpret_cast<vector *>(this);
    }
    __forceinline__ const vector *operator&() const
    {
        return reinterpret_cast<const vector *>(this);
    }
    __forceinline__ operator vector &()
    {
        return *&*this;
    }
    __forceinline__ operator const vector &() const
    {
        return *&*this;
    }
};

#define GM_VECTOR_TYPES_1_2(name, type)                                                            \
    typedef gm_vector<type, 1> name##1;                                                            \
    typedef gm_vector<type, 2> name##2;                                                            \
    static inline name##1 make_##name##1(type x)                                                   \
    {                                                                                              \
        return {x};                                                                                \
    }                                                                                              \
    static inline name##2 make_##name##2(type x, type y)                                           \
    {                                                                                              \
        return {x, y};                                                                             \
    }
#define GM_VECTOR_TYPE_3(name, type)                                                               \
    typedef gm_vector<type, 3, sizeof(type)> name##3;                                              \
    static inline name##3 make_##name##3(type x, type y, type z)                                   \
    {                                                                                              \
        return {x, y, z};                                                                          \
    }
#define GM_VECTOR_TYPE_4(name, type, alignment)                                                    \
    typedef gm_vector<type, 4, alignment> name;                                                    \
    static inline name make_##name(type x, type y, type z, type w)                                 \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
#define GM_VECTOR_TYPES(name, type)                                                                \
    GM_VECTOR_TYPES_1_2(name, type)                                                                \
    GM_VECTOR_TYPE_3(name, type)                                                                   \
    GM_VECTOR_TYPE_4(name##4, type, sizeof(type) * 4)
/* Four members of 8 bytes: names with 16a and 32a say how they are aligned. */
#define GM_LONG_VECTOR_TYPES(name, type)                                                           \
    GM_VECTOR_TYPES_1_2(name, type)                                                                \
    GM_VECTOR_TYPE_3(name, type)                                                                   \
    GM_VECTOR_TYPE_4(name##4, type, 16)                                                            \
    typedef name##4 name##4_16a;                                                                   \
    static inline name##4_16a make_##name##4_16a(type x, type y, type z, type w)                   \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }                                                                                              \
    GM_VECTOR_TYPE_4(name##4_32a, type, 32)

GM_VECTOR_TYPES(char, signed char)
GM_VECTOR_TYPES(uchar, unsigned char)
GM_VECTOR_TYPES(short, short)
GM_VECTOR_TYPES(ushort, unsigned short)
GM_VECTOR_TYPES(int, int)
GM_VECTOR_TYPES(float, float)
GM_LONG_VECTOR_TYPES(long, long)
GM_LONG_VECTOR_TYPES(ulong, unsigned long)
GM_LONG_VECTOR_TYPES(longlong, long long)
GM_LONG_VECTOR_TYPES(ulonglong, unsigned long long)
GM_LONG_VECTOR_TYPES(double, double)

GM_VECTOR_TYPES_1_2(uint, unsigned)
GM_VECTOR_TYPE_4(uint4, unsigned, 16)

/* threadIdx and its like are gm_index, as C has it, and become one of these. */
struct uint3 : gm_vector<unsigned, 3, sizeof(unsigned)> {
    uint3() = default;
    using gm_vector::gm_vector;
    constexpr uint3(const gm_index &from) : gm_vector(from.x, from.y, from.z)
    {
    }
};

static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z)
{
    return {x, y, z};
}

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
    constexpr dim3(const gm_index &from) : x(from.x), y(from.y), z(from.z)
    {
    }
    constexpr dim3(const uint3 &from) : x(from.x), y(from.y), z(from.z)
    {
    }
    constexpr operator uint3() const
    {
        return {x, y, z};
    }
};

#endif
