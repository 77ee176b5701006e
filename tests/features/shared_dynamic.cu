// Dynamic shared memory: at file scope and in functions, of several types, and cut into arrays.
extern __shared__ float window[];

__global__ void smooth(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    window[threadIdx.x + 1] = i < n ? in[i] : 0.0f;
    if (threadIdx.x == 0) {
        window[0] = i > 0 ? in[i - 1] : 0.0f;
        window[blockDim.x + 1] = i + (int)blockDim.x < n ? in[i + blockDim.x] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        out[i] = window[threadIdx.x] + window[threadIdx.x + 1] + window[threadIdx.x + 2];
    }
}

__global__ void reverse(int *data)
{
    extern __shared__ int turned[];
    int *here = data + blockIdx.x * blockDim.x;
    turned[threadIdx.x] = here[threadIdx.x];
    __syncthreads();
    here[threadIdx.x] = turned[blockDim.x - 1 - threadIdx.x];
}

__global__ void split(const double *values, const int *keys, double *sums)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    double *kept = reinterpret_cast<double *>(bytes);
    int *key = reinterpret_cast<int *>(kept + blockDim.x);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = values[i];
    key[threadIdx.x] = keys[i];
    __syncthreads();
    double sum = 0;
    for (int k = 0; k < (int)blockDim.x; k++) {
        if (key[k] == key[threadIdx.x]) {
            sum += kept[k];
        }
    }
    sums[i] = sum;
}
