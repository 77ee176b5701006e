/* Refused by name. */
#error                                                                                             \
    "<cuda_fp6.h>: numbers of 6 bits are not on the simulator; convert to half or float on the host"
