/* Refused by name. */
#error                                                                                             \
    "<cuda_fp4.h>: numbers of 4 bits are not on the simulator; convert to half or float on the host"
