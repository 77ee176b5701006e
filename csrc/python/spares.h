/* Descriptions of other libraries' arrays, kept for the next call with the same ones. */
#ifndef GPUMEM_PYTHON_SPARES_H
#define GPUMEM_PYTHON_SPARES_H

#include "python/device_object.h"

/* A device array that nobody refers to any more becomes a spare if a call had borrowed it. Returns
 * what is to be freed: the array, or the spare that it took the place of; NULL: nothing. */
gm_device_array *gm_spare_keep(gm_device_array *array);
/* A spare that describes exactly this, as a new reference, for a new loan; NULL without an
 * exception if there is none. Strides are bytes, or NULL. */
gm_device_array *gm_spare_take(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                               const int64_t *shape, const int64_t *strides, const void *data,
                               bool writeable);

#endif
