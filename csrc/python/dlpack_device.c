/* DLPack's codes of devices: which backend uses them, and what a producer says about itself. */
#include "python/dlpack_device.h"

#include "python/errors.h"
#include "python/values.h"

const char gm_dlpack_legacy[] = "dltensor", gm_dlpack_versioned[] = "dltensor_versioned";

const char *gm_dlpack_name(int type)
{
    static const char *const names[] = {
        [kDLCPU] = "host",      [kDLCUDA] = "CUDA",          [kDLCUDAHost] = "page-locked host",
        [kDLOpenCL] = "OpenCL", [kDLVulkan] = "Vulkan",      [kDLMetal] = "Metal",
        [kDLROCM] = "ROCm",     [kDLROCMHost] = "ROCm host", [kDLCUDAManaged] = "managed CUDA",
        [kDLOneAPI] = "oneAPI", [kDLWebGPU] = "WebGPU",      [kDLHexagon] = "Hexagon",
    };
    const int count = sizeof names / sizeof *names;
    return type >= 0 && type < count && names[type] ? names[type] : "another device's";
}

const gm_backend *gm_dlpack_backend(int type)
{
    switch (type) {
    case kDLCPU:
    case kDLCUDAHost: return gm_backend_with_memory(true);
    case kDLCUDA:
    case kDLCUDAManaged: return gm_backend_with_memory(false);
    default: return NULL;
    }
}

DLDevice gm_dlpack_device_of(const gm_device_memory *memory)
{
    if (memory->backend->host_memory) {
        return (DLDevice){kDLCPU, 0};
    }
    return (DLDevice){memory->managed ? kDLCUDAManaged : kDLCUDA, memory->device};
}

/* False, possibly with an exception, if the tuple is not two integers. */
static bool read_pair(PyObject *pair, int *first, int *second)
{
    if (PyTuple_GET_SIZE(pair) != 2) {
        return false;
    }
    long a = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
    long b = PyErr_Occurred() ? -1 : PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
    *first = (int)a;
    *second = (int)b;
    return !PyErr_Occurred() && a == *first && b == *second;
}

int gm_parse_pair(PyObject *object, const char *name, int *first, int *second)
{
    PyObject *pair =
        PySequence_Check(object) && !PyUnicode_Check(object) ? PySequence_Tuple(object) : NULL;
    bool parsed = pair && read_pair(pair, first, second);
    Py_XDECREF(pair);
    if (parsed) {
        return 0;
    }
    if (gm_forgive_value()) {
        gm_raise_about(PyExc_TypeError, "%s must be a tuple of two integers, not %.80R", name,
                       object);
    }
    return -1;
}

static PyObject *method_name;

int gm_dlpack_device_init(void)
{
    method_name = PyUnicode_InternFromString("__dlpack_device__");
    return method_name ? 0 : -1;
}

int gm_dlpack_find(PyObject *producer, const char *name, int *type, int *device)
{
    PyObject *method, *pair;
    char what[128];
    if (PyType_Check(producer)) {
        return 0;
    }
    if (gm_find_attribute(producer, method_name, &method) < 0) {
        return -1;
    }
    if (!method) {
        return 0;
    }
    pair = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    PyOS_snprintf(what, sizeof what, "what __dlpack_device__ of %.60s returns", name);
    int parsed = pair ? gm_parse_pair(pair, what, type, device) : -1;
    Py_XDECREF(pair);
    return parsed < 0 ? -1 : 1;
}
