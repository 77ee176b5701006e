/* copy: numbers of one dtype as numbers of another. */
#ifndef GPUMEM_COPY_CONVERT_H
#define GPUMEM_COPY_CONVERT_H

#include "gpumem.h"

/* Is there a number of this kind and size that can be converted? */
bool copy_converts(const gm_array *array);

/* Queues the conversion of in[0], whose elements are aligned, to the dtype of out. */
gm_status copy_convert_launch(const gm_call *call);

#endif
