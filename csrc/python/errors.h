/* From a gm_status and its error record to Python exceptions. */
#ifndef GPUMEM_PYTHON_ERRORS_H
#define GPUMEM_PYTHON_ERRORS_H

#include "python/python.h"

/* Creates gpumem's exceptions and adds them to the module. */
int gm_errors_init(PyObject *module);
/* Raises the exception for a status and the error record; returns NULL. */
PyObject *gm_raise(gm_status status);
/* What a simulation error is about: {"rule", "kernel", "file", "line", "block", "thread", "other"}.
 */
PyObject *gm_finding_attributes(const gm_error *error);
/* Clears an exception about a wrong value, so that the caller can raise one with a better message;
 * false for any other exception, such as MemoryError, which stays. */
bool gm_forgive_value(void);
/* PyErr_Format for a message with objects of users: if one of them cannot be printed, what its repr
 * raised stays, which PyErr_Format loses before Python 3.11.3. Returns NULL. */
PyObject *gm_raise_about(PyObject *kind, const char *format, ...);
/* Raises ValueError for a name that is not in a list of known ones; takes the list's reference. */
void gm_raise_unknown(const char *says, PyObject *name, PyObject *known, const char *are);
/* Appends to a list, which becomes NULL if there is no memory for it. */
void gm_append_name(PyObject **names, const char *name);

#endif
