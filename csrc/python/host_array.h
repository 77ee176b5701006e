/* Arrays of the host: taking them from callers, and making new ones on memory of any kind. */
#ifndef GPUMEM_PYTHON_HOST_ARRAY_H
#define GPUMEM_PYTHON_HOST_ARRAY_H

#include "python/python.h"

/* Readies the type of memory blocks, and looks up numpy.from_dlpack. */
int gm_host_arrays_init(void);
/* An ndarray of the elements of an array-like object, a copy if it has no memory of them, with a
 * dtype of plain bytes in native order; a new reference. */
PyArrayObject *gm_host_array(PyObject *object, const char *name);
/* The same over the object's own memory; an exception if it has none. */
PyArrayObject *gm_host_view(PyObject *object, const char *name);
/* For Python: check_unmasked(x, name) raises for a masked array, also in lists. */
PyObject *gm_core_check_unmasked(PyObject *module, PyObject *args);
/* For Python: view_host(x, name), an ndarray over another library's array that is read by DLPack's
 * exchange API, and may be written to; None if x is none, or not on the host. */
PyObject *gm_core_view_host(PyObject *module, PyObject *args);
/* Uninitialised and contiguous, on memory of a kind; does not take the reference to dtype. */
PyArrayObject *gm_host_array_new(const gm_backend *backend, gm_memory_kind kind,
                                 PyArray_Descr *dtype, int ndim, const npy_intp *shape);
/* The same for results that come from the device: page-locked if that pays and is available. */
PyArrayObject *gm_host_result_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                  const npy_intp *shape);
/* The kind of an array's memory, as the backend sees it. */
gm_memory_kind gm_find_kind(PyArrayObject *array, const gm_backend *backend);

#endif
