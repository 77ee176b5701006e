/*
 * transpose / shifted_strips: shifted_words for a few dozen columns.
 *
 * Follows  shifted_words, half of whose tile would be beside the matrix.
 * Idea     the same kernel with a tile of half the width and twice the height.
 * Machine  LDG.E, STS.128, LDS.128, STG.E.128
 */
#include "words.h"

enum {
    HIGH = 32,
    WIDE = 32,
    THREADS = 256,
};

GM_KERNEL_BOUNDED(transpose_shifted_strips, transpose_args, THREADS, 6)
{
    __shared__ uint4 tile[transpose_words<uint32_t, HIGH, WIDE, THREADS>::TILE];
    transpose_words_tile<uint32_t, HIGH, WIDE, THREADS>(a, tile);
}
