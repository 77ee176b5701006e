/* Which accesses of a warp's lanes are one request of the warp. */
#ifndef GPUMEM_SIM_REQUESTS_H
#define GPUMEM_SIM_REQUESTS_H

#include "sim/trace.h"

/*
 * Sorts the accesses of a warp, `order` of them by their numbers in the stream, so that those of a
 * request follow one another, in the order of their lanes; `begins` says where each request begins,
 * with one more for the end. Both have room for one more than the count. Returns the number of
 * requests, or -1 with the error set.
 *
 * Where lanes came to a place unequally often since they met, which of their accesses go together
 * is not certain: these are counted in the places' `uncertain`.
 */
int64_t gm_requests_form(const gm_access *stream, uint32_t count, gm_site *places, int place_count,
                         uint32_t *order, uint32_t *begins);

#endif
