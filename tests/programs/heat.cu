/* Heat equation on a plate, explicit scheme, unified memory.
   The edges keep their temperature; u and u_new swap roles after each step. */

#include <stdio.h>
#include <stdlib.h>
#include <math.h>

typedef double real_t;

#define IDX(i, j, nx) ((size_t)(j) * (nx) + (i))

__global__ void heat_step(const real_t *u, real_t *u_new, int nx, int ny, real_t r)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
	int j = blockIdx.y * blockDim.y + threadIdx.y + 1;

	if (i < nx - 1 && j < ny - 1) {
		real_t c = u[IDX(i, j, nx)];
		u_new[IDX(i, j, nx)] = c + r * (u[IDX(i - 1, j, nx)] + u[IDX(i + 1, j, nx)]
				+ u[IDX(i, j - 1, nx)] + u[IDX(i, j + 1, nx)] - 4 * c);
	}
}

/* The largest change of a step, per block. */
__global__ void largest_change(const real_t *a, const real_t *b, real_t *per_block, size_t n)
{
	__shared__ real_t cache[128];
	real_t worst = 0;

	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x)
		worst = fmax(worst, fabs(a[i] - b[i]));
	cache[threadIdx.x] = worst;
	__syncthreads();
	for (unsigned half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			cache[threadIdx.x] = fmax(cache[threadIdx.x], cache[threadIdx.x + half]);
		__syncthreads();
	}
	if (threadIdx.x == 0)
		per_block[blockIdx.x] = cache[0];
}

static void
initialise(real_t *u, int nx, int ny)
{
	int i, j;

	for (j = 0; j < ny; j++)
		for (i = 0; i < nx; i++)
			u[IDX(i, j, nx)] = j == 0 ? 100.0 : (i == 0 || i == nx - 1) ? 50.0 : 20.0;
}

static void die(const char *what, cudaError_t error)
{
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

int main(int argc, char **argv)
{
	int nx = 200, ny = 150, steps = argc > 1 ? atoi(argv[1]) : 100;
	const real_t r = 0.2;
	size_t n = (size_t)nx * ny;
	real_t *u, *u_new, *change, *ref, *ref_new, *swap;
	cudaError_t error;
	dim3 block(32, 4), grid((nx - 2 + 31) / 32, (ny - 2 + 3) / 4);
	int step, i, j, bad = 0;

	if ((error = cudaMallocManaged(&u, n * sizeof *u)) != cudaSuccess ||
	    (error = cudaMallocManaged(&u_new, n * sizeof *u)) != cudaSuccess ||
	    (error = cudaMallocManaged(&change, 16 * sizeof *change)) != cudaSuccess)
		die("cudaMallocManaged", error);
	ref = (real_t *)malloc(n * sizeof *ref);
	ref_new = (real_t *)malloc(n * sizeof *ref);
	if (!ref || !ref_new)
		return 1;
	initialise(u, nx, ny);
	initialise(u_new, nx, ny);
	initialise(ref, nx, ny);
	initialise(ref_new, nx, ny);

	for (step = 0; step < steps; step++) {
		heat_step<<<grid, block>>>(u, u_new, nx, ny, r);
		swap = u; u = u_new; u_new = swap;
	}
	largest_change<<<16, 128>>>(u, u_new, change, n);
	if ((error = cudaDeviceSynchronize()) != cudaSuccess)
		die("heat_step", error);

	for (step = 0; step < steps; step++) {
		for (j = 1; j < ny - 1; j++)
			for (i = 1; i < nx - 1; i++) {
				real_t c = ref[IDX(i, j, nx)];
				ref_new[IDX(i, j, nx)] = c + r * (ref[IDX(i - 1, j, nx)] + ref[IDX(i + 1, j, nx)]
					+ ref[IDX(i, j - 1, nx)] + ref[IDX(i, j + 1, nx)] - 4 * c);
			}
		swap = ref; ref = ref_new; ref_new = swap;
	}
	for (size_t k = 0; k < n; k++)
		bad += fabs(u[k] - ref[k]) > 1e-9;
	for (i = 1; i < 16; i++)
		change[0] = fmax(change[0], change[i]);
	printf("after %d steps the largest change is %g\n", steps, change[0]);

	cudaFree(u);
	cudaFree(u_new);
	cudaFree(change);
	free(ref);
	free(ref_new);
	puts(bad ? "FAILED" : "OK");
	return bad != 0;
}
