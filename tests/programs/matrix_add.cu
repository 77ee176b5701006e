// Matrix addition with rows padded by cudaMallocPitch, so that each begins at an aligned address.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#define DIV_UP(a, b)	(((a) + (b) - 1) / (b))

static void check(cudaError_t error, const char *file, int line) {
	if (error != cudaSuccess) {
		fprintf(stderr, "CUDA error \"%s\" at %s:%d\n", cudaGetErrorString(error), file, line);
		exit(1);
	}
}
#define CHECK(x) check((x), __FILE__, __LINE__)

struct Matrix {
	int	width, height;
	size_t	pitch;		// bytes from row to row
	float	*elements;
};

__device__ __forceinline__ float *row(Matrix m, int y) {
	return (float *)((char *)m.elements + y * m.pitch);
}

__global__ void
matrix_add(Matrix a, Matrix b, Matrix c)
{
	int x = threadIdx.x + blockIdx.x * blockDim.x;
	int y = threadIdx.y + blockIdx.y * blockDim.y;
	if (x >= c.width || y >= c.height)
		return;
	row(c, y)[x] = row(a, y)[x] + row(b, y)[x];
}

/* The same with plain pointers: element (x, y) is at y * ld + x. */
__global__ void
matrix_add_flat(const float *a, const float *b, float *c, int width, int height, int ld)
{
	for (int y = threadIdx.y + blockIdx.y * blockDim.y; y < height; y += gridDim.y * blockDim.y)
		for (int x = threadIdx.x + blockIdx.x * blockDim.x; x < width; x += gridDim.x * blockDim.x)
			c[y * ld + x] = a[y * ld + x] + b[y * ld + x];
}

static Matrix new_matrix(int width, int height) {
	Matrix m = { width, height, 0, NULL };
	CHECK(cudaMallocPitch((void **)&m.elements, &m.pitch, width * sizeof(float), height));
	return m;
}

int main(int argc, char *argv[]) {
	int width = 1000, height = 700;
	if (argc == 3) {
		width = atoi(argv[1]);
		height = atoi(argv[2]);
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [WIDTH HEIGHT]\n", argv[0]);
		return 2;
	}
	size_t row_bytes = width * sizeof(float);
	float *a = new float[width * height], *b = new float[width * height];
	float *c = new float[width * height], *flat = new float[width * height];
	for (int i = 0; i < width * height; i++) {
		a[i] = (float)(i % 97);
		b[i] = (float)(i % 31) * 0.5f;
	}

	Matrix da = new_matrix(width, height), db = new_matrix(width, height), dc = new_matrix(width, height);
	CHECK(cudaMemcpy2D(da.elements, da.pitch, a, row_bytes, row_bytes, height, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2D(db.elements, db.pitch, b, row_bytes, row_bytes, height, cudaMemcpyHostToDevice));

	dim3 block(32, 8);
	dim3 grid(DIV_UP(width, block.x), DIV_UP(height, block.y));
	matrix_add<<<grid, block>>>(da, db, dc);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy2D(c, row_bytes, dc.elements, dc.pitch, row_bytes, height, cudaMemcpyDeviceToHost));

	CHECK(cudaMemset2D(dc.elements, dc.pitch, 0, row_bytes, height));
	matrix_add_flat<<<dim3(4, 16), block>>>(da.elements, db.elements, dc.elements, width, height,
						(int)(da.pitch / sizeof(float)));
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy2D(flat, row_bytes, dc.elements, dc.pitch, row_bytes, height, cudaMemcpyDeviceToHost));

	int wrong = 0;
	for (int i = 0; i < width * height; i++)
		wrong += c[i] != a[i] + b[i] || flat[i] != c[i];
	cudaFree(da.elements);
	cudaFree(db.elements);
	cudaFree(dc.elements);
	delete[] a;
	delete[] b;
	delete[] c;
	delete[] flat;
	if (wrong) {
		printf("%d elements are wrong\n", wrong);
		return 1;
	}
	puts("OK");
	return 0;
}
