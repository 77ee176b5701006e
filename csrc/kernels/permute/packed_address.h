/*
 * packed: addresses, in few instructions.
 *
 * On chip an address is a number of 32 bits with the base of shared memory in it, so that sums of
 * places need no instruction for the base. A pointer that comes out of shared memory may be into
 * any memory, for all that the compiler knows: those of places are into the device's.
 */
#ifndef GPUMEM_PERMUTE_PACKED_ADDRESS_H
#define GPUMEM_PERMUTE_PACKED_ADDRESS_H

#include "device.h"

#ifdef __CUDACC__
typedef uint32_t packed_address;

GM_DEVICE packed_address packed_address_of(const void *shared)
{
    return gm_shared_address(shared);
}

template <typename type> GM_DEVICE type *packed_pointer(packed_address at)
{
    return (type *)__cvta_shared_to_generic(at);
}
#else
typedef uintptr_t packed_address; /* the simulator has shared memory in the host's */

GM_DEVICE packed_address packed_address_of(const void *shared)
{
    return (packed_address)shared;
}

template <typename type> GM_DEVICE type *packed_pointer(packed_address at)
{
    return (type *)at;
}
#endif

template <typename type> GM_DEVICE type packed_read(packed_address at)
{
    return *packed_pointer<const type>(at);
}

/* The number is kept in a register, not worked out anew where it is used. */
template <typename number> GM_DEVICE void packed_settle(number &at)
{
#ifdef __CUDACC__
    asm("" : "+r"(at));
#else
    (void)at;
#endif
}

/* The words are there before what follows: their loads are not put off to where one is stored. */
template <int N> GM_DEVICE void packed_settle_words(uint32_t (&words)[N])
{
#ifdef __CUDACC__
#pragma unroll
    for (int j = 0; j < N; j++) {
        asm volatile("" : "+r"(words[j]));
    }
#else
    (void)words;
#endif
}

/* gm_settle, of a pointer into the device's memory. */
template <typename type> GM_DEVICE void packed_settle_global(type *&pointer)
{
    gm_settle(pointer);
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(pointer));
#endif
}

#endif
