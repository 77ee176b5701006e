/* The table, the devices and the build, as Python dicts. */
#include "python/describe.h"

#include <stdio.h>

#include "python/call_arguments.h"
#include "python/errors.h"
#include "python/values.h"

static PyObject *text_or_none(const char *text)
{
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

static PyObject *positive_or_none(double value)
{
    return value > 0 ? PyFloat_FromDouble(value) : Py_NewRef(Py_None);
}

static PyObject *itemsizes_tuple(uint64_t sizes)
{
    PyObject *list = PyList_New(0);
    for (int size = 1; list && size < 64; size++) {
        PyObject *number = sizes >> size & 1 ? PyLong_FromLong(size) : NULL;
        if (number && PyList_Append(list, number) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(number);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *variant_dict(const gm_variant *v)
{
    static const char *const layouts[] = {"contiguous", "rows", "strided"};
    static const char *const memory[] = {
        [GM_ANYWHERE] = NULL, [GM_IN_HOST] = "mapped", [GM_IN_MANAGED] = "managed"};
    char source[256];
    snprintf(source, sizeof source, "csrc/kernels/%s", v->source);
    return Py_BuildValue(
        "{s:s, s:N, s:N, s:O, s:s, s:N, s:s, s:(III), s:i, s:i, s:N, s:N, s:s, s:N, "
        "s:i, s:i, s:N, s:{s:N, s:N, s:N, s:N}}",
        "name", v->name, "row", text_or_none(v->row ? v->row->name : NULL), "formerly",
        text_or_none(v->formerly), "serves", v->serves ? Py_True : Py_False, "doc", v->doc,
        "follows", text_or_none(v->follows), "source", source, "block", v->block.x, v->block.y,
        v->block.z, "elements", v->elements, "alignment", v->alignment, "itemsizes",
        itemsizes_tuple(v->itemsizes), "kinds", text_or_none(v->kinds), "layout",
        layouts[v->layout], "memory", text_or_none(memory[v->place]), "capability", v->capability,
        "shared_bytes", v->shared_bytes, "library", text_or_none(v->library), "claims",
        "load_sectors", positive_or_none(v->claims.load_sectors), "store_sectors",
        positive_or_none(v->claims.store_sectors), "bank_ways",
        positive_or_none(v->claims.bank_ways), "width",
        v->claims.width ? PyLong_FromLong(v->claims.width) : Py_NewRef(Py_None));
}

static PyObject *family_dict(const gm_family *family)
{
    PyObject *inputs = PyTuple_New(family->input_count);
    PyObject *dtypes = PyTuple_New(family->input_count);
    PyObject *parameters = PyTuple_New(family->parameter_count);
    PyObject *variants = PyTuple_New(family->count);
    bool complete = inputs && dtypes && parameters && variants;
    for (int i = 0; complete && i < family->input_count; i++) {
        PyObject *name = PyUnicode_FromString(family->inputs[i].name);
        PyObject *words = text_or_none(family->inputs[i].dtypes);
        complete = name && words;
        PyTuple_SET_ITEM(inputs, i, name);
        PyTuple_SET_ITEM(dtypes, i, words);
    }
    for (int i = 0; complete && i < family->parameter_count; i++) {
        PyObject *name = PyUnicode_FromString(family->parameters[i].name);
        complete = name && PyTuple_SetItem(parameters, i, name) == 0;
    }
    for (int i = 0; complete && i < family->count; i++) {
        PyObject *variant = variant_dict(&family->variants[i]);
        complete = variant && PyTuple_SetItem(variants, i, variant) == 0;
    }
    if (!complete) {
        Py_XDECREF(inputs);
        Py_XDECREF(dtypes);
        Py_XDECREF(parameters);
        Py_XDECREF(variants);
        return NULL;
    }
    return Py_BuildValue("{s:s, s:s, s:N, s:N, s:O, s:N, s:N}", "name", family->name, "doc",
                         family->doc, "inputs", inputs, "dtypes", dtypes, "in_place",
                         family->in_place ? Py_True : Py_False, "parameters", parameters,
                         "variants", variants);
}

PyObject *gm_core_families(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *families = PyTuple_New(gm_family_count);
    for (int i = 0; families && i < gm_family_count; i++) {
        PyObject *family = family_dict(gm_families[i]);
        if (!family || PyTuple_SetItem(families, i, family) < 0) {
            Py_CLEAR(families);
        }
    }
    return families;
}

/* Family, variant and optional backend; the variant may not be "auto". */
static int parse_variant_call(PyObject *args, PyObject *keywords, const char *format,
                              const gm_variant **variant, const gm_backend **backend,
                              const gm_device_properties **properties)
{
    static char *names[] = {"family", "variant", "backend", NULL};
    PyObject *family_name, *variant_name, *backend_name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, format, names, &family_name, &variant_name,
                                     &backend_name)) {
        return -1;
    }
    const gm_family *family = gm_parse_family(family_name);
    if (!family || gm_parse_variant(family, variant_name, variant) < 0) {
        return -1;
    }
    if (!*variant) {
        PyErr_SetString(PyExc_ValueError, "variant is 'auto', expected one of the table's");
        return -1;
    }
    if (gm_parse_backend(backend_name, backend) < 0) {
        return -1;
    }
    int device;
    gm_status status = (*backend)->current_device(&device);
    if (status == GM_OK) {
        status = (*backend)->properties(device, properties);
    }
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

PyObject *gm_core_available(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_variant *variant;
    const gm_backend *backend;
    const gm_device_properties *properties;
    (void)module;
    if (parse_variant_call(args, keywords, "OO|O:available", &variant, &backend, &properties) < 0) {
        return NULL;
    }
    if (gm_variant_available(variant, backend, properties) == GM_OK) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(gm_last_error()->message);
}

PyObject *gm_core_attributes(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_variant *variant;
    const gm_backend *backend;
    const gm_device_properties *properties;
    gm_attributes a;
    (void)module;
    if (parse_variant_call(args, keywords, "OO|O:attributes", &variant, &backend, &properties) <
        0) {
        return NULL;
    }
    if (variant->pick) {
        return PyErr_Format(PyExc_ValueError,
                            "variant %s has several kernels; name one, such as \"%s\"",
                            variant->name, variant[1].name);
    }
    gm_plan plan = {.block = variant->block, .shared_bytes = (size_t)variant->shared_bytes};
    gm_status status = gm_variant_available(variant, backend, properties);
    if (status == GM_OK) {
        status = backend->attributes(variant, &plan, &a);
    }
    if (status != GM_OK) {
        return gm_raise(status);
    }
    return Py_BuildValue("{s:i, s:L, s:L, s:L, s:i, s:i, s:d, s:i}", "registers", a.registers,
                         "local_bytes", (long long)a.local_bytes, "shared_bytes",
                         (long long)a.shared_bytes, "constant_bytes", (long long)a.constant_bytes,
                         "max_threads", a.max_threads, "blocks", a.blocks, "occupancy", a.occupancy,
                         "binary_version", a.binary_version);
}

/* ---- devices -------------------------------------------------------------------------------- */

PyObject *gm_core_backend(PyObject *module, PyObject *args)
{
    PyObject *name = NULL;
    const gm_backend *backend;
    (void)module;
    if (!PyArg_ParseTuple(args, "|O:backend", &name) || gm_parse_backend(name, &backend) < 0) {
        return NULL;
    }
    return PyUnicode_FromString(backend->name);
}

static PyObject *device_dict(const gm_device_properties *f, int64_t free_bytes)
{
    char capability[16] = "", pci[32] = "";
    if (f->capability) {
        snprintf(capability, sizeof capability, "%d.%d", f->capability / 10, f->capability % 10);
        snprintf(pci, sizeof pci, "%04x:%02x:%02x.0", (unsigned)f->pci_domain, (unsigned)f->pci_bus,
                 (unsigned)f->pci_device);
    }
    return Py_BuildValue(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:L, s:L, s:L, s:L, s:L, s:L, s:L, s:i, s:i, s:i, s:i, "
        "s:s}",
        "name", f->name, "capability", capability, "multiprocessors", f->multiprocessors,
        "warp_size", f->warp_size, "threads_per_multiprocessor", f->threads_per_multiprocessor,
        "blocks_per_multiprocessor", f->blocks_per_multiprocessor, "l2_bytes",
        (long long)f->l2_bytes, "shared_per_block", (long long)f->shared_per_block,
        "shared_per_multiprocessor", (long long)f->shared_per_multiprocessor, "constant_bytes",
        (long long)f->constant_bytes, "memory_bytes", (long long)f->memory_bytes, "free_bytes",
        (long long)free_bytes, "max_grid_x", (long long)f->max_grid_x, "clock_khz", f->clock_khz,
        "memory_clock_khz", f->memory_clock_khz, "memory_bus_bits", f->memory_bus_bits,
        "fp32_lanes", f->fp32_lanes, "pci", pci);
}

PyObject *gm_core_backend_info(PyObject *module, PyObject *name)
{
    char runtime[32] = "", driver[32] = "";
    (void)module;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const gm_backend *backend = text ? gm_backend_named(text) : NULL;
    if (!backend) {
        PyErr_Clear();
        return gm_raise_about(PyExc_ValueError, "backend is %.80R, expected \"cuda\" or \"sim\"",
                              name);
    }
    PyObject *devices = PyList_New(0);
    if (!devices) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->open();
    Py_END_ALLOW_THREADS
    char reason[sizeof gm_last_error()->message] = "";
    if (status != GM_OK) {
        snprintf(reason, sizeof reason, "%s", gm_last_error()->message);
    }
    backend->versions(runtime, driver);
    int64_t free_bytes = 0, total_bytes = 0;
    if (status == GM_OK && backend->memory(&free_bytes, &total_bytes) != GM_OK) {
        free_bytes = 0;
    }
    int current = 0;
    if (status == GM_OK) {
        (void)backend->current_device(&current);
    }
    for (int i = 0; status == GM_OK && i < backend->device_count(); i++) {
        const gm_device_properties *properties;
        if (backend->properties(i, &properties) != GM_OK) {
            continue;
        }
        /* What is free is known of the current device only. */
        PyObject *device = device_dict(properties, i == current ? free_bytes : 0);
        if (!device || PyList_Append(devices, device) < 0) {
            Py_XDECREF(device);
            Py_DECREF(devices);
            return NULL;
        }
        Py_DECREF(device);
    }
    return Py_BuildValue("{s:O, s:N, s:s, s:s, s:N}", "available",
                         status == GM_OK ? Py_True : Py_False, "reason",
                         text_or_none(status == GM_OK ? NULL : reason), "runtime", runtime,
                         "driver", driver, "devices", devices);
}

PyObject *gm_build_facts(void)
{
#ifdef GM_WITH_CUDA
    PyObject *with_cuda = Py_True;
#else
    PyObject *with_cuda = Py_False;
#endif
#ifdef GM_BUILD_NVCC
    const char *nvcc = GM_BUILD_NVCC;
#else
    const char *nvcc = NULL;
#endif
#ifdef GM_BUILD_ARCHS
    const char *archs = GM_BUILD_ARCHS;
#else
    const char *archs = NULL;
#endif
#ifdef __clang__
    const char *compiler = __VERSION__;
#else
    const char *compiler = "GCC " __VERSION__;
#endif
    return Py_BuildValue("{s:O, s:z, s:z, s:s}", "cuda", with_cuda, "nvcc", nvcc, "archs", archs,
                         "compiler", compiler);
}
