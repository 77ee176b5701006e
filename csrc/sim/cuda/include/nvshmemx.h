/* <nvshmemx.h> */
#error "<nvshmemx.h>: the simulator has one GPU: leave out what communicates with others"
