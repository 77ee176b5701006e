/*
 * DLPack's C exchange API of DeviceArray: a table of functions by which other libraries take our
 * arrays, and make new ones, without a call of Python.
 *
 * Our current stream is always the default stream: it waits for whatever gpumem has queued on an
 * array before the array is lent.
 */
#include "python/dlpack_table.h"

#include "python/borrow.h"
#include "python/devices.h"
#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/dlpack_lent.h"
#include "python/errors.h"
#include "python/values.h"

static int raise_unless_ok(gm_status status)
{
    if (status != GM_OK) {
        gm_raise(status);
    }
    return status == GM_OK ? 0 : -1;
}

static int from_array(void *object, DLManagedTensorVersioned **out)
{
    gm_device_array *array = object;
    int previous;
    *out = NULL;
    if (!gm_is_device_array(object)) {
        PyErr_Format(PyExc_TypeError, "%.100s is no gpumem.DeviceArray", Py_TYPE(object)->tp_name);
        return -1;
    }
    if (gm_enter_device(array->memory, &previous) < 0) {
        return -1;
    }
    gm_status status = gm_device_memory_settle(array->memory);
    gm_leave_device(array->memory, previous);
    if (status == GM_OK) {
        status = gm_expect_writes(array);
    }
    if (raise_unless_ok(status) < 0) {
        return -1;
    }
    *out = gm_lend_versioned(array, false);
    return *out ? 0 : -1;
}

/* After a failure the tensor is still the caller's. */
static int to_array(DLManagedTensorVersioned *tensor, void **out)
{
    const gm_backend *backend = gm_dlpack_backend(tensor->dl_tensor.device.device_type);
    *out = NULL;
    if (gm_dlpack_check_version(tensor, "the tensor") < 0) {
        return -1;
    }
    if (!backend) {
        PyErr_Format(PyExc_BufferError, "the tensor is in %s memory, which gpumem does not use",
                     gm_dlpack_name(tensor->dl_tensor.device.device_type));
        return -1;
    }
    bool writeable = !(tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    gm_device_array *array =
        gm_dlpack_describe(&tensor->dl_tensor, -1, writeable, backend, "the tensor");
    if (!array || gm_borrow_share(array, "the tensor") < 0) {
        Py_XDECREF(array);
        return -1;
    }
    gm_dlpack_own(array, tensor);
    *out = array;
    return 0;
}

/* May be called without the GIL, and reports through the caller's function. */
static int allocate(DLTensor *like, DLManagedTensorVersioned **out, void *error_context,
                    void (*set_error)(void *context, const char *kind, const char *message))
{
    *out = NULL;
    gm_status status = gm_lend_new(like, out);
    if (status != GM_OK) {
        const char *kind = status == GM_ERROR_MEMORY  ? "MemoryError"
                           : status == GM_ERROR_VALUE ? "ValueError"
                                                      : "RuntimeError";
        set_error(error_context, kind, gm_last_error()->message);
    }
    return status == GM_OK ? 0 : -1;
}

static int current_stream(DLDeviceType type, int32_t id, void **out)
{
    (void)type, (void)id;
    *out = NULL;
    return 0;
}

static DLPackExchangeAPI table = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}},
    .managed_tensor_allocator = allocate,
    .managed_tensor_from_py_object_no_sync = from_array,
    .managed_tensor_to_py_object_no_sync = to_array,
    /* A tensor that nobody manages has no room for strides in elements; ours are in bytes. */
    .dltensor_from_py_object_no_sync = NULL,
    .current_work_stream = current_stream,
};

int gm_dlpack_table_init(PyTypeObject *type)
{
    PyObject *capsule = PyCapsule_New(&table, GM_DLPACK_TABLE, NULL);
    int failed =
        capsule ? PyDict_SetItemString(type->tp_dict, "__dlpack_c_exchange_api__", capsule) : -1;
    Py_XDECREF(capsule);
    return failed;
}
