/* gpumem.Stream, and everything else that is accepted as a stream. */
#ifndef GPUMEM_PYTHON_STREAMS_H
#define GPUMEM_PYTHON_STREAMS_H

#include "python/python.h"

typedef struct gm_stream_object {
    PyObject_HEAD const gm_backend *backend;
    int device;
    gm_stream handle;
} gm_stream_object;

extern PyTypeObject gm_stream_type;

/* The parsers return 0, or -1 with an exception if the object is no stream of this backend. None
 * and NULL are the default stream, and for the last two a stream that was entered. */
int gm_parse_stream(PyObject *object, const gm_backend *backend, gm_stream *stream);
/* Also says whether the stream and the default stream do not wait for each other. */
int gm_parse_queue(PyObject *object, const gm_backend *backend, gm_stream *stream,
                   bool *nonblocking);
/* For work that the caller waits for: instead of a nonblocking stream, the default stream, after
 * what is on the nonblocking stream now. */
int gm_parse_waited_stream(PyObject *object, const gm_backend *backend, gm_stream *stream);
/* The first of them for Python: check_stream(stream, backend). */
PyObject *gm_core_check_stream(PyObject *module, PyObject *args);

#endif
