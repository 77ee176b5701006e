/* Refused by name. */
#error                                                                                             \
    "<cuda_fp8.h>: numbers of 8 bits are not on the simulator; convert to half or float on the host"
