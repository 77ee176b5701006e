/* The table, the devices, the build and a trace, as Python dicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/python.h"
#include "sim/trace.h"

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
    return Py_BuildValue("{s:s, s:s, s:N, s:s, s:(III), s:i, s:i, s:N, s:N, s:s, s:N, s:i, s:N, "
                         "s:{s:N, s:N, s:N, s:N}}",
                         "name", v->name, "doc", v->doc, "follows", text_or_none(v->follows),
                         "source", source, "block", v->block.x, v->block.y, v->block.z, "elements",
                         v->elements, "alignment", v->alignment, "itemsizes",
                         itemsizes_tuple(v->itemsizes), "kinds", text_or_none(v->kinds), "layout",
                         layouts[v->layout], "memory", text_or_none(memory[v->place]), "capability",
                         v->capability, "library", text_or_none(v->library), "claims",
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
                              const gm_figures **figures)
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
        status = (*backend)->figures(device, figures);
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
    const gm_figures *figures;
    (void)module;
    if (parse_variant_call(args, keywords, "OO|O:available", &variant, &backend, &figures) < 0) {
        return NULL;
    }
    if (gm_variant_available(variant, backend, figures) == GM_OK) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(gm_last_error()->message);
}

PyObject *gm_core_attributes(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_variant *variant;
    const gm_backend *backend;
    const gm_figures *figures;
    gm_attributes a;
    (void)module;
    if (parse_variant_call(args, keywords, "OO|O:attributes", &variant, &backend, &figures) < 0) {
        return NULL;
    }
    gm_plan plan = {.block = variant->block, .shared_bytes = (size_t)variant->shared_bytes};
    gm_status status = gm_variant_available(variant, backend, figures);
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

static PyObject *device_dict(const gm_figures *f, int64_t free_bytes)
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
        return PyErr_Format(PyExc_ValueError, "backend is %.80R, expected \"cuda\" or \"sim\"",
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
        const gm_figures *figures;
        if (backend->figures(i, &figures) != GM_OK) {
            continue;
        }
        /* What is free is known of the current device only. */
        PyObject *device = device_dict(figures, i == current ? free_bytes : 0);
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

/* ---- traffic -------------------------------------------------------------------------------- */

/* The same source line, space, kind, actor and width: several program counters may lie on one line.
 */
static bool same_line(const gm_site *a, const gm_site *b)
{
    return a->line == b->line && a->space == b->space && a->kind == b->kind &&
           a->actor == b->actor && a->width == b->width &&
           strcmp(a->file ? a->file : "", b->file ? b->file : "") == 0;
}

/* A tuple of one integer per lane. */
static PyObject *lane_tuple(const gm_sample *sample, uintptr_t base, char what)
{
    PyObject *tuple = PyTuple_New(sample->lanes);
    for (int i = 0; tuple && i < sample->lanes; i++) {
        uintptr_t value = what == 'l'   ? sample->lane[i]
                          : what == 'b' ? sample->bytes[i]
                                        : sample->address[i] - base;
        PyObject *number = PyLong_FromUnsignedLongLong(value);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* Static shared memory has no start of its own on the host: its lowest address in use will do. */
static PyObject *sample_dict(const gm_trace *trace, const gm_sample *sample)
{
    uintptr_t base = sample->base ? sample->base : trace->shared_low & ~(uintptr_t)3;
    return Py_BuildValue("{s:(III), s:i, s:N, s:N, s:N}", "block", sample->block.x, sample->block.y,
                         sample->block.z, "warp", sample->warp, "lanes", lane_tuple(sample, 0, 'l'),
                         "addresses", lane_tuple(sample, base, 'a'), "bytes",
                         lane_tuple(sample, 0, 'b'));
}

static int compare_samples(const void *left, const void *right)
{
    const gm_sample *a = *(const gm_sample *const *)left, *b = *(const gm_sample *const *)right;
    return (a->number > b->number) - (a->number < b->number);
}

/* The first requests of a line, which may be several sites. */
static PyObject *samples_list(const gm_trace *trace, const gm_site *line)
{
    int count = 0;
    PyObject *list = PyList_New(0);
    const gm_sample **found = malloc((size_t)trace->site_count * GM_SAMPLES * sizeof *found);
    if (!list || !found) {
        Py_XDECREF(list);
        free(found);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (int i = 0; i < trace->site_count; i++) {
        for (int j = 0; j < trace->sites[i].sample_count && same_line(&trace->sites[i], line);
             j++) {
            found[count++] = &trace->sites[i].samples[j];
        }
    }
    qsort(found, (size_t)count, sizeof *found, compare_samples);
    for (int i = 0; list && i < count && i < GM_SAMPLES; i++) {
        PyObject *sample = sample_dict(trace, found[i]);
        if (!sample || PyList_Append(list, sample) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(sample);
    }
    free(found);
    return list;
}

static PyObject *site_dict(const gm_trace *trace, const gm_site *s)
{
    PyObject *samples = samples_list(trace, s);
    return samples
               ? Py_BuildValue(
                     "{s:z, s:i, s:s, s:s, s:s, s:i, s:L, s:L, s:L, s:L, s:L, s:L, s:L, s:L, "
                     "s:N}",
                     "file", s->file, "line", s->line, "space", gm_space_name(s->space), "kind",
                     gm_kind_name(s->kind), "by", gm_actor_name(s->actor), "width", s->width * 8,
                     "requests", (long long)s->requests, "lanes", (long long)s->lanes, "bytes",
                     (long long)s->bytes, "sectors", (long long)s->sectors, "lines",
                     (long long)s->lines, "passes", (long long)s->passes, "fewest_passes",
                     (long long)s->fewest, "uncertain", (long long)s->uncertain, "samples", samples)
               : NULL;
}

static int compare_sites(const void *left, const void *right)
{
    const gm_site *a = left, *b = right;
    int by_file = strcmp(a->file ? a->file : "", b->file ? b->file : "");
    if (by_file != 0) {
        return by_file;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (int)a->kind - (int)b->kind;
}

/* A dict for each kernel of a call. */
static PyObject *kernel_list(const gm_trace *trace)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < trace->kernel_count; i++) {
        const gm_trace_kernel *k = &trace->kernels[i];
        PyObject *one = Py_BuildValue(
            "{s:s, s:s, s:(III), s:(III), s:L, s:L, s:L, s:L}", "name", k->name, "doc", k->doc,
            "grid", k->grid.x, k->grid.y, k->grid.z, "block", k->block.x, k->block.y, k->block.z,
            "shared_bytes", (long long)k->shared_bytes, "threads", (long long)k->threads, "warps",
            (long long)k->warps, "barriers", (long long)k->barriers);
        if (!one || PyList_Append(list, one) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

/* The sums of all kernels, with the shape of the variant's own. */
static gm_trace_kernel whole(const gm_variant *variant, const gm_trace *trace)
{
    gm_trace_kernel sum = {.name = NULL};
    int64_t threads = 0, warps = 0, barriers = 0;
    for (int i = 0; i < trace->kernel_count; i++) {
        const gm_trace_kernel *k = &trace->kernels[i];
        if (!sum.name || strcmp(sum.name, variant->symbol) != 0 ||
            strcmp(k->name, variant->symbol) == 0) {
            sum = *k;
        }
        threads += k->threads;
        warps += k->warps;
        barriers += k->barriers;
    }
    sum.threads = threads;
    sum.warps = warps;
    sum.barriers = barriers;
    return sum;
}

PyObject *gm_traffic_dict(const gm_family *family, const gm_variant *variant, const gm_trace *trace,
                          PyObject *result)
{
    const gm_trace_kernel sum = whole(variant, trace);
    PyObject *kernels = kernel_list(trace);
    int merged = 0;
    gm_site *sites = malloc(((size_t)trace->site_count + 1) * sizeof *sites);
    PyObject *list = PyList_New(0);
    if (!sites || !list || !kernels) {
        goto fail;
    }
    for (int i = 0; i < trace->site_count; i++) {
        const gm_site *site = &trace->sites[i];
        if (site->requests == 0) {
            continue; /* a prefetch */
        }
        int at = 0;
        while (at < merged && !same_line(&sites[at], site)) {
            at++;
        }
        if (at == merged) {
            sites[merged++] = *site;
        } else {
            sites[at].requests += site->requests;
            sites[at].lanes += site->lanes;
            sites[at].bytes += site->bytes;
            sites[at].sectors += site->sectors;
            sites[at].lines += site->lines;
            sites[at].passes += site->passes;
            sites[at].fewest += site->fewest;
            sites[at].uncertain += site->uncertain;
        }
    }
    qsort(sites, (size_t)merged, sizeof *sites, compare_sites);
    for (int i = 0; i < merged; i++) {
        PyObject *site = site_dict(trace, &sites[i]);
        if (!site || PyList_Append(list, site) < 0) {
            Py_XDECREF(site);
            goto fail;
        }
        Py_DECREF(site);
    }
    free(sites);
    return Py_BuildValue(
        "{s:s, s:s, s:(III), s:(III), s:L, s:L, s:L, s:L, s:N, s:O, s:N}", "family", family->name,
        "variant", variant->name, "grid", sum.grid.x, sum.grid.y, sum.grid.z, "block", sum.block.x,
        sum.block.y, sum.block.z, "shared_bytes", (long long)sum.shared_bytes, "threads",
        (long long)sum.threads, "warps", (long long)sum.warps, "barriers", (long long)sum.barriers,
        "kernels", kernels, "result", result, "sites", list);
fail:
    free(sites);
    Py_XDECREF(kernels);
    Py_XDECREF(list);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
