/* Borrows arrays of other libraries by DLPack. */
#ifndef GPUMEM_DLPACK_IMPORT_H
#define GPUMEM_DLPACK_IMPORT_H

#include "python/device_object.h"

/* The producer's array, ready for work on the stream; NULL with an exception. */
gm_device_array *gm_dlpack_adopt(PyObject *producer, const gm_backend *backend, const char *name,
                                 gm_stream stream);

#endif
