/* Copies of contiguous elements to places at strides, by the driver's copy of rows. */
#ifndef GPUMEM_SCATTER_H
#define GPUMEM_SCATTER_H

#include "backend/backend.h"

/* Where elements go. Extents are at least 2, strides are bytes, positive, outermost first. */
typedef struct gm_places {
    char *data;
    int64_t itemsize;
    int ndim;
    int64_t extent[GM_MAX_DIMS];
    int64_t stride[GM_MAX_DIMS];
} gm_places;

/* Of all dimensions but the run of bytes that is contiguous, one is the rows of a copy; each index
 * of the others takes a copy of its own. */
gm_status gm_scatter(const gm_backend *backend, const gm_places *to, const void *from,
                     gm_stream stream);

#endif
