/* <nvshmem.h> */
#error "<nvshmem.h>: the simulator has one GPU: leave out what communicates with others"
