/* matmul: what a stack of products has to compute and to move, and its factors exchanged. */
#ifndef GPUMEM_MATMUL_PLAN_SIZE_H
#define GPUMEM_MATMUL_PLAN_SIZE_H

#include "gpumem.h"
#include "matmul/matmul.h"
#include "matmul/model.h"

matmul_size matmul_measure(const gm_call *call, const matmul_args *args);
/* Is each number of a factor needed by one product of the stack only? */
bool matmul_a_is_read_once(const matmul_args *args);
bool matmul_b_is_read_once(const matmul_args *args);
/* The factors change places, and the results are written transposed. */
void matmul_turn(matmul_args *args);

#endif
