/* Loads and stores with a cache hint: the same access without one. */
#ifndef GPUMEM_CUDA_LOADS_H
#define GPUMEM_CUDA_LOADS_H

#include "sim/cuda/language.h"

#define GM_LOAD(name)                                                                              \
    template <typename type> static __forceinline__ type name(const type *address)                 \
    {                                                                                              \
        return *address;                                                                           \
    }

/* The address alone tells the type: a value of another one is converted. */
template <typename type> struct gm_stored {
    typedef type value;
};

#define GM_STORE(name)                                                                             \
    template <typename type>                                                                       \
    static __forceinline__ void name(type *address, typename gm_stored<type>::value value)         \
    {                                                                                              \
        *address = value;                                                                          \
    }

GM_LOAD(__ldg)
GM_LOAD(__ldca)
GM_LOAD(__ldcg)
GM_LOAD(__ldcs)
GM_LOAD(__ldlu)
GM_LOAD(__ldcv)
GM_STORE(__stwb)
GM_STORE(__stcg)
GM_STORE(__stcs)
GM_STORE(__stwt)

#endif
