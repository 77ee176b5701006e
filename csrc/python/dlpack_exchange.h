/* Reads other libraries' arrays by DLPack's C exchange API, without a call of Python. */
#ifndef GPUMEM_DLPACK_EXCHANGE_H
#define GPUMEM_DLPACK_EXCHANGE_H

#include "python/borrow.h"
#include "python/producers.h"

/* An array as its library describes it. */
typedef struct gm_exchanged {
    const DLPackExchangeAPI *exchange;
    gm_usage usage;
    DLTensor tensor;                   /* shape and strides are the library's */
    DLManagedTensorVersioned *managed; /* keeps the memory; NULL: the object does */
    bool writeable;
} gm_exchanged;

/* A library's current stream: all arrays of a call follow the same one, which is asked for once. */
typedef struct gm_current_stream {
    const DLPackExchangeAPI *exchange; /* NULL: nobody has been asked yet */
    DLDevice device;
    gm_stream stream;
} gm_current_stream;

/* 1; 0 if the object has to be asked in another way; -1 with an exception. */
int gm_exchange_read(PyObject *object, const char *name, gm_usage usage, gm_exchanged *read);
/* Gives the array back to its library, unless somebody has taken it. */
void gm_exchange_release(gm_exchanged *read);

/* A device array over it, ready for work on the stream if it is kept; takes what was read. */
gm_device_array *gm_exchange_adopt(gm_exchanged *read, const gm_backend *backend, const char *name,
                                   gm_stream stream, gm_current_stream *current);
/* An ndarray over an array in the memory of the host; takes what was read. */
PyArrayObject *gm_exchange_view(gm_exchanged *read, PyObject *object, const char *name);

#endif
