/* The module gpumem._core. */
#define GM_IMPORTS_NUMPY
#include "memory/transfer.h"
#include "python/python.h"

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
    gm_leave_numbered(backend, previous);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

static PyObject *set_chunk(PyObject *module, PyObject *bytes)
{
    (void)module;
    long long wish = PyLong_AsLongLong(bytes);
    if (wish < 0) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "bytes is %lld, expected at least 0", wish);
        }
        return NULL;
    }
    return PyLong_FromLongLong(gm_set_chunk(wish));
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
#define KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"call", FAST(gm_core_call),
     "call(family, variant, inputs, out, stream, backend, parameters, /)\n--\n\n"
     "Run one call of a family; see _core.pyi."},
    {"prepare", FAST(gm_core_prepare),
     "prepare(family, variant, inputs, out, stream, parameters, /)\n--\n\n"
     "Check, plan and bind a call on device arrays."},
    {"launch_all", FAST(gm_core_launch_all),
     "launch_all(prepared, count, /)\n--\n\nLaunch count times, taking the calls in turn."},
    {"traffic", FAST(gm_core_traffic),
     "traffic(family, variant, inputs, parameters, /)\n--\n\n"
     "Run one call on the simulator under observation."},
    {"families", gm_core_families, METH_NOARGS, "families()\n--\n\nThe table, as dicts."},
    {"available", KEYWORDS(gm_core_available),
     "available(family, variant, backend=None)\n--\n\nNone, or the reason why not."},
    {"takes", KEYWORDS(gm_core_takes),
     "takes(family, variant, inputs, parameters, backend=None)\n--\n\n"
     "None if the variant takes C-contiguous arrays of these (shape, dtype), or the reason why "
     "not."},
    {"attributes", KEYWORDS(gm_core_attributes),
     "attributes(family, variant, backend=None)\n--\n\nWhat a kernel needs of a CUDA device."},
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
     "a : ndarray or object with the buffer protocol\n"
     "    Any shape and layout, any dtype of plain bytes in native order.\n"
     "device : int, optional\n"
     "    The number of the device; by default, the current one of the thread.\n"
     "stream : Stream or another library's, optional\n"
     "backend : {'cuda', 'sim', 'auto'}, optional\n\n"
     "Returns\n-------\nDeviceArray\n    C-contiguous, same shape and dtype.\n\n"
     "Raises\n------\n"
     "TypeError\n    The dtype refers to Python's memory, or is byte-swapped; or the array is "
     "masked.\n"
     "MemoryError\n    There is not enough free memory; says how much was asked for.\n"
     "UnavailableError\n    The backend is not here."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.to_device(np.arange(3), backend='sim')\n"
     "DeviceArray(shape=(3,), dtype='int64', backend='sim')"},
    {"adopt_all", FAST(gm_core_adopt_all),
     "adopt_all(family, inputs, out, stream, /)\n--\n\n"
     "The arrays of a call as they are worked on, known to be apart; see _core.pyi."},
    {"from_dlpack", KEYWORDS(gm_from_dlpack),
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "Use an array of another library where it is.\n\n"
     "Parameters\n----------\n"
     "x : object with DLPack or `__cuda_array_interface__`\n"
     "    An array in the memory of a CUDA device; on backend 'sim' one on the host. No strides\n"
     "    are negative, and its dtype is one that NumPy knows.\n"
     "device : int, optional\n"
     "    The number of the device that it is on. Nothing moves from one to another.\n"
     "copy : bool, optional\n"
     "    True makes a copy. Else both share the memory, which has to be writable then.\n\n"
     "Returns\n-------\nDeviceArray\n"
     "    It keeps the memory, whatever becomes of `x`.\n\n"
     "Raises\n------\n"
     "TypeError\n    `x` has neither protocol, or a dtype that NumPy does not know (bfloat16).\n"
     "ValueError\n    It is on another kind of device, read-only, or laid out in a way that is "
     "not\n"
     "    taken.\n"
     "UnavailableError\n    There is no CUDA device here.\n\n"
     "Notes\n-----\n"
     "Work comes after what the other library has put on its stream. The other way round, its\n"
     "non-blocking streams (such as torch.cuda.Stream) know nothing of work here: give them to\n"
     "calls as `stream`, or synchronise before they touch the memory again."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> a = np.arange(3)\n"
     ">>> d = gm.from_dlpack(a)  # on backend 'sim'\n"
     ">>> a[0] = 7\n"
     ">>> d.to_host()\n"
     "array([7, 1, 2])"},
    {"empty", KEYWORDS(gm_core_empty),
     "empty(shape, dtype=float32, *, kind='pageable', backend=None)\n--\n\n"
     "Return a new ndarray, uninitialised, on host memory of a kind.\n\n"
     "Parameters\n----------\n"
     "shape : int or tuple of ints\n"
     "dtype : data-type, optional\n"
     "    Any dtype of plain bytes in native order; float32 unless given.\n"
     "kind : {'pageable', 'pinned', 'write_combined', 'mapped', 'managed'}, optional\n"
     "    'pageable' is NumPy's own. 'pinned' is page-locked: it goes over the bus directly, at\n"
     "    full speed. 'write_combined' is pinned past the host's caches: good to fill in order,\n"
     "    very slow to read. 'mapped' is pinned, and kernels use it where it is, over the bus.\n"
     "    'managed' is one memory for both sides, whose pages move to whoever touches them; the\n"
     "    host must not touch it while a kernel does.\n"
     "backend : {'cuda', 'sim', 'auto'}, optional\n"
     "    On 'sim' all kinds are plain memory that its kernels can reach.\n\n"
     "Returns\n-------\nndarray\n"
     "    C-contiguous. The memory is given back, pinned memory to a pool, with its last view.\n\n"
     "Raises\n------\n"
     "ValueError\n    The shape or the kind is none.\n"
     "MemoryError\n    There is not enough memory; says how much was asked for.\n"
     "UnavailableError\n    The backend is not here, or has no such memory."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> a = gm.empty((2, 3), kind='pinned', backend='sim')\n"
     ">>> a.shape, gm.memory_kind(a)\n"
     "((2, 3), 'pinned')"},
    {"memory_kind", gm_core_memory_kind, METH_O,
     "memory_kind(a, /)\n--\n\n"
     "Return what kind of memory an array lies in: one of those of `empty`, or 'device'.\n\n"
     "Parameters\n----------\n"
     "a : ndarray, object with the buffer protocol, or DeviceArray\n"
     "    A view is of the kind of its memory. What another library has pinned is 'pinned'.\n\n"
     "Returns\n-------\nstr"
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.memory_kind(np.zeros(3))\n"
     "'pageable'"},
    {"over", KEYWORDS(gm_core_over),
     "over(a, backend=None)\n--\n\nA host array as one of the device; see _core.pyi."},
    {"transfer", KEYWORDS(gm_core_transfer),
     "transfer(device, host, to_device, count, driver, pieces=1, stream=None)\n--\n\n"
     "Move the same bytes count times; see _core.pyi."},
    {"send", KEYWORDS(gm_core_send),
     "send(source, target, count, pieces=1)\n--\n\n"
     "Move the same bytes count times from one device to another; see _core.pyi."},
    {"can_reach", KEYWORDS(gm_core_can_reach),
     "can_reach(device, other, backend=None)\n--\n\n"
     "Can a device be let reach the memory of another? See _core.pyi."},
    {"let_reach", KEYWORDS(gm_core_let_reach),
     "let_reach(device, other, on, backend=None)\n--\n\n"
     "Let it, or no more; returns whether it was. See _core.pyi."},
    {"reach", gm_core_reach, METH_VARARGS,
     "reach(array, device, /)\n--\n\n"
     "An array of another device as one of this device; see _core.pyi."},
    {"pool_info", KEYWORDS(gm_core_pool_info),
     "pool_info(*, backend=None)\n--\n\n"
     "Return what the pools of device and of pinned memory hold, in bytes.\n\n"
     "Returns\n-------\ndict\n"
     "    'backend', and for 'device' and 'pinned' each a dict: 'reserved' is held, in use or "
     "kept\n"
     "    for the next array, 'used' is in use, and what is not goes back beyond 'limit'."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> sorted(gm.pool_info(backend='sim'))\n"
     "['backend', 'device', 'pinned']"},
    {"pool_trim", KEYWORDS(gm_core_pool_trim),
     "pool_trim(*, backend=None)\n--\n\n"
     "Give memory that the pools hold and nobody uses back to the system.\n\n"
     "Returns\n-------\nint\n    So many bytes."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> freed = gm.pool_trim(backend='sim')\n"
     ">>> freed >= 0\n"
     "True"},
    {"set_chunk", set_chunk, METH_O,
     "set_chunk(bytes, /)\n--\n\nHow much travels at a time; 0 is the default. See _core.pyi."},
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
    PyObject *module = PyModule_Create(&definition);
    if (!module) {
        return NULL;
    }
    PyObject *facts = gm_build_facts();
    if (gm_errors_init(module) < 0 || gm_arrays_init() < 0 ||
        PyType_Ready(&gm_host_block_type) < 0 ||
        add_type(module, &gm_device_array_type, "DeviceArray") < 0 ||
        add_type(module, &gm_stream_type, "Stream") < 0 ||
        add_type(module, &gm_event_type, "Event") < 0 ||
        add_type(module, &gm_prepared_type, "Prepared") < 0 || !facts ||
        PyModule_AddObjectRef(module, "build", facts) < 0) {
        Py_XDECREF(facts);
        Py_DECREF(module);
        return NULL;
    }
    Py_DECREF(facts);
#ifdef Py_GIL_DISABLED
    /* What is shared is made before this, never changes, or has a lock. */
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    gm_poll = gm_python_poll;
    gm_library_paths = gm_python_library_paths;
#ifdef GM_BUILD_ARCHS
    gm_build_archs = GM_BUILD_ARCHS;
#endif
    return module;
}
