// Sparse matrix times vector, compressed rows: a thread per row, a warp per row.
#define FULL_MASK 0xffffffff

template <typename IndexType, typename ValueType>
__global__ void spmv_csr_scalar_kernel(const IndexType num_rows, const IndexType *Ap,
                                       const IndexType *Aj, const ValueType *Ax, const ValueType *x,
                                       ValueType *y)
{
    const IndexType row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        ValueType sum = 0;
        const IndexType row_start = Ap[row];
        const IndexType row_end = Ap[row + 1];
        for (IndexType jj = row_start; jj < row_end; jj++) {
            sum += Ax[jj] * x[Aj[jj]];
        }
        y[row] = sum;
    }
}

template __global__ void spmv_csr_scalar_kernel<int, float>(int, const int *, const int *,
                                                            const float *, const float *, float *);

__global__ void spmv_csr_vector_kernel(int num_rows, const int *ptr, const int *indices,
                                       const double *data, const double *x, double *y)
{
    int thread_id = blockDim.x * blockIdx.x + threadIdx.x;
    int warp_id = thread_id / 32;
    int lane = thread_id & (32 - 1);
    int row = warp_id;
    if (row < num_rows) {
        double sum = 0;
        for (int jj = ptr[row] + lane; jj < ptr[row + 1]; jj += 32) {
            sum += data[jj] * x[indices[jj]];
        }
        for (int offset = 16; offset > 0; offset >>= 1) {
            sum += __shfl_down_sync(FULL_MASK, sum, offset);
        }
        if (lane == 0) {
            y[row] = sum;
        }
    }
}
