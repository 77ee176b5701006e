/*
 * transpose / shifted_words: elements of 4 bytes whose rows begin anywhere.
 *
 * Follows  tile_vec4, which is best where rows begin at multiples of 16 bytes.
 * Idea     whole sectors out: see words.h. A tile of the
 *          output begins at another place in each row.
 * Cost     the rows that two tiles share are read twice, the second time from the L2.
 * Machine  LDG.E, STS.128, LDS.128, STG.E.128
 */
#include "words.h"

enum {
    HIGH = 16,
    WIDE = 64,
    THREADS = 256,
};

GM_KERNEL_BOUNDED(transpose_shifted_words, transpose_args, THREADS, 5)
{
    __shared__ uint4 tile[transpose_words<uint32_t, HIGH, WIDE, THREADS>::TILE];
    transpose_words_tile<uint32_t, HIGH, WIDE, THREADS>(a, tile);
}
