/*
 * gather / words: neighbours of the result, as words and vectors.
 *
 * Follows  unroll4, of which a request for bytes stores 32 of them.
 * Idea     a thread loads four neighbours of the index as vectors, those of its next turn as well,
 *          then the four elements, and stores these at once: more loads in flight than unroll4
 *          has, in fewer requests.
 * Machine  LDG.128 for the index, before the first LDG of an element; STG of 4 to 16 bytes
 */
#include "gather.h"

enum { EACH = 4, TURNS = 4 };

/* Four neighbours of an index, as they are in memory. */
template <typename integer> struct loaded {
    uint4 vector[EACH * sizeof(integer) / sizeof(uint4)];
};

/* Number k of `whole`; anything if there is none. */
template <typename integer>
GM_DEVICE loaded<integer> load_index(const char *index, int64_t k, int64_t whole)
{
    loaded<integer> four = {};
#pragma unroll
    for (int i = 0; i < (int)(sizeof four / sizeof(uint4)); i++) {
        if (k < whole) {
            four.vector[i] = ((const uint4 *)(index + k * (int64_t)sizeof four))[i];
        }
    }
    return four;
}

GM_DEVICE int64_t nth(const loaded<int32_t> &four, int j)
{
    const uint4 &v = four.vector[0];
    return (int32_t)(j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w);
}

GM_DEVICE int64_t nth(const loaded<int64_t> &four, int j)
{
    const uint4 &v = four.vector[j / 2];
    return (int64_t)(j % 2 == 0 ? (uint64_t)v.y << 32 | v.x : (uint64_t)v.w << 32 | v.z);
}

GM_DEVICE void store(uint8_t *out, const uint8_t (&held)[EACH])
{
    *(uint32_t *)out = access_join(held);
}

GM_DEVICE void store(uint16_t *out, const uint16_t (&held)[EACH])
{
    *(uint2 *)out = make_uint2(access_join(held), access_join(held + 2));
}

GM_DEVICE void store(uint32_t *out, const uint32_t (&held)[EACH])
{
    *(uint4 *)out = make_uint4(held[0], held[1], held[2], held[3]);
}

/* One by one: the last ones, and those that lead outside, which divisions bring back. */
template <typename unit, bool checked>
GM_DEVICE void move_some(const gather_args &a, int64_t first, int64_t end)
{
#pragma unroll 1
    for (int64_t k = first; k < end; k++) {
        ((unit *)a.out)[k] = __ldca(&((const unit *)a.in)[gather_place<checked>(a, k)]);
    }
}

/* Where four indices lead that were checked; of others, whether they are all in range. */
template <typename integer, bool checked>
GM_DEVICE bool find_places(const gather_args &a, const loaded<integer> &index,
                           int64_t (&place)[EACH])
{
    bool inside = true;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        const int64_t at = nth(index, j);
        inside = inside && (checked || (uint64_t)at < (uint64_t)a.length);
        place[j] = checked && at < 0 ? at + a.length : at;
    }
    return inside;
}

template <typename unit, typename integer, bool checked>
GM_DEVICE void move_by(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    const int64_t whole = a.count / EACH, step = (int64_t)gridDim.x * blockDim.x * TURNS;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * TURNS + threadIdx.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t i = first; i * EACH < a.count; i += step) {
        loaded<integer> next = load_index<integer>(a.index, i, whole);
#pragma unroll 1
        for (int turn = 0; turn < TURNS; turn++) {
            const loaded<integer> index = next;
            const int64_t k = i + turn * (int64_t)blockDim.x;
            int64_t place[EACH];
            unit held[EACH];
            if (turn + 1 < TURNS) {
                next = load_index<integer>(a.index, k + blockDim.x, whole);
            }
            if (k < whole && find_places<integer, checked>(a, index, place)) {
#pragma unroll
                for (int j = 0; j < EACH; j++) {
                    held[j] = __ldca(&in[place[j]]);
                }
                store((unit *)a.out + k * EACH, held);
            } else {
                move_some<unit, checked>(a, k * EACH, min((k + 1) * EACH, a.count));
            }
        }
    }
}

template <typename unit, bool checked> GM_DEVICE void move_by_index(const gather_args &a)
{
    if (a.index_size == 4) {
        move_by<unit, int32_t, checked>(a);
    } else {
        move_by<unit, int64_t, checked>(a);
    }
}

template <typename unit> GM_DEVICE void move(const gather_args &a)
{
    /* A loop of its own for each, as in unroll4. */
    if (a.mode == GATHER_RAISE) {
        move_by_index<unit, true>(a);
    } else {
        move_by_index<unit, false>(a);
    }
}

GM_KERNEL(gather_words, gather_args)
{
    switch (a.itemsize) {
        ACCESS_CASE(1, uint8_t, unit, move<unit>(a))
        ACCESS_CASE(2, uint16_t, unit, move<unit>(a))
        ACCESS_CASE(4, uint32_t, unit, move<unit>(a))
    }
}
