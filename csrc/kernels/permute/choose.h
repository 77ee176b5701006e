/* permute: which row "auto" takes. */
#ifndef GPUMEM_PERMUTE_CHOOSE_H
#define GPUMEM_PERMUTE_CHOOSE_H

#include "gpumem.h"

const gm_variant *permute_choose(const gm_call *call);

#endif
