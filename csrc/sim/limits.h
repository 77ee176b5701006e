/* What a block may have on a device of compute capability 9.0. */
#ifndef GPUMEM_SIM_LIMITS_H
#define GPUMEM_SIM_LIMITS_H

enum {
    GM_MOST_SHARED = 227 * 1024,       /* bytes of shared memory */
    GM_MOST_SHARED_STATIC = 48 * 1024, /* of which are not dynamic */
};

#endif
