/* Vector types: loaded and stored in one access. */
#ifndef GPUMEM_CUDA_VECTORS_H
#define GPUMEM_CUDA_VECTORS_H

#include "sim/cuda/language.h"

template <typename type, int count> struct gm_members;
template <typename type> struct gm_members<type, 1> {
    type x;
};
template <typename type> struct gm_members<type, 2> {
    type x, y;
};
template <typename type> struct gm_members<type, 4> {
    type x, y, z, w;
};

template <typename type, int count>
struct __attribute__((aligned(sizeof(type) * count))) gm_vector : gm_members<type, count> {
    typedef type whole_type __attribute__((vector_size(sizeof(type) * count),
                                           aligned(sizeof(type) * count), may_alias));

    /* constexpr, so that __shared__ arrays need no code to initialise them: GCC would keep a flag
     * beside them that says whether the code has run. */
    constexpr gm_vector() : gm_members<type, count>()
    {
    }
    __forceinline__ gm_vector(const gm_vector &other)
    {
        *this = other;
    }
    __forceinline__ gm_vector &operator=(const gm_vector &other)
    {
        whole_type whole = *reinterpret_cast<const whole_type *>(&other);
        GM_WHOLE(whole);
        *reinterpret_cast<whole_type *>(this) = whole;
        return *this;
    }
};

#define GM_VECTOR_TYPES(name, type)                                                                \
    typedef gm_vector<type, 1> name##1;                                                            \
    typedef gm_vector<type, 2> name##2;                                                            \
    typedef gm_vector<type, 4> name##4;                                                            \
    static inline name##2 make_##name##2(type x, type y)                                           \
    {                                                                                              \
        name##2 made;                                                                              \
        made.x = x, made.y = y;                                                                    \
        return made;                                                                               \
    }                                                                                              \
    static inline name##4 make_##name##4(type x, type y, type z, type w)                           \
    {                                                                                              \
        name##4 made;                                                                              \
        made.x = x, made.y = y, made.z = z, made.w = w;                                            \
        return made;                                                                               \
    }

GM_VECTOR_TYPES(char, signed char)
GM_VECTOR_TYPES(uchar, unsigned char)
GM_VECTOR_TYPES(short, short)
GM_VECTOR_TYPES(ushort, unsigned short)
GM_VECTOR_TYPES(int, int)
GM_VECTOR_TYPES(uint, unsigned)
GM_VECTOR_TYPES(float, float)

typedef gm_vector<long long, 2> longlong2;
typedef gm_vector<unsigned long long, 2> ulonglong2;
typedef gm_vector<double, 2> double2;

static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    ulonglong2 made;
    made.x = x;
    made.y = y;
    return made;
}

static inline double2 make_double2(double x, double y)
{
    double2 made;
    made.x = x, made.y = y;
    return made;
}

#endif
