/*
 * add / shifted: arrays that begin anywhere, such as a[1:] + b[3:], in aligned vectors.
 *
 * Follows  explicit, which adds number by number where the arrays are not equally far behind a
 *          multiple of 16 bytes.
 * Idea     a vector of the sum is aligned. What it takes of an input is the end of one aligned
 *          vector and the beginning of the next:
 *
 *              a       |. a b c|d e f g|h i j k|        numbers of 32 bits
 *              b       |. . . A|B C D E|F G H I|
 *              sum     |a b c d|e f g h|                + A B C D, + E F G H
 *
 *          A lane loads one vector of each input and has the next from its neighbour; the last lane
 *          of a warp loads it itself. Both shifts are the same for all vectors.
 * Ends     what is before the first line of the sum, and after whole vectors on all sides, less
 *          than 300 bytes, the last threads of the grid add number by number.
 * Machine  LDG.E.128, SHFL, SEL, STG.E.128
 */
#include "add.h"
#include "join.h"

enum { INPUTS = 2 };

/* Where an input's vectors begin, and how many bytes of them belong to the vector of the sum
 * before: whole words, since the numbers are aligned. */
struct shifted_input {
    const uint4 *vectors;
    uint32_t shift;
};

GM_DEVICE shifted_input shifted_begin(const char *in)
{
    shifted_input input;
    input.shift = (uint32_t)((uintptr_t)in / 4 % 4) * 4;
    input.vectors = (const uint4 *)(in - input.shift);
    return input;
}

template <typename vector> GM_DEVICE vector shifted_as(uint4 bits)
{
    vector v;
    memcpy((void *)&v, &bits, sizeof v);
    return v;
}

/* The grid has a thread for each vector. */
template <typename number, typename vector> GM_DEVICE void add_shifted_numbers(const add_args &a)
{
    const shifted_input input[INPUTS] = {shifted_begin(a.a + a.head), shifted_begin(a.b + a.head)};
    const int64_t i = gm_grid_index();
    const bool there = i < a.vectors, alone = threadIdx.x % 32 == 31 || i + 1 == a.vectors;
    uint4 held[INPUTS], next[INPUTS];
#pragma unroll
    for (int k = 0; k < INPUTS; k++) {
        held[k] = next[k] = make_uint4(0, 0, 0, 0);
        if (there) {
            held[k] = input[k].vectors[i];
        }
        if (there && alone && input[k].shift > 0) {
            next[k] = input[k].vectors[i + 1];
        }
    }
#pragma unroll
    for (int k = 0; k < INPUTS; k++) {
        const uint4 beside = gm_vector_down(held[k]);
        held[k] = gm_join(held[k], alone ? next[k] : beside, input[k].shift);
    }
    if (there) {
        ((vector *)(a.out + a.head))[i] =
            add_vectors(shifted_as<vector>(held[0]), shifted_as<vector>(held[1]));
    }
    add_ends<number>(a);
}

GM_KERNEL(add_shifted, add_args)
{
    gm_wait_for_previous();
    ADD_BY_TYPE(add_shifted_numbers, a)
}
