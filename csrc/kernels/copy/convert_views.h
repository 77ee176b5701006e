/* copy: what convert and convert_far share, numbers from one layout to another. */
#ifndef GPUMEM_COPY_CONVERT_VIEWS_H
#define GPUMEM_COPY_CONVERT_VIEWS_H

#include "convert.h"
#include "places.h"

static_assert((int)COPY_STEPS == (int)CONVERT_VECTORS, "a number is a vector of its own");

/* A number, or each part of a complex one, is a unit. */
template <typename unit, typename offset_type>
GM_DEVICE void convert_load(const copy_convert_args &a, int64_t first,
                            const copy_places<offset_type> &at, convert_vectors &held)
{
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a.sides, first, k)) {
            const unit *from = (const unit *)(a.sides.in + at.from[k]);
            convert_hold(__ldca(from), held[k]);
            if (sizeof(unit) >= 4 && a.from_bytes > (int)sizeof(unit)) {
                convert_hold(__ldca(from + 1), held[k] + sizeof(unit) / 4);
            }
        }
    }
}

template <typename unit, typename offset_type>
GM_DEVICE void convert_store(const copy_convert_args &a, int64_t first,
                             const copy_places<offset_type> &at, const convert_vectors &made)
{
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a.sides, first, k)) {
            unit *to = (unit *)(a.sides.out + at.to[k]);
            *to = convert_bits<unit>(made[k]);
            if (sizeof(unit) >= 4 && a.to_bytes > (int)sizeof(unit)) {
                to[1] = convert_bits<unit>(made[k] + sizeof(unit) / 4);
            }
        }
    }
}

template <typename from>
GM_DEVICE void convert_single_from(int number, convert_vectors &held, convert_vectors &made)
{
    CONVERT_TO(number, to, convert_words<from, to, 1, COPY_STEPS>(held, made))
}

template <typename offset_type>
GM_DEVICE void convert(const copy_convert_args &a, int64_t first,
                       const copy_places<offset_type> &at)
{
    convert_vectors held, made;
    switch (a.from_unit) {
    case 1: convert_load<uint8_t>(a, first, at, held); break;
    case 2: convert_load<uint16_t>(a, first, at, held); break;
    case 4: convert_load<uint32_t>(a, first, at, held); break;
    case 8: convert_load<uint2>(a, first, at, held); break;
    }
    CONVERT_FROM(a.from, from, convert_single_from<from>(a.to, held, made))
    switch (a.to_unit) {
    case 1: convert_store<uint8_t>(a, first, at, made); break;
    case 2: convert_store<uint16_t>(a, first, at, made); break;
    case 4: convert_store<uint32_t>(a, first, at, made); break;
    case 8: convert_store<uint2>(a, first, at, made); break;
    }
}

#endif
