/* matmul: the plan of whole, a block per product of small matrices, or per panel of one. */
#ifndef GPUMEM_MATMUL_PLAN_WHOLE_H
#define GPUMEM_MATMUL_PLAN_WHOLE_H

#include "matmul/plan_size.h"

/* Bytes of shared memory of a block of an instance. */
int64_t matmul_whole_bytes(const matmul_args *args, const gm_variant *instance);
/* Of these factors: fewer blocks are resident that need much shared memory, and conflicts of banks
 * make them slower. */
void matmul_pace_whole(const gm_call *call, const matmul_args *args, const gm_variant *instance,
                       matmul_kernel *kernel);
/* Does an instance take the factors? If not, the error says why of the variant of that name. */
gm_status matmul_suits_whole(const char *name, const gm_variant *instance, const matmul_args *args);
void matmul_plan_whole(const gm_variant *instance, const gm_call *call, matmul_args *args);

#endif
