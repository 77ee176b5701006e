/* copy: a call as the kernels for any layout see it. */
#ifndef GPUMEM_COPY_PLAN_VIEWS_H
#define GPUMEM_COPY_PLAN_VIEWS_H

#include "copy/copy.h"
#include "gpumem.h"

/* Axes that are left when those that run on together in both arrays are one. */
int copy_count_axes(const gm_call *call);

/* Of arrays that have elements, and no more axes than COPY_MAX_DIMS. */
void copy_plan_strided(const gm_call *call, copy_strided_args *args);
void copy_plan_scatter(const gm_call *call, copy_scatter_args *args);

/* For convert, whose units are the elements of either side. */
gm_status copy_plan_elements(const gm_array *in, const gm_array *out, copy_scatter_args *args);

#endif
