/* permute: the plan of words. */
#ifndef GPUMEM_PERMUTE_PLAN_PIECES_H
#define GPUMEM_PERMUTE_PLAN_PIECES_H

#include "permute/plan_layout.h"

/* How the units of a word follow each other. */
words_way permute_words_way(const permute_layout *layout);

/* A multiple of a copy's time that words takes at least, of 4 MB and more whose neighbours in the
 * result are apart in the input: by how many lines of memory a load touches. By 229 layouts on an
 * H200; 0: unknown. */
double permute_words_least_time(const permute_layout *layout);

/* Of a large array a launch moves a piece: so many indices of the outermost axis that units are
 * counted, and their distances are, in 32 bits. 0: words does not take the layout. */
int64_t permute_words_piece(const permute_layout *layout);

/* The piece from an index on; false behind the last one. */
bool permute_words_cut(const permute_layout *layout, int64_t from, permute_layout *piece);

void permute_plan_words(const permute_layout *piece, const gm_variant *variant, gm_plan *plan);

/* Do the two innermost axes together end within many words? Then warps work out where the next
 * units are. */
bool permute_words_end_often(const permute_layout *layout);

#endif
