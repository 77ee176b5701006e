// The headers that people include, whether the kernel needs them or not.
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>

using namespace std;

__global__ void limits_of_types(const float *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float least = FLT_MAX;
        for (int k = 0; k <= i; k++) {
            least = fmin(least, in[k]);
        }
        out[i] = least + (double)INT_MAX + UINT8_MAX + fabs(CUDART_PI_F - 3.0f) + abs(in[i]) +
                 sqrt(4.0f) + pow(2.0f, 3);
    }
}

__global__ void fixed_widths(const int64_t *in, uint8_t *out)
{
    static_assert(is_same<int32_t, int>::value, "int is 32 bits wide");
    uint64_t v = (uint64_t)in[threadIdx.x];
    out[threadIdx.x] = (uint8_t)((v >> 32) ^ v);
}

__global__ void copied_bytes(const float *in, uint32_t *out)
{
    uint32_t bits;
    memcpy(&bits, &in[threadIdx.x], sizeof bits);
    out[threadIdx.x] = bits + (isinf(in[threadIdx.x]) ? 1u : 0u);
}
