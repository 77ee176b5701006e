/*
 * transpose / shifted_halves: elements of 2 bytes whose rows begin anywhere.
 *
 * Follows  tile_vec8, which is best where rows begin at multiples of 16 bytes.
 * Idea     whole sectors out, whole words in: see words.h. A tile of the
 *          output begins at another place in each row.
 * Cost     the rows that two tiles share are read twice, the second time from the L2.
 * Machine  LDG.E.64, STS.128, LDS.128, STG.E.128, SHF for the shifts, PRMT for the squares
 */
#include "words.h"

enum {
    HIGH = 16,
    WIDE = 32,
    THREADS = 256,
};

GM_KERNEL_BOUNDED(transpose_shifted_halves, transpose_args, THREADS, 4)
{
    __shared__ uint4 tile[transpose_words<uint16_t, HIGH, WIDE, THREADS>::TILE];
    transpose_words_tile<uint16_t, HIGH, WIDE, THREADS>(a, tile);
}
