/* copy: a conversion as its kernels see it. */
#ifndef GPUMEM_COPY_PLAN_CONVERT_H
#define GPUMEM_COPY_PLAN_CONVERT_H

#include "copy/copy.h"
#include "gpumem.h"

/* Is there a copy_number for the array's dtype? */
bool copy_has_numbers(const gm_array *array);

/* Of arrays that have elements. */
gm_status copy_plan_convert(const gm_call *call, copy_convert_args *args);
/* The same in vectors. False if the numbers are not side by side. */
bool copy_plan_flat(const copy_convert_args *convert, copy_flat_args *args);

#endif
