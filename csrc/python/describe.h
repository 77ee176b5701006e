/* The table, the devices, the build and a trace, as Python dicts. */
#ifndef GPUMEM_PYTHON_DESCRIBE_H
#define GPUMEM_PYTHON_DESCRIBE_H

#include "python/python.h"

PyObject *gm_core_families(PyObject *module, PyObject *unused);
PyObject *gm_core_available(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_attributes(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_backend(PyObject *module, PyObject *args);
PyObject *gm_core_backend_info(PyObject *module, PyObject *name);
PyObject *gm_build_facts(void);
/* What was observed in traced launches: their kernels, and the source lines with their counts. */
PyObject *gm_traced_kernels(const gm_trace *trace);
PyObject *gm_traced_lines(const gm_trace *trace);
/* What was observed in a traced call. */
PyObject *gm_traffic_dict(const gm_family *family, const gm_variant *variant, const gm_trace *trace,
                          PyObject *result);

#endif
