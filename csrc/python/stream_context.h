/* Streams that were entered with `with`: calls without a stream join them. */
#ifndef GPUMEM_PYTHON_STREAM_CONTEXT_H
#define GPUMEM_PYTHON_STREAM_CONTEXT_H

#include "python/python.h"

int gm_stream_context_init(void);
/* Stream.__enter__, __exit__ and the class method current. */
PyObject *gm_stream_enter(PyObject *stream, PyObject *unused);
PyObject *gm_stream_exit(PyObject *stream, PyObject *args);
PyObject *gm_stream_current(PyObject *unused, PyObject *args, PyObject *keywords);
/* The stream for calls without one, of this backend and of the current device; NULL: the default
 * stream. Returns 0, or -1 with an exception. */
int gm_stream_context_find(const gm_backend *backend, gm_stream *stream);
/* Keeps all streams alive that are entered now; a new reference. */
PyObject *gm_stream_context_keep(void);

#endif
