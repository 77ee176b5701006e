/* Slots and methods of DeviceArray that raise a TypeError which names the way to the host. */
#ifndef GPUMEM_REFUSALS_H
#define GPUMEM_REFUSALS_H

#include "python/python.h"

extern PyNumberMethods gm_refused_numbers;    /* conversions and arithmetic */
extern PySequenceMethods gm_refused_sequence; /* in */
PyObject *gm_refuse_compare(PyObject *self, PyObject *other, int operation);
PyObject *gm_refuse_iter(PyObject *self);
PyObject *gm_refuse_complex(PyObject *self, PyObject *unused);
/* __array__ */
PyObject *gm_refuse_array(PyObject *self, PyObject *args, PyObject *keywords);
/* __array_ufunc__ and __array_function__ */
PyObject *gm_refuse_function(PyObject *self, PyObject *args, PyObject *keywords);
/* tp_getattro: names the libraries that have an attribute which computes. */
PyObject *gm_find_or_advise(PyObject *self, PyObject *name);

#endif
