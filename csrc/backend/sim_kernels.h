/* The kernels of this shared object, as the simulator runs them. */
#ifndef GPUMEM_SIM_KERNELS_H
#define GPUMEM_SIM_KERNELS_H

#include "sim/module.h"

const gm_module *gm_sim_kernels(void);

#endif
