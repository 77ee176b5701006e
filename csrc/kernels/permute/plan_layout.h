/* permute: a call as the kernels see it. */
#ifndef GPUMEM_PERMUTE_PLAN_LAYOUT_H
#define GPUMEM_PERMUTE_PLAN_LAYOUT_H

#include "gpumem.h"
#include "permute/permute.h"

/* The axes of the result that are left when those that run on together are one; the innermost
 * first. One of elements that have several units, or of runs, is contiguous on both sides. */
typedef struct permute_layout {
    const char *in;
    char *out;
    int unit; /* bytes */
    int ndim;
    int64_t units;
    int64_t extent[GM_MAX_DIMS + 1]; /* units, at least 2 */
    int64_t from[GM_MAX_DIMS + 1];   /* bytes from one to the next in the input, */
    int64_t to[GM_MAX_DIMS + 1];     /* and in the result */
} permute_layout;

/* The axes of the result as axes of `a`, from the call's parameters. */
gm_status permute_read_axes(const gm_call *call, int *axes);

enum { PERMUTE_WIDEST = 16 /* bytes */ };

/* Folded, in the widest units that all of it allows, and that divide `most`. An array without
 * elements must not be folded. */
void permute_fold(const gm_call *call, int most, permute_layout *layout);

/* Does every element stay where it is? */
bool permute_is_contiguous(const gm_call *call);

/* Turns axes that run backwards in the input, and are closer there than in the result: they run
 * forwards then, and backwards in the result. */
void permute_turn(permute_layout *layout);
void permute_fold_turned(const gm_call *call, int most, permute_layout *layout);

/* Are at most so many axes left, of units of up to so many bytes? */
gm_status permute_takes_axes(const gm_variant *variant, const gm_call *call, int unit, int most);

/* Do rows of the result run on in memory? There may be gaps between them. */
gm_status permute_takes_rows(const gm_variant *variant, const permute_layout *layout);

/* The same of a call, and its layout, turned, which must have elements. */
gm_status permute_takes_turned(const gm_variant *variant, const gm_call *call,
                               permute_layout *layout);

/* Are units of so many bytes? */
gm_status permute_takes_unit(const gm_variant *variant, const permute_layout *layout, int unit);

/* Axis `next` becomes part of axis `d`, whose distances stay. */
void permute_join_axes(permute_layout *layout, int d, int next);

/* Is the next run in memory read before so many bytes of the result are written? */
bool permute_reads_next_within(const permute_layout *layout, double run, int64_t bytes);

/* Are the two innermost axes matrices of few rows, side by side in memory, of which the L1 has all
 * at a time? Rows that are multiples of 128 bytes apart fall on the same lines of it. */
bool permute_has_small_matrices(const permute_layout *layout);

/* An instance of a row that takes the elements: for a call that no instance suits, or any. */
int permute_any_instance(const gm_call *call, int row);

/* Where the input's memory begins and ends. */
void permute_memory(const permute_layout *layout, const char **begin, const char **end);

/* Of a positive number below 2^31. */
permute_divisor permute_divisor_of(int64_t by);

/* Bytes by which addresses that differ by multiples of these bits may be past the begin of a
 * sector. */
static inline unsigned permute_past_sector(uintptr_t bits)
{
    bits |= GM_SECTOR;
    return GM_SECTOR - (unsigned)(bits & (0 - bits));
}

static inline int64_t permute_magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static inline int64_t permute_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

#endif
