/* Ends the program with a message if a call of the CUDA runtime fails. */
#pragma once

#include <cstdio>
#include <cstdlib>

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)
