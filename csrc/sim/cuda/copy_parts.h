/* How asynchronous copies of any size are made of copies of 4, 8 or 16 bytes. */
#ifndef GPUMEM_CUDA_COPY_PARTS_H
#define GPUMEM_CUDA_COPY_PARTS_H

#include "sim/cuda/calls.h"

namespace cuda {

/* A size, and the alignment of it and of both addresses. */
template <size_t alignment> struct aligned_size_t {
    static_assert(alignment > 0 && (alignment & (alignment - 1)) == 0,
                  "an alignment is a power of two");
    static constexpr size_t align = alignment;
    size_t value;

    __forceinline__ explicit aligned_size_t(size_t size) : value(size)
    {
    }

    __forceinline__ operator size_t() const
    {
        return value;
    }
};

} // namespace cuda

/* The alignment that a size promises, for elements of a type. */
template <typename size> struct gm_promised {
    static constexpr size_t align = 1;
};
template <size_t alignment> struct gm_promised<cuda::aligned_size_t<alignment>> {
    static constexpr size_t align = alignment;
};
template <typename type> struct gm_element {
    static constexpr size_t align = alignof(type);
};
template <> struct gm_element<void> {
    static constexpr size_t align = 1;
};

template <typename type, typename size> static constexpr size_t gm_copy_part()
{
    size_t element = gm_element<type>::align, promised = gm_promised<size>::align;
    size_t most = element < promised ? promised : element;
    return most < 16 ? most : 16;
}

/* Who copies: the threads of a group take parts in turn. */
struct gm_one_thread {
    static constexpr unsigned thread_rank()
    {
        return 0;
    }

    static constexpr unsigned size()
    {
        return 1;
    }
};

/* Parts of less than 4 bytes are copied as a device copies them: by plain loads and stores. */
template <typename word>
static __forceinline__ void gm_copy_words(void *to, const void *from, size_t bytes, size_t first,
                                          size_t step)
{
    for (size_t i = first; i < bytes / sizeof(word); i += step) {
        static_cast<word *>(to)[i] = static_cast<const word *>(from)[i];
    }
}

/* Calls copy(to, from, bytes) for each part of this thread. */
template <size_t part, typename group, typename function>
static __forceinline__ void gm_copy_in_parts(const group &threads, void *to, const void *from,
                                             size_t bytes, function &&copy)
{
    size_t first = (size_t)threads.thread_rank(), step = (size_t)threads.size();
    if constexpr (part == 1) {
        gm_copy_words<unsigned char>(to, from, bytes, first, step);
    } else if constexpr (part == 2) {
        gm_copy_words<unsigned short>(to, from, bytes, first, step);
    } else {
        for (size_t at = first * part; at < bytes; at += step * part) {
            copy(static_cast<char *>(to) + at, static_cast<const char *>(from) + at, part);
        }
    }
}

#endif
