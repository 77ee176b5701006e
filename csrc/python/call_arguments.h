/* What a call is given from Python: names, numbers and arrays, and checks of arrays. */
#ifndef GPUMEM_PYTHON_CALL_ARGUMENTS_H
#define GPUMEM_PYTHON_CALL_ARGUMENTS_H

#include "python/device_object.h"

/* Functions that return an int return 0, or -1 with an exception, unless said otherwise. */

/* NULL with an exception if there is no such family. */
const gm_family *gm_parse_family(PyObject *name);
/* NULL for "auto". */
int gm_parse_variant(const gm_family *family, PyObject *name, const gm_variant **variant);
int gm_parse_parameters(const gm_family *family, PyObject *values, gm_value *parameters);
/* The tuple of inputs has to have as many as the family takes. */
int gm_check_input_count(const gm_family *family, PyObject *inputs);
/* Input i as it was given; NULL if it is optional, and absent or None. */
PyObject *gm_given(const gm_family *family, PyObject *inputs, int i);

/* Raises TypeError: another input is not where this one is. Returns -1. */
int gm_refuse_mixed(const gm_family *family, PyObject *inputs, int i);

/* The dtype has to be one that the operand accepts. */
int gm_check_input(const gm_operand *operand, PyArrayObject *array);
/* The other inputs of an in-place family may not overlap the first, which changes. */
int gm_check_in_place(const gm_family *family, PyArrayObject *const *inputs);
/* A new reference to the dtype of the result, by the dtype of the first input. */
PyArray_Descr *gm_result_dtype(const gm_family *family, PyArrayObject *first);
/* out may not overlap an input, except that it may be an input for which the family allows that. */
int gm_check_overlap(const gm_family *family, PyArrayObject *out, PyArrayObject *const *inputs);
/* out has to fit the result in call->out, and may not overlap an input as above. */
int gm_check_call_out(const gm_call *call, PyArrayObject *out, PyArrayObject *const *inputs);

#endif
