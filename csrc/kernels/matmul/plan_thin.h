/* matmul: the plan of thin, a matrix times up to four vectors. */
#ifndef GPUMEM_MATMUL_PLAN_THIN_H
#define GPUMEM_MATMUL_PLAN_THIN_H

#include "matmul/plan_size.h"

/* thin has the matrix first; of an args that has not, the factors change places. */
bool matmul_thin_is_turned(const matmul_args *args);
int64_t matmul_thin_sides(const matmul_args *args);
/* Describes the call for thin; returns the model's time. */
double matmul_plan_thin(const gm_call *call, const matmul_size *size, matmul_args *args);

#endif
