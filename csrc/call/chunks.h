/*
 * How a call on arrays of the host is divided into pieces, so that one piece is on its way to the
 * device, one is in a kernel and one is on its way back.
 *
 * Each piece is a call of its own on contiguous arrays: rows of the result, and the parts of the
 * inputs that these rows are computed from. What every piece needs is transferred first, whole.
 */
#ifndef GPUMEM_CHUNKS_H
#define GPUMEM_CHUNKS_H

#include "call/resolve.h"

/* How one operand is divided: into strips of `rows` rows, `unit` bytes wide per step of length. */
typedef struct gm_strips {
    int axis; /* or GM_FLAT; GM_UNCUT: every piece needs the whole operand */
    int64_t unit, rows;
} gm_strips;

typedef struct gm_chunks {
    gm_strips of[GM_OPERANDS];
    int64_t length; /* along the axis */
    int64_t piece;  /* of one piece; the last may be shorter */
} gm_chunks;

/* A call that is not large enough, or not of a kind to be divided, is one piece of whole operands.
 */
void gm_chunks_choose(gm_run *run, gm_chunks *chunks);
void gm_chunks_make_whole(gm_chunks *chunks);
bool gm_chunks_are_whole(const gm_chunks *chunks);
/* Is a single kernel that uses all operands in place faster than pieces? */
bool gm_chunks_suit_one_kernel(gm_run *run, const gm_chunks *chunks);

/* The call on a piece of this length, with its operands at these addresses of the device. */
void gm_chunks_describe_piece(gm_run *run, const gm_chunks *chunks, int64_t length,
                              void *const *addresses, gm_stream stream, gm_call *piece);

#endif
