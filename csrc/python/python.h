/* What the files of the Python binding share. */
#ifndef GPUMEM_PYTHON_H
#define GPUMEM_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gpumem_array_api
#ifndef GM_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "backend/backend.h"
#include "gpumem.h"
#include "memory/device.h"

/* The layout is an ndarray over the device's addresses: NumPy does the arithmetic of shapes,
 * strides and views. It never leaves this module, and nothing may read through it. */
typedef struct gm_device_array {
    PyObject_HEAD gm_device_memory *memory;
    PyArrayObject *layout; /* not writable where the memory's owner says so */
} gm_device_array;

typedef struct gm_stream_object {
    PyObject_HEAD const gm_backend *backend;
    int device;
    gm_stream handle;
} gm_stream_object;

extern PyTypeObject gm_host_block_type, gm_device_array_type, gm_stream_type, gm_event_type,
    gm_prepared_type;

/* errors.c: turns a status and the error record into an exception; returns NULL. */
PyObject *gm_raise(gm_status status);
/* Clears an exception that says no more than that a value is not as it should be, so that another
 * can say it better; false when it says something else, such as that memory ran out. */
bool gm_forgive_value(void);
/* ValueError for a name that is not in a list of known ones, which it takes the reference to. */
void gm_raise_unknown(const char *says, PyObject *name, PyObject *known, const char *are);
/* Adds to a list, which becomes NULL where there is no memory for it. */
void gm_append_name(PyObject **names, const char *name);
int gm_errors_init(PyObject *module);
bool gm_python_poll(void);
void gm_python_library_paths(const char *name, char *paths, size_t room);

/* arrays.c */
/* The text of a str; NULL and an exception when C would see only a part of it. */
const char *gm_c_string(PyObject *text, const char *name);
/* An "O&" converter like NumPy's; its message is short where the name is long. */
int gm_dtype_converter(PyObject *object, void *dtype);
/* Adds a new reference to the backend's name; -1 and an exception for a bad one. */
int gm_parse_backend(PyObject *object, const gm_backend **backend);
/* The same for a function that takes backend= and nothing else; format as PyArg_Parse wants it. */
int gm_parse_only_backend(PyObject *args, PyObject *keywords, const char *format,
                          const gm_backend **backend);
/* An int, or what counts as one: not a bool, nor an array on the device. */
bool gm_is_integer(PyObject *object);
/* A new reference to an attribute, NULL where there is none; -1 and an exception for others. */
int gm_optional_attribute(PyObject *object, const char *name, PyObject **value);
/* 1 or 0; -1 with the exception of a property that raises, which PyObject_HasAttrString drops. */
int gm_has_attribute(PyObject *object, const char *name);
/* An ndarray of a dtype that is plain bytes in native order; new reference. */
PyArrayObject *gm_host_array(PyObject *object, const char *name);
/* Subclasses of ndarray are taken as the plain array of their elements. A masked array is not: its
 * elements say nothing without the mask. 0, or -1 with a TypeError; any object may be asked about.
 */
int gm_check_unmasked(PyObject *object, const char *name);
/* The array itself, or a copy in C order: every byte, padding of structures included. */
PyArrayObject *gm_contiguous(PyArrayObject *array);
/* to[...] = from, the same way; the dtypes are equivalent. */
int gm_copy_into(PyArrayObject *to, PyArrayObject *from);
int gm_check_dtype(PyArray_Descr *dtype, const char *name);
/* Of that: no strings of 0 bytes, which NumPy would take for strings of one character. */
int gm_check_sized(PyArray_Descr *dtype, const char *name);
/* out must have this dtype and shape; -1 and an exception when it has not. */
int gm_check_out(PyArrayObject *out, PyArray_Descr *dtype, int ndim, const int64_t *shape);
/* Describes an ndarray, or the layout of a device array. */
void gm_describe(PyArrayObject *array, gm_array *described);
int gm_arrays_init(void);
/* 1 when the arrays share a byte, 0 when not, -1 with an exception. Exact, but for layouts over
 * which the search, of so many steps on any machine, comes to no end: those count as sharing. */
int gm_overlaps(PyArrayObject *a, PyArrayObject *b);

/* An int or a sequence of ints; the caller frees shape->ptr. -1 and an exception if it is none. */
int gm_parse_shape(PyObject *object, PyArray_Dims *shape);
/* Of an array of this dtype and shape; -1 and an exception where a dimension is negative, or the
 * count too large. */
int gm_count_bytes(PyArray_Descr *dtype, int ndim, const npy_intp *shape, int64_t *bytes);

/* host_array.c */
/* Uninitialised and contiguous, on memory of a kind; dtype is not stolen. */
PyArrayObject *gm_host_array_new(const gm_backend *backend, gm_memory_kind kind,
                                 PyArray_Descr *dtype, int ndim, const npy_intp *shape);
/* The same for what comes from the device: page-locked where that pays, and is to be had. */
PyArrayObject *gm_host_result_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                  const npy_intp *shape);
/* What the array's memory is to the backend. */
gm_memory_kind gm_find_kind(PyArrayObject *array, const gm_backend *backend);
PyObject *gm_core_empty(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_memory_kind(PyObject *module, PyObject *object);
PyObject *gm_core_over(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_transfer(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_pool_info(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_pool_trim(PyObject *module, PyObject *args, PyObject *keywords);

/* device_array.c */
static inline bool gm_is_device_array(PyObject *object)
{
    return PyObject_TypeCheck(object, &gm_device_array_type);
}
/* Uninitialised and contiguous; dtype is not stolen. */
gm_device_array *gm_device_array_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                     const npy_intp *shape);
/* A host array that the backend can reach, used where it is. */
gm_device_array *gm_device_array_over(const gm_backend *backend, PyArrayObject *array);
/* Takes both references, also when it fails; either may be NULL, with an exception. */
gm_device_array *gm_device_array_wrap(gm_device_memory *memory, PyArrayObject *layout);
/* A contiguous copy on the same device, which is the current one. */
gm_device_array *gm_device_array_copy(gm_device_array *array, gm_stream stream, bool apart);
PyObject *gm_device_array_to_host(gm_device_array *array);
/* Makes the device of this memory the current one; -1 and an exception when that fails. */
int gm_enter_device(const gm_device_memory *memory, int *previous);
void gm_leave_device(const gm_device_memory *memory, int previous);
PyObject *gm_to_device(PyObject *module, PyObject *args, PyObject *keywords);

/* peer.c */
/* The number of a device, -1 for None and NULL: the current one; -1 and an exception otherwise. */
int gm_parse_device(PyObject *object, int *device);
/* The same for a device by such a number. */
int gm_enter_numbered(const gm_backend *backend, int device, int *previous);
void gm_leave_numbered(const gm_backend *backend, int previous);
/* A copy of a contiguous array on another device, there when it returns; the current device is that
 * of the array. */
gm_device_array *gm_device_array_send(gm_device_array *array, int device, gm_stream stream);
PyObject *gm_core_send(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_can_reach(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_let_reach(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_reach(PyObject *module, PyObject *args);

/* stream.c */
/* The handle of a stream, ours or another library's, NULL for None; -1 and an exception when it is
 * none, or of another backend. */
int gm_parse_stream(PyObject *object, const gm_backend *backend, gm_stream *stream);
/* Also, do it and the default stream not wait for each other? */
int gm_parse_queue(PyObject *object, const gm_backend *backend, gm_stream *stream, bool *apart);
/* For work that the caller waits for: a stream apart is replaced by the default stream, which
 * waits for what is on it by now. */
int gm_parse_waited_stream(PyObject *object, const gm_backend *backend, gm_stream *stream);

/* exchange.c */
/* Memory of another library, as an array; strides are bytes, or NULL for C order. The memory has no
 * owner yet. */
gm_device_array *gm_borrow(const gm_backend *backend, const char *name, PyArray_Descr *dtype,
                           int ndim, const int64_t *shape, const int64_t *strides, void *data,
                           bool writable);
/* The array of another library that is in the memory of a CUDA device, ready for this stream; NULL
 * without an exception when the object is none. */
gm_device_array *gm_adopt(PyObject *object, const char *name, PyObject *stream);
/* Runs what may be Python's, or another's with Python in it, while an exception is on its way up.
 */
void gm_run_aside(void (*function)(void *), void *argument);
/* The strides, in bytes, under which other libraries are lent an array: 0, or -1 with a BufferError
 * where they would not take them. */
int gm_lent_strides(PyArrayObject *layout, npy_intp *strides);
bool gm_is_adoptable(PyObject *object); /* may gm_adopt have an answer? */
PyObject *gm_from_dlpack(PyObject *module, PyObject *args, PyObject *keywords);

/* interface.c */
PyObject *gm_interface_export(PyObject *array, void *unused);
/* From the dict of __cuda_array_interface__. */
gm_device_array *gm_interface_adopt(PyObject *interface, PyObject *owner, const char *name,
                                    gm_stream stream);
bool gm_interface_has_stream(PyObject *interface);

/* bind.c, parse.c */
PyObject *gm_core_call(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_adopt_all(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_launch_all(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_traffic(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* out = a on the device, for any layout of a. */
gm_status gm_pack(gm_device_array *a, gm_device_array *out, gm_stream stream, bool apart);
const gm_family *gm_parse_family(PyObject *name);
/* NULL and no exception for "auto". */
int gm_parse_variant(const gm_family *family, PyObject *name, const gm_variant **variant);

/* takes.c */
PyObject *gm_core_takes(PyObject *module, PyObject *args, PyObject *keywords);

/* describe.c: the table and the devices as dicts. */
PyObject *gm_core_families(PyObject *module, PyObject *unused);
PyObject *gm_core_available(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_attributes(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_backend(PyObject *module, PyObject *args);
PyObject *gm_core_backend_info(PyObject *module, PyObject *name);
PyObject *gm_build_facts(void);
PyObject *gm_traffic_dict(const gm_family *family, const gm_variant *variant, const gm_trace *trace,
                          PyObject *result);

#endif
