/* Tensors lent to other libraries by DLPack. */
#ifndef GPUMEM_DLPACK_LENT_H
#define GPUMEM_DLPACK_LENT_H

#include "python/device_object.h"
#include <dlpack/dlpack.h>

/* The array's memory, which lives until the deleter is called; NULL with an exception. */
DLManagedTensor *gm_lend_legacy(const gm_device_array *array);
DLManagedTensorVersioned *gm_lend_versioned(const gm_device_array *array, bool copied);
/* New memory for a tensor of the same device, dtype and shape. Needs no Python. */
gm_status gm_lend_new(const DLTensor *like, DLManagedTensorVersioned **tensor);
/* The consumer may write to memory of the host without a word: from now on it counts as written, as
 * another library's does, which is why it is adopted for a moment. */
gm_status gm_expect_writes(const gm_device_array *array);

#endif
