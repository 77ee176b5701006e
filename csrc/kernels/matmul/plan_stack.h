/* The shapes of a call: NumPy's rules for vectors, matrices and stacks of them. */
#ifndef GPUMEM_MATMUL_PLAN_STACK_H
#define GPUMEM_MATMUL_PLAN_STACK_H

#include "gpumem.h"
#include "matmul/matmul.h"

/* Checks the shapes and sets the result's. */
gm_status matmul_result(gm_call *call);
/* Describes the factors and the stack; the call's shapes are checked. */
gm_status matmul_describe(const gm_call *call, matmul_args *args);
/* The axis along which an input is cut, see gm_family.split. */
int matmul_split(const gm_call *call, int input);
/* Two axes of an input as a matrix, a line where it has one axis: bytes from row to row and from
 * column to column. */
void matmul_as_matrix(const gm_call *call, int input, gm_array *matrix);

#endif
