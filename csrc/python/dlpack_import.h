/* Borrows arrays of other libraries by DLPack. */
#ifndef GPUMEM_DLPACK_IMPORT_H
#define GPUMEM_DLPACK_IMPORT_H

#include "python/device_object.h"
#include <dlpack/dlpack.h>

/* Makes the arguments of __dlpack__. */
int gm_dlpack_import_init(void);
/* The producer's array, ready for work on the stream; NULL with an exception. */
gm_device_array *gm_dlpack_adopt(PyObject *producer, const gm_backend *backend, const char *name,
                                 gm_stream stream);

/* The dtype, a new reference, and the strides in bytes if there are strides; NULL with an exception
 * if an array cannot be like this. */
PyArray_Descr *gm_dlpack_layout(const DLTensor *tensor, const char *name, int64_t *strides);
/* An array over the tensor's memory, without an owner yet. */
gm_device_array *gm_dlpack_describe(const DLTensor *tensor, int device, bool writeable,
                                    const gm_backend *backend, const char *name);
/* -1 and an exception if the version's fields are not known here. */
int gm_dlpack_check_version(const DLManagedTensorVersioned *tensor, const char *name);
/* The array gives the tensor back when its memory is dropped. */
void gm_dlpack_own(gm_device_array *array, DLManagedTensorVersioned *tensor);
/* Calls the deleter; keeps an exception that is set. */
void gm_dlpack_give_back(DLManagedTensorVersioned *tensor);
/* After another way to read the object failed: true, and the exception is cleared, if __dlpack__ is
 * to be tried. */
bool gm_dlpack_instead(PyObject *object);

#endif
