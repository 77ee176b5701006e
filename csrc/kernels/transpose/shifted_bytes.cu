/*
 * transpose / shifted_bytes: elements of 1 byte whose rows begin anywhere.
 *
 * Follows  tile_vec16, which is best where rows begin at multiples of 16 bytes.
 * Idea     whole sectors out, whole words in: see words.h. A tile of the
 *          output begins at another place in each row.
 * Cost     the rows that two tiles share are read twice, the second time from the L2.
 * Machine  LDG.E.64, STS.128, LDS.128, STG.E.128, SHF for the shifts, PRMT for the squares
 */
#include "words.h"

enum {
    HIGH = 8,
    WIDE = 16,
    THREADS = 128,
};

GM_KERNEL_BOUNDED(transpose_shifted_bytes, transpose_args, THREADS, 5)
{
    __shared__ uint4 tile[transpose_words<uint8_t, HIGH, WIDE, THREADS>::TILE];
    transpose_words_tile<uint8_t, HIGH, WIDE, THREADS>(a, tile);
}
