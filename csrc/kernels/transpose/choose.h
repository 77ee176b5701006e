/* transpose: what its plans and the choice for "auto" both know of variants and inputs. */
#ifndef GPUMEM_TRANSPOSE_CHOOSE_H
#define GPUMEM_TRANSPOSE_CHOOSE_H

#include "backend/backend.h"

#define GM_FAMILY transpose
#define GM_LADDER "transpose/ladder.def"
#include "rows.h"

/* What a row of the ladder says of its grid. */
enum {
    GRID_NONE,
    GRID_ROWS,             /* two dimensions, x runs along a row of the input */
    GRID_COLUMNS,          /* two dimensions, x runs down a column of the input */
    GRID_DIAGONAL_ROWS,    /* tiles of GRID_ROWS, taken along diagonals */
    GRID_DIAGONAL_COLUMNS, /* tiles of GRID_COLUMNS, taken along diagonals */
    GRID_TILES,            /* the row's own tiles */
    GRID_STREAMS,          /* the row's own tiles, in streams and bands */
    GRID_SHIFTED,          /* the same for tiles that overlap, by less than a sector */
    GRID_TENSOR,           /* the same for tiles that the tensor copy engine moves */
    GRID_NARROW,           /* runs of the longer side */
    GRID_NARROW_WORDS,     /* the same of elements of less than a word */
    GRID_NARROW_VECTORS,   /* the same in sectors of the output */
};

enum {
    NARROW_MOST = 64,          /* rows or columns that narrow takes */
    NARROW_WORDS_MOST = 256,   /* rows or columns that narrow_words takes */
    NARROW_VECTORS_MOST = 384, /* rows that narrow_vectors takes */
    NARROW_ROW_BYTES = 512,    /* pitch of few columns that narrow_words and _vectors take */
};

static inline int64_t transpose_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline int64_t transpose_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bytes from one row of the input to the next; those of the row where there is only one. */
int64_t transpose_pitch(const gm_array *in);

/* Are all rows, on both sides, made of whole, aligned vectors of 16 bytes? */
bool transpose_is_whole(const gm_call *call);

/* Does each row begin after the one before has ended? Not so in a reversed view. */
bool transpose_rows_follow(const gm_array *in);

/* takes.c: the hooks of the ladder. */
gm_status transpose_takes_whole(const gm_variant *variant, const gm_call *call);
gm_status transpose_takes_shifted(const gm_variant *variant, const gm_call *call);
gm_status transpose_takes_tensor(const gm_variant *variant, const gm_call *call);
gm_status transpose_takes_narrow(const gm_variant *variant, const gm_call *call);
gm_status transpose_takes_narrow_words(const gm_variant *variant, const gm_call *call);
gm_status transpose_takes_narrow_vectors(const gm_variant *variant, const gm_call *call);

/* choose.c: the instance of a row that is best for a call. */
int transpose_pick_vector(const gm_call *call);
int transpose_pick_shifted(const gm_call *call);

const gm_variant *transpose_choose(const gm_call *call);

/* What a row of the ladder and its instances have in common. */
#define TILE_VECTOR .grid = GRID_STREAMS, .layout = GM_ROWS, .programmatic_launch = true
#define VECTOR_CLAIMS .claims = {16, 16, 1, 128}
#define SHIFTED                                                                                    \
    .grid = GRID_SHIFTED, .layout = GM_ROWS, .programmatic_launch = true,                          \
    .takes = transpose_takes_shifted

#endif
