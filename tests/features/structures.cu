// Structures: as parameters by value, in arrays, with pointers in them.
struct Scaling {
    float factor;
    int shift;
    double bias;
};

__global__ void by_value(Scaling s, const float *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = s.factor * in[i] + s.shift + s.bias;
}

struct Record {
    int key;
    float value;
    unsigned char tag[4];
};

__global__ void of_records(const Record *in, Record *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Record r = in[n - 1 - i];
        r.key += r.tag[i % 4];
        out[i] = r;
    }
}

struct View {
    const float *data;
    int rows, cols;
    __device__ float at(int row, int col) const
    {
        return data[row * cols + col];
    }
};

__device__ float trace_of(const View &view)
{
    float sum = 0;
    for (int i = 0; i < view.rows && i < view.cols; i++) {
        sum += view.at(i, i);
    }
    return sum;
}

__global__ void with_pointers(const float *matrices, int size, float *out)
{
    View view{matrices + (size_t)threadIdx.x * size * size, size, size};
    out[threadIdx.x] = trace_of(view);
}

struct Node {
    int value;
    Node *next;
};

__global__ void linked_list(const int *in, int *out)
{
    __shared__ Node nodes[32];
    int t = threadIdx.x;
    nodes[t].value = in[t];
    nodes[t].next = t > 0 ? &nodes[t - 1] : nullptr;
    __syncthreads();
    int sum = 0;
    for (const Node *n = &nodes[t]; n; n = n->next) {
        sum += n->value;
    }
    out[t] = sum;
}
