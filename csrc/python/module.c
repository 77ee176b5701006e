/* The module gpumem._core. */
#define GM_IMPORTS_NUMPY
#include "backend/sim_kernels.h"
#include "memory/held.h"
#include "python/adopt.h"
#include "python/arrays.h"
#include "python/call.h"
#include "python/describe.h"
#include "python/device_astype.h"
#include "python/device_flags.h"
#include "python/device_kernel.h"
#include "python/device_type.h"
#include "python/devices.h"
#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/errors.h"
#include "python/events.h"
#include "python/hooks.h"
#include "python/host_array.h"
#include "python/host_memory.h"
#include "python/interface.h"
#include "python/modules.h"
#include "python/prepared.h"
#include "python/producers.h"
#include "python/stream_context.h"
#include "python/streams.h"
#include "python/takes.h"
#include "python/textures.h"
#include "python/transfers.h"
#include "python/values.h"

static PyObject *synchronize(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"backend", "device", NULL};
    PyObject *name = NULL, *number = NULL;
    const gm_backend *backend;
    int device, previous;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:synchronize", names, &name, &number) ||
        gm_parse_device(number, &device) < 0 || gm_parse_backend(name, &backend) < 0 ||
        gm_enter_numbered(backend, device, &previous) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->wait_all();
    Py_END_ALLOW_THREADS
    gm_release_held();
    gm_leave_numbered(backend, previous);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
#define KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"call", FAST(gm_core_call),
     "call(family, variant, inputs, out, stream, backend, parameters, chunk=0, /)\n--\n\n"
     "Run one call of a family; see _core.pyi."},
    {"prepare", FAST(gm_core_prepare),
     "prepare(family, variant, inputs, out, stream, parameters, /)\n--\n\n"
     "Check, plan and bind a call on device arrays."},
    {"launch_all", FAST(gm_core_launch_all),
     "launch_all(prepared, count, /)\n--\n\nLaunch count times, cycling through the calls."},
    {"traffic", FAST(gm_core_traffic),
     "traffic(family, variant, inputs, parameters, out=None, /)\n--\n\n"
     "Run one call on the simulator under observation."},
    {"astype_traffic", gm_core_astype_traffic, METH_VARARGS,
     "astype_traffic(array, dtype, /)\n--\n\n"
     "Convert an array of the simulator under observation: the lines that access memory."},
    {"module_open", gm_core_module_open, METH_VARARGS,
     "module_open(path, shared, constant, variables, /)\n--\n\n"
     "Load compiled kernels: a handle, and their names and parameters."},
    {"module_launch", gm_core_module_launch, METH_VARARGS,
     "module_launch(handle, kernel, grid, block, shared_bytes, values, traced, cooperative, "
     "all_findings=False, /)\n--\n\n"
     "Run a loaded kernel on the simulator."},
    {"texture", gm_core_texture, METH_VARARGS,
     "texture(data, pitch, slice, size, kind, channels, channel_bytes, address, linear, to_float, "
     "normalized, border, /)\n--\n\n"
     "The descriptor of a texture object, and its address."},
    {"families", gm_core_families, METH_NOARGS, "families()\n--\n\nThe table, as dicts."},
    {"available", KEYWORDS(gm_core_available),
     "available(family, variant, backend=None)\n--\n\n"
     "None if the variant can run, else the reason why not."},
    {"takes", KEYWORDS(gm_core_takes),
     "takes(family, variant, inputs, parameters, backend=None)\n--\n\n"
     "None if the variant takes C-contiguous arrays of these (shape, dtype), else the reason why "
     "not."},
    {"attributes", KEYWORDS(gm_core_attributes),
     "attributes(family, variant, backend=None)\n--\n\n"
     "Registers, memory and occupancy of a kernel on a CUDA device."},
    {"backend", gm_core_backend, METH_VARARGS,
     "backend(name=None, /)\n--\n\nThe backend that a call with this name would use."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.backend('sim')\n"
     "'sim'"},
    {"backend_info", gm_core_backend_info, METH_O,
     "backend_info(name, /)\n--\n\nA backend and its devices."},
    {"to_device", KEYWORDS(gm_to_device),
     "to_device(a, *, device=None, stream=None, backend=None)\n--\n\n"
     "Copy an array to the memory of a backend.\n\n"
     "Parameters\n----------\n"
     "a : array_like\n"
     "    Any shape and layout, any dtype of plain bytes in native order.\n"
     "device : int, optional\n"
     "    The number of the device; by default, the thread's current one.\n"
     "stream : Stream or another library's, optional\n"
     "backend : {'cuda', 'sim', 'auto'}, optional\n\n"
     "Returns\n-------\nDeviceArray\n    C-contiguous, same shape and dtype.\n\n"
     "Raises\n------\n"
     "TypeError\n    If the dtype refers to Python's memory or is byte-swapped, or the array is\n"
     "    masked.\n"
     "ValueError\n    If numpy.asarray makes no array of it, such as of lists of unequal lengths.\n"
     "MemoryError\n    If there is too little free memory; the message has the size asked for.\n"
     "UnavailableError\n    If the backend cannot be used here."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.to_device(np.arange(3), backend='sim')\n"
     "DeviceArray([0, 1, 2], shape=(3,), dtype='int64', backend='sim', device=0)"},
    {"check_unmasked", gm_core_check_unmasked, METH_VARARGS,
     "check_unmasked(x, name, /)\n--\n\nRaise TypeError for a masked array."},
    {"view_host", gm_core_view_host, METH_VARARGS,
     "view_host(x, name, /)\n--\n\n"
     "Another library's array of the host as an ndarray, if its type has DLPack's exchange API; "
     "else None."},
    {"adopt", gm_core_adopt, METH_VARARGS,
     "adopt(x, name, stream, /)\n--\n\n"
     "Another library's array on a CUDA device as a DeviceArray, ready for work on the stream; "
     "None "
     "if it is none."},
    {"check_stream", gm_core_check_stream, METH_VARARGS,
     "check_stream(stream, backend, /)\n--\n\nRaise if it is no stream of the backend."},
    {"pack_bytes", FAST(gm_core_pack_bytes),
     "pack_bytes(numbers, least, most, zero, each, longest, count, /)\n--\n\n"
     "Return small integers packed into `count` integers, or None if they are not such."},
    {"adopt_all", FAST(gm_core_adopt_all),
     "adopt_all(family, inputs, out, stream, /)\n--\n\n"
     "The arrays of a call, those of other libraries adopted and checked for overlap; see\n"
     "_core.pyi."},
    {"from_dlpack", KEYWORDS(gm_from_dlpack),
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "Use an array of another library in place.\n\n"
     "Parameters\n----------\n"
     "x : object with DLPack or `__cuda_array_interface__`\n"
     "    An array in the memory of a CUDA device; for backend 'sim', on the host. NumPy has its "
     "dtype.\n"
     "device : int, optional\n"
     "    The number of the device that the array has to be on. If `x` is on another, or on the "
     "host,\n"
     "    it is copied there. By default the array stays where `x` is.\n"
     "copy : bool, optional\n"
     "    True always makes a copy, also of read-only memory and of negative strides. False makes\n"
     "    none. By default a copy is made for another device only. Without a copy both share the\n"
     "    memory.\n\n"
     "Returns\n-------\nDeviceArray\n"
     "    It keeps the memory alive, also when `x` is gone.\n\n"
     "Raises\n------\n"
     "BufferError\n    If `x` is read-only or has negative strides and `copy` is not True, or it "
     "is "
     "on\n"
     "    another device and `copy` is False.\n"
     "TypeError\n    If `x` has neither protocol, or a dtype that NumPy lacks; bfloat16 and\n"
     "    floats of 8 bits are those of ml_dtypes, if it is installed.\n"
     "ValueError\n    If `x` is on another kind of device, or there is no such device.\n"
     "UnavailableError\n    If there is no CUDA device.\n\n"
     "Notes\n-----\n"
     "gpumem's work waits for the work on the other library's stream. The other library's\n"
     "nonblocking streams (such as torch.cuda.Stream) do not wait for gpumem's work: pass them\n"
     "to calls as `stream`, or synchronize before they access the memory again. If both `x` and "
     "the\n"
     "array are gone while gpumem's work is queued, the memory goes back to its owner when that "
     "is\n"
     "done, with the next array that gpumem makes or with `synchronize`."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> a = np.arange(3)\n"
     ">>> d = gm.from_dlpack(a)  # on backend 'sim'\n"
     ">>> a[0] = 7\n"
     ">>> d.to_host()\n"
     "array([7, 1, 2])"},
    {"empty", KEYWORDS(gm_core_empty),
     "empty(shape, dtype='float32', *, kind='pageable', backend=None)\n--\n\n"
     "Return a new ndarray, uninitialised, on host memory of a kind.\n\n"
     "Parameters\n----------\n"
     "shape : int or tuple of ints\n"
     "dtype : data-type, optional\n"
     "    Any dtype of plain bytes in native order; by default, float32.\n"
     "kind : {'pageable', 'pinned', 'write_combined', 'mapped', 'managed'}, optional\n"
     "    'pageable' is NumPy's own. 'pinned' is page-locked: transfers access it directly, at "
     "the\n"
     "    bus's full speed. 'write_combined' is pinned and bypasses the host's caches: fast to\n"
     "    write in order, very slow to read. 'mapped' is pinned, and kernels use it in place, "
     "over\n"
     "    the bus. 'managed' is one memory for host and device, whose pages migrate to the side\n"
     "    that accesses them; the host must not access it while a kernel runs.\n"
     "backend : {'cuda', 'sim', 'auto'}, optional\n"
     "    On 'sim' all kinds are ordinary memory that its kernels can access.\n\n"
     "Returns\n-------\nndarray\n"
     "    C-contiguous. The memory is freed with the last view; pinned memory goes to a pool.\n\n"
     "Raises\n------\n"
     "ValueError\n    If shape or kind is invalid.\n"
     "MemoryError\n    If there is too little memory; the message has the size asked for.\n"
     "UnavailableError\n    If the backend cannot be used here, or lacks this kind of memory."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> a = gm.empty((2, 3), kind='pinned', backend='sim')\n"
     ">>> a.shape, gm.memory_kind(a)\n"
     "((2, 3), 'pinned')"},
    {"memory_kind", gm_core_memory_kind, METH_O,
     "memory_kind(a, /)\n--\n\n"
     "Return the kind of an array's memory: one of the kinds of `empty`, or 'device'.\n\n"
     "Parameters\n----------\n"
     "a : ndarray, object with the buffer protocol or DLPack, or DeviceArray\n"
     "    A view has the kind of its memory. Memory that another library pinned is 'pinned'. A "
     "list\n"
     "    has none that could be asked about.\n\n"
     "Returns\n-------\nstr"
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.memory_kind(np.zeros(3))\n"
     "'pageable'"},
    {"over", KEYWORDS(gm_core_over),
     "over(a, backend=None)\n--\n\nA host array as one of the device; see _core.pyi."},
    {"transfer", KEYWORDS(gm_core_transfer),
     "transfer(device, host, to_device, count, driver, pieces=1, stream=None, chunk=0)\n--\n\n"
     "Move the same bytes count times; see _core.pyi."},
    {"send", KEYWORDS(gm_core_send),
     "send(source, target, count, pieces=1)\n--\n\n"
     "Move the same bytes count times from one device to another; see _core.pyi."},
    {"can_reach", KEYWORDS(gm_core_can_reach),
     "can_reach(device, other, backend=None)\n--\n\n"
     "Can a device access the memory of another, if it is allowed to? See _core.pyi."},
    {"let_reach", KEYWORDS(gm_core_let_reach),
     "let_reach(device, other, on, backend=None)\n--\n\n"
     "Allow or forbid that access; returns whether it was allowed. See _core.pyi."},
    {"reach", gm_core_reach, METH_VARARGS,
     "reach(array, device, /)\n--\n\n"
     "An array of another device, for use by this one; see _core.pyi."},
    {"pool_info", KEYWORDS(gm_core_pool_info),
     "pool_info(*, backend=None)\n--\n\n"
     "Return the sizes of the pools of device and of pinned memory, in bytes.\n\n"
     "Returns\n-------\ndict\n"
     "    'backend', and for 'device' and 'pinned' each a dict: 'reserved' bytes belong to the\n"
     "    pool, of which 'used' are in use. Free memory beyond 'limit' goes back to the system."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> sorted(gm.pool_info(backend='sim'))\n"
     "['backend', 'device', 'pinned']"},
    {"pool_trim", KEYWORDS(gm_core_pool_trim),
     "pool_trim(*, backend=None)\n--\n\n"
     "Return the pools' free memory to the system.\n\n"
     "Returns\n-------\nint\n    The number of bytes returned."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> freed = gm.pool_trim(backend='sim')\n"
     ">>> freed >= 0\n"
     "True"},
    {"synchronize", KEYWORDS(synchronize),
     "synchronize(backend=None, *, device=None)\n--\n\n"
     "Wait for all work on a device.\n\n"
     "Parameters\n----------\n"
     "backend : {'cuda', 'sim', 'auto'}, optional\n"
     "device : int, optional\n"
     "    Its number; by default, the current one."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.synchronize('sim')"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpumem._core",
    .m_doc = "The C side of gpumem: table, backends, arrays.",
    .m_size = -1,
    .m_methods = functions,
};

static int add_type(PyObject *module, PyTypeObject *type, const char *name)
{
    return PyType_Ready(type) < 0 ? -1 : PyModule_AddObjectRef(module, name, (PyObject *)type);
}

PyMODINIT_FUNC PyInit__core(void)
{
    import_array();
    if (gm_sim_kernels()->image.end == 0) {
        return PyErr_NoMemory(); /* for its thread-local variables */
    }
    PyObject *module = PyModule_Create(&definition);
    if (!module) {
        return NULL;
    }
    PyObject *facts = gm_build_facts();
    if (gm_errors_init(module) < 0 || gm_arrays_init() < 0 || gm_host_arrays_init() < 0 ||
        gm_producers_init() < 0 || gm_interface_init() < 0 || gm_dlpack_device_init() < 0 ||
        gm_dlpack_import_init() < 0 || gm_device_type_init() < 0 || gm_stream_context_init() < 0 ||
        add_type(module, &gm_device_array_type, "DeviceArray") < 0 ||
        add_type(module, &gm_flags_type, "Flags") < 0 ||
        add_type(module, &gm_stream_type, "Stream") < 0 ||
        add_type(module, &gm_event_type, "Event") < 0 ||
        add_type(module, &gm_prepared_type, "Prepared") < 0 ||
        add_type(module, &gm_device_kernel_type, "DeviceKernel") < 0 || !facts ||
        PyModule_AddObjectRef(module, "build", facts) < 0) {
        Py_XDECREF(facts);
        Py_DECREF(module);
        return NULL;
    }
    Py_DECREF(facts);
#ifdef Py_GIL_DISABLED
    /* Shared data is made before this and does not change, or has a lock. */
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    gm_poll = gm_python_poll;
    gm_library_paths = gm_python_library_paths;
#ifdef GM_BUILD_ARCHS
    gm_build_archs = GM_BUILD_ARCHS;
#endif
    return module;
}
