/* Refused by name. */
#error                                                                                             \
    "<curand_kernel.h>: cuRAND is not on the simulator; pass random numbers to the kernel in an array"
