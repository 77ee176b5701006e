/* Types of other libraries' arrays: how the arrays are read. */
#ifndef GPUMEM_PYTHON_PRODUCERS_H
#define GPUMEM_PYTHON_PRODUCERS_H

#include "python/python.h"
#include <dlpack/dlpack.h>

typedef struct gm_producer {
    const DLPackExchangeAPI *exchange; /* NULL: none, or none that is known here */
    bool lazy;                         /* arrays have PyTorch's negative and conjugate bits */
    /* What Python would call for an array's is_neg() and requires_grad; NULL: it has to be asked.
     */
    PyCFunction is_neg;
    getter requires_grad;
    void *closure; /* of requires_grad */
} gm_producer;

/* Makes the names of attributes. */
int gm_producers_init(void);
/* Looks at a type once, and again after a change to it; 0, or -1 with an exception. */
int gm_find_producer(PyTypeObject *type, gm_producer *producer);

/* PyTorch's attributes of an array of this producer: 1 or 0, or -1 with an exception. */
int gm_requires_grad(const gm_producer *producer, PyObject *array);
int gm_is_negated(const gm_producer *producer, PyObject *array);
int gm_is_conjugated(PyObject *array);

#endif
