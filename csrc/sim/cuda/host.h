/* Types of the host's side that sources with kernels name outside functions. */
#ifndef GPUMEM_CUDA_HOST_H
#define GPUMEM_CUDA_HOST_H

enum cudaError_t {
    cudaSuccess = 0,
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

#endif
