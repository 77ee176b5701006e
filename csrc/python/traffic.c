/* What a trace came to, as a Python dict. */
#include "python/describe.h"
#include "python/errors.h"
#include "sim/report.h"

/* A tuple of one integer per lane: its number, its bytes or its address. */
typedef enum lane_value { LANE, BYTES, ADDRESS } lane_value;

static PyObject *lane_tuple(const gm_sample *sample, lane_value what, uintptr_t base)
{
    PyObject *tuple = PyTuple_New(sample->lanes);
    for (int i = 0; tuple && i < sample->lanes; i++) {
        uintptr_t value = what == LANE    ? sample->lane[i]
                          : what == BYTES ? sample->bytes[i]
                                          : sample->address[i] - base;
        PyObject *number = PyLong_FromUnsignedLongLong(value);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* __shared__ variables have no start of their own on the host: addresses are relative to the lowest
 * word that is in use. */
static PyObject *sample_dict(const gm_sample *sample, uintptr_t shared_begin)
{
    uintptr_t base = sample->base ? sample->base : shared_begin & ~(uintptr_t)3;
    return Py_BuildValue("{s:(III), s:i, s:N, s:N, s:N}", "block", sample->block.x, sample->block.y,
                         sample->block.z, "warp", sample->warp, "lanes",
                         lane_tuple(sample, LANE, 0), "addresses",
                         lane_tuple(sample, ADDRESS, base), "bytes", lane_tuple(sample, BYTES, 0));
}

static PyObject *samples_list(const gm_trace *trace, const gm_report *report,
                              const gm_report_line *line)
{
    int count;
    const gm_sample **samples = gm_report_samples(trace, line, &count);
    PyObject *list = samples ? PyList_New(0) : PyErr_NoMemory();
    for (int i = 0; list && i < count; i++) {
        PyObject *sample = sample_dict(samples[i], report->shared_begin);
        if (!sample || PyList_Append(list, sample) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(sample);
    }
    free(samples);
    return list;
}

static int set_count(PyObject *dict, const char *name, int64_t count)
{
    PyObject *number = PyLong_FromLongLong(count);
    int failed = number ? PyDict_SetItemString(dict, name, number) : -1;
    Py_XDECREF(number);
    return failed;
}

/* Place and kind of a line, every counter of the observers by its name, and the samples. */
static PyObject *line_dict(const gm_trace *trace, const gm_report *report,
                           const gm_report_line *line)
{
    const gm_site *site = line->site;
    PyObject *samples = NULL;
    PyObject *dict = Py_BuildValue("{s:z, s:i, s:s, s:s, s:s, s:i, s:i}", "file", site->file,
                                   "line", site->line, "space", gm_space_name(site->space), "kind",
                                   gm_kind_name(site->kind), "by", gm_actor_name(site->actor),
                                   "width", site->width * 8, "turn", (int)site->service);
    for (int i = 0; dict && i < report->name_count; i++) {
        if (set_count(dict, report->names[i], line->counts[i]) < 0) {
            Py_CLEAR(dict);
        }
    }
    samples = dict ? samples_list(trace, report, line) : NULL;
    if (!samples || PyDict_SetItemString(dict, "samples", samples) < 0) {
        Py_CLEAR(dict);
    }
    Py_XDECREF(samples);
    return dict;
}

PyObject *gm_traced_lines(const gm_trace *trace)
{
    gm_report report;
    gm_status status = gm_report_make(trace, &report);
    PyObject *list = status == GM_OK ? PyList_New(0) : gm_raise(status);
    for (int i = 0; list && i < report.line_count; i++) {
        PyObject *line = line_dict(trace, &report, &report.lines[i]);
        if (!line || PyList_Append(list, line) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(line);
    }
    gm_report_free(&report);
    return list;
}

/* A dict for each kernel of a call. */
PyObject *gm_traced_kernels(const gm_trace *trace)
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

PyObject *gm_traffic_dict(const gm_family *family, const gm_variant *variant, const gm_trace *trace,
                          PyObject *result)
{
    const gm_trace_kernel total = gm_report_total(trace, variant->symbol);
    PyObject *kernels = gm_traced_kernels(trace);
    PyObject *lines = kernels ? gm_traced_lines(trace) : NULL;
    if (!lines) {
        Py_XDECREF(kernels);
        return NULL;
    }
    return Py_BuildValue(
        "{s:s, s:s, s:(III), s:(III), s:L, s:L, s:L, s:L, s:N, s:O, s:N}", "family", family->name,
        "variant", variant->name, "grid", total.grid.x, total.grid.y, total.grid.z, "block",
        total.block.x, total.block.y, total.block.z, "shared_bytes", (long long)total.shared_bytes,
        "threads", (long long)total.threads, "warps", (long long)total.warps, "barriers",
        (long long)total.barriers, "kernels", kernels, "result", result, "sites", lines);
}
