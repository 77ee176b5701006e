// __constant__ variables with initialisers: an array, a table of two dimensions, a structure.
struct Line {
    float slope;
    int offset;
};

__constant__ float coefficients[4] = {1.0f, -0.5f, 0.25f, 2.0f};
__constant__ int table[2][3] = {{1, 2, 3}, {40, 50, 60}};
static __constant__ Line line = {3.0f, 7};
__constant__ const unsigned char letters[] = "GATTACA";

__global__ void polynomial(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int k = 3; k >= 0; k--) {
            sum = sum * x[i] + coefficients[k];
        }
        y[i] = sum;
    }
}

__global__ void look_up(int *out)
{
    int t = threadIdx.x;
    out[t] = table[t & 1][t % 3] + (int)(line.slope * t) + line.offset + letters[t % 7];
}
